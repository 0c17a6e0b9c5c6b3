//! What the user asked a scan for.

use std::path::PathBuf;

use crate::model::ScanOptions;

/// What the user asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The folders, as typed.
    pub paths: Vec<PathBuf>,
    /// What to do with them.
    pub options: ScanOptions,
    /// List again even where an unfinished scan could be resumed.
    pub restart: bool,
    /// Accept a root that is empty, or a mount point without its filesystem.
    pub allow_empty: bool,
    /// Accept a root that is on another filesystem than last time.
    pub moved: bool,
}
