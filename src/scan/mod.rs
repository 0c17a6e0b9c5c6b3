//! Running a scan: the worker pool, the orchestrator that feeds it, and the
//! work items that list folders, probe files and hash groups.

pub mod limits;
pub mod metrics;
pub mod options;
pub mod pool;
pub mod shutdown;
