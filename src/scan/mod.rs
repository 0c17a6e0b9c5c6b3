//! Running a scan: the worker pool, the orchestrator that feeds it, and the
//! work items that list folders, probe files and hash groups.

mod audit;
mod context;
mod devices;
mod engine;
mod error;
mod first_scan;
mod list;
mod observe;
mod plan;
mod read;
mod run;
mod scope;
mod start;
mod worker;

pub use audit::{AuditOutcome, AuditRequest, Listener, audit};
pub use engine::{AuditVerdict, Audited, Controls};
pub use error::ScanError;
pub(crate) use observe::LogPath;
pub use observe::{Metrics, Notice};
pub use plan::{Plan, Request, TypedExcludes, check_paths, retries, unfinished};
pub use run::run;
