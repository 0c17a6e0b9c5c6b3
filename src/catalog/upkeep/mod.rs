//! Looking after the catalog: verify, repair, purge and backup.

mod backup;
mod purge;
mod repair;
mod rules;
mod verify;

pub use purge::Purged;
pub use verify::Problem;
pub(crate) use verify::{integrity, integrity_beside_files, is_damage};
