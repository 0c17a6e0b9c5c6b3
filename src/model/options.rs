//! What the user asked a scan to do. Stored as JSON with the scan, so that a
//! resume goes on with the options it was started with.

use serde::{Deserialize, Serialize};

use super::Algorithm;

/// Which stages a scan runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// List, then probe and hash what can be a duplicate.
    #[default]
    All,
    /// List only; no file is opened.
    Folders,
    /// Probe and hash what the catalog lists, without listing again.
    Files,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::All, Self::Folders, Self::Files];
    /// What the catalog stores for a retry of single paths, which has no mode.
    pub const RETRY: &'static str = "retry";

    /// The name used on the command line and in the catalog.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Folders => "folders",
            Self::Files => "files",
        }
    }
}

/// How disks are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IoMode {
    /// As one with a moving head where the disk says so and is as slow.
    #[default]
    Auto,
    /// By all workers at once.
    Ssd,
    /// By one worker, file after file.
    Hdd,
}

/// Everything that shapes one scan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ScanOptions {
    /// Which stages run.
    pub mode: Mode,
    /// The digest algorithm; `None` keeps the catalog's.
    pub algorithm: Option<Algorithm>,
    /// What is listed.
    pub listing: ListingOptions,
    /// Distrust every stored digest of the scanned roots.
    pub rehash: bool,
    /// Treat a file whose ctime alone moved as unchanged.
    pub ignore_ctime: bool,
    /// Smallest size that is hashed.
    pub min_size: Option<u64>,
    /// Largest size that is hashed.
    pub max_size: Option<u64>,
    /// Digest every file, not only possible duplicates.
    pub hash_all: bool,
    /// Run at the lowest CPU and I/O priority.
    pub nice: bool,
    /// Bytes per second that may be read, over all workers.
    pub bwlimit: Option<u64>,
    /// How disks are read.
    pub io: IoMode,
}

/// The options that decide which names a scan sees. A resumed scan goes on
/// with its list only when these are the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListingOptions {
    /// Follow symbolic links.
    pub follow_links: bool,
    /// Stay on the root's filesystem.
    pub one_file_system: bool,
    /// Globs of which a file must match one, when there are any.
    pub include: Vec<String>,
    /// Globs of files and folders to leave out.
    pub exclude: Vec<String>,
    /// Respect the `.gitignore` files found from the root downwards.
    pub gitignore: bool,
    /// Leave out names that start with a dot.
    pub no_hidden: bool,
    /// Levels below the root to descend; 0 lists the root's own files only.
    pub max_depth: Option<u32>,
}
