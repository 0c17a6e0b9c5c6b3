//! The plain types that every layer shares. No I/O and no SQL.

mod action;
mod digest;
mod escape;
mod fault;
mod files;
mod ids;
mod keep;
mod limits;
mod options;
mod run;
pub mod sampling;
mod scope;
mod stage;
mod time;

pub use action::{
    Action, ActionEntry, ActionOutcome, ActionState, NewAction, PlanHeader, PlanTotals,
    PlannedCopy, PlannedGroup, Reclaimable, Role, RunHeader, is_trash, trash_name,
};
pub use digest::{Algorithm, Digest, Probe};
pub(crate) use escape::{disarm, is_hazardous};
pub use escape::{escape, unescape};
pub use fault::{Fault, FaultClass, Step};
pub(crate) use files::CopyNumbers;
pub use files::{
    AsOf, CopyEntry, CopyId, FileMeta, FileName, FileState, FolderIdentity, Group, Reach, Summary,
    TopFolder, TopGroup, Totals, layer_inode, occupied, reclaimable, total,
};
pub use ids::{ActionId, FaultId, FolderId, PlanId, RootId, RunId, ScanId, VolumeId};
pub use keep::{DEFAULT_RULES, KeepOrder, KeepPlace, KeepRule};
pub use limits::{Durability, Limits};
pub use options::{Filters, IoMode, ListingOptions, Mode, PlanOptions, ScanOptions};
pub(crate) use run::with_counters;
pub use run::{
    Findings, GROUPS_FOR_FOLDERS, ItemKind, KindDurations, MetricsSnapshot, NamedCount, Outcome,
    ScanCounters, Timing,
};
pub use scope::{Excludes, Globs, NotCompared, RootScope, SizeLimits, Standing, meant_below};
pub use stage::{ScanState, Stage};
pub use time::{TOO_YOUNG, Timestamp, is_too_young, is_within, now_ns};
