//! Running a scan: the worker pool, the orchestrator that feeds it, and the
//! work items that list folders, probe files and hash groups.

mod access;
mod audit;
mod context;
mod devices;
mod engine;
mod error;
mod list;
mod observe;
mod plan;
mod read;
mod run;
mod summary;

pub(crate) use access::is_same;
pub(crate) use read::{CHUNK, read_sample};

pub use audit::{AuditOutcome, AuditRequest, AuditVerdict, Audited, Listener, audit};
pub use error::ScanError;
pub(crate) use observe::LogPath;
pub use observe::{Metrics, Notice};
pub use plan::{Plan, Request, check_paths, online_state, retries, unfinished};
pub use run::run;
