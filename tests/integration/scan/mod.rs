//! What scanning finds and keeps: first, again, resumed, and on odd trees.

mod command;
mod disk_order;
mod first_sight;
mod giants;
mod hazards;
mod in_step;
mod large_files;
mod mapped;
mod names;
mod options;
mod properties;
mod rescan;
mod resume;
mod scope;
mod sparse;
mod sparse_hashes;
mod volumes;
