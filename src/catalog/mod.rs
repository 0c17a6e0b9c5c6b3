//! The catalog: one SQLite file that remembers everything a scan learned.
//! The only place with SQL. One connection writes ([`Writer`], or a
//! maintenance command that holds the [`Lock`]); any number read.

mod actions;
mod query;
mod runs;
mod store;
#[cfg(test)]
mod testing;
mod upkeep;
mod write;

pub use actions::{CurrentFile, PlanWriter};
pub use query::{
    Completeness, DiffFile, DiffFolder, DiffMatch, Exclusion, FewTotals, FileEntry, FileFilter,
    FileList, GroupFilter, GroupList, Known, Lookup, Order, PlaceDiff, TreeFault, TreeFile,
    TreeFolder, Unresolved, Verdict, Whereabouts, folder_of, has_extension, wants_places,
};
pub use runs::{
    AuditCopy, AuditFinding, AuditId, AuditList, AuditNote, AuditRun, AuditScope, Candidates,
    Coverage, FaultCause, FaultEntry, FolderRow, HashClass, KnownFile, KnownFolder, NO_SCAN,
    NameRange, NewScan, Placement, ProgressUnit, RootRow, ScanRow, Selection, StageProgress,
    VolumeRow, VolumeTop, Wanted, WorkCopy,
};
pub use store::{
    CatalogError, Exclusive, FolderPaths, Lock, Pause, ReadOnly, belongs_to, own_files,
};
pub use upkeep::{Problem, Purged};
pub use write::{
    FaultRecord, FileChange, FileOutcome, FileResult, FolderListing, HashState, NewFolder,
    PartListing, Record, Sample, SampleHash, Signature, Signer, WorkName, Writer, WriterHandle,
};
