//! The plain types that every layer shares. No I/O and no SQL.

mod copy;
mod digest;
mod escape;
mod fault;
mod file;
mod globs;
mod group;
mod ids;
mod limits;
mod options;
mod run;
pub mod sampling;
mod stage;
mod time;

pub(crate) use copy::CopyNumbers;
pub use copy::{CopyId, Reach};
pub use digest::{Algorithm, Digest, Probe};
pub use escape::escape;
pub(crate) use escape::{disarm, is_hazardous};
pub use fault::{Fault, FaultClass, Step};
pub use file::{FileMeta, FileName, FileState, occupied};
pub use globs::{Globs, meant_below};
pub use group::{AsOf, CopyEntry, Group, Summary, TopFolder, TopGroup, Totals, reclaimable, total};
pub use ids::{FaultId, FolderId, RootId, ScanId, VolumeId};
pub use limits::{Durability, Limits};
pub use options::{IoMode, ListingOptions, Mode, ScanOptions};
pub(crate) use run::with_counters;
pub use run::{
    Findings, GROUPS_FOR_FOLDERS, ItemKind, KindDurations, MetricsSnapshot, NamedCount, Outcome,
    ScanCounters, Timing,
};
pub use stage::{ScanState, Stage};
pub use time::{TOO_YOUNG, Timestamp, is_too_young, now_ns};
