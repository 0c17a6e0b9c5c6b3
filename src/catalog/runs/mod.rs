//! What scans and audits need of the catalog: their own rows, the roots, what
//! is known of a folder, and which files are to be read next.

mod adopt;
mod audits;
mod candidates;
mod faults;
mod known;
mod placement;
mod roots;
mod scans;
mod scope;
mod settle;
mod stage_progress;
mod summary;
mod volumes;
mod work;

pub use audits::{
    AuditCopy, AuditFinding, AuditId, AuditList, AuditNote, AuditRun, AuditScope, Coverage, NO_SCAN,
};
pub use candidates::{Candidates, HashClass, Selection};
pub use faults::{FaultCause, FaultEntry};
pub use known::{FolderRow, KnownFile, KnownFolder, NameRange};
pub use placement::Placement;
pub use roots::RootRow;
pub(crate) use roots::folder_at;
pub use scans::{NewScan, ScanRow};
pub use stage_progress::{ProgressUnit, StageProgress, Wanted};
pub use volumes::{VolumeRow, VolumeTop};
pub use work::WorkCopy;
