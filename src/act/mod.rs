//! Acting on duplicates: plans, which say what would happen to each copy; the
//! protocol that carries them out with every byte compared again; and undoing it.

mod apply;
mod empty;
mod files;
mod guards;
mod plan;
mod progress;
mod recover;
mod space;
mod trash;
mod undo;

use std::io;

pub use apply::{Applied, ApplyRequest, Left, apply};
pub use empty::{Emptied, empty_trash};
pub use plan::{
    GroupChange, PlanChanged, PlanImported, PlanMade, PlanRequest, RefusedRow, Spared, change_plan,
    import_plan, make_plan,
};
pub use progress::{ActMoment, ActProgress};
pub use recover::recover;
pub use undo::{Undone, last_to_undo, undo, undo_trash};

use crate::catalog::CatalogError;
use crate::pool::PoolError;

/// Why acting ended early. Whatever was done is in the journal.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// The catalog failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// No worker could be started.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A trash folder failed.
    #[error("the trash folder cannot be used: {0}")]
    Trash(#[source] io::Error),
    /// What was done may not be on the disk.
    #[error("changes cannot be written to the disk: {0}")]
    Sync(#[source] io::Error),
    /// The workers are gone.
    #[error("the workers stopped")]
    Stopped,
}
