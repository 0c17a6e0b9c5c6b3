//! What scans and audits need of the catalog: their own rows, the roots, what
//! is known of a folder, and which files are to be read next.

mod audits;
mod candidates;
mod faults;
mod known;
mod roots;
pub(crate) mod scans;
mod settle;
pub(crate) mod summary;
mod work;

pub(crate) use audits::ROTTEN;
pub use audits::{
    AuditCopy, AuditFinding, AuditId, AuditList, AuditNote, AuditRun, AuditScope, Coverage, NO_SCAN,
};
pub use candidates::{Candidates, HashClass, Selection};
pub use faults::{FaultCause, FaultEntry};
pub use known::{FolderRow, KnownFile, KnownFolder, NameRange};
pub use roots::{Placement, RootRow, VolumeRow};
pub use scans::{NewScan, ScanCounters, ScanRow};
pub use settle::Settled;
pub(crate) use settle::{count_undetermined, open_classes};
pub(crate) use summary::forget;
pub use work::{WorkCopy, WorkName};
