//! One file, one copy, and a group of equal copies.

mod copy;
mod file;
mod group;

pub(crate) use copy::CopyNumbers;
pub use copy::{CopyId, Reach};
pub use file::{FileMeta, FileName, FileState, FolderIdentity, layer_inode, occupied};
pub use group::{AsOf, CopyEntry, Group, Summary, TopFolder, TopGroup, Totals, reclaimable, total};
