//! Running a scan: the worker pool, the orchestrator that feeds it, and the
//! work items that list folders, probe files and hash groups.

mod access;
mod audit;
mod breaker;
mod compare;
pub mod content;
mod diff;
mod disks;
mod engine;
mod entries;
mod error;
mod events;
mod hash_source;
pub mod hasher;
mod item;
pub mod limits;
mod list;
pub mod metrics;
mod notice;
pub mod options;
mod plan;
pub mod pool;
mod presence;
mod probe;
mod retry;
mod run;
mod sampler;
mod samples;
mod scope;
mod shared;
pub mod shutdown;
mod sift;
mod sizes;
mod sources;
mod subfolders;
mod throttle;
mod timing;
mod worker;

pub use audit::{AuditOutcome, AuditRequest, AuditVerdict, Audited, Listener, audit};
pub use error::ScanError;
pub use notice::Notice;
pub use plan::{Plan, Request, check_paths, retries, unfinished};
pub use run::{Outcome, run};
pub use timing::Timing;
