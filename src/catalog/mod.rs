//! The catalog: one SQLite file that remembers everything a scan learned.
//! The only place with SQL. One connection writes ([`Writer`], or a
//! maintenance command that holds the [`Lock`]); any number read.

mod absences;
mod apply;
mod audits;
mod backlog;
mod backup;
mod candidates;
mod changes;
mod copies;
mod error;
mod faults;
mod files;
mod groups;
mod hash_states;
mod lock;
mod lookup;
mod open;
mod pages;
mod paths;
mod places;
mod purge;
mod reader;
mod records;
mod repair;
mod roots;
mod rot;
mod rows;
mod rules;
mod scans;
mod schema;
mod settle;
mod share;
mod sides;
mod signature;
mod summary;
#[cfg(test)]
mod testing;
mod tree;
mod verify;
mod wal;
mod writer;

pub use audits::{
    AuditCopy, AuditFinding, AuditId, AuditList, AuditNote, AuditRun, AuditScope, Coverage, NO_SCAN,
};
pub use candidates::{Candidates, HashClass, Selection, WorkCopy, WorkName};
pub use error::CatalogError;
pub use faults::{FaultCause, FaultEntry};
pub use files::{FileEntry, FileFilter, FileList, Verdict};
pub use groups::{Exclusion, GroupFilter, GroupList, Order, RunningCount, has_extension};
pub use lock::Lock;
pub use lookup::{Known, Lookup};
pub use open::{Durability, Exclusive, ReadOnly, own_files};
pub use paths::FolderPaths;
pub use purge::Purged;
pub use reader::{FolderRow, KnownFile, KnownFolder, NameRange};
pub use records::{
    FaultRecord, FileChange, FileOutcome, FileResult, FileState, FolderListing, HashState,
    ListingCounts, NewFolder, PartListing, Record, Sample, SampleHash,
};
pub use roots::{Placement, RootRow, VolumeRow};
pub use scans::{NewScan, ScanCounters, ScanRow, ScanState, Stage};
pub use settle::Settled;
pub use share::{Share, ShareUnit, Wanted};
pub use sides::{Doubt, Listing, SideFile, SideFolder, SideMatch, Sides};
pub use signature::{Signature, Signer};
pub use tree::{TreeFault, TreeFile, TreeFolder};
pub use verify::Problem;
pub use wal::Pause;
pub use writer::{Writer, WriterHandle};

/// Version of the probe function that filled `files.probe`, and of the choice of
/// files that have a probe ([`SHORT`]). A migration raises it and forgets what
/// does not hold any more.
pub const PROBE_VERSION: i64 = 4;

/// A file that is no longer has a digest and no probe. To hash it costs less
/// than to open it a second time, which a copy would need.
pub const SHORT: u64 = 48 * 1024;

/// Files of at least this size are hashed in stretches that a resume need not
/// repeat. What is under way of shorter ones, dozens at a time, is read again in
/// a fraction of a second.
pub const LARGE: u64 = 4 << 20;
