//! Looking after the catalog: verify, repair, purge and backup.

mod backup;
mod purge;
mod repair;
mod rules;
mod verify;

pub use purge::Purged;
pub use verify::Problem;
