//! Why a scan failed or had to stop. Faults of single paths are
//! not errors.

use std::io;
use std::path::PathBuf;

use crate::catalog::CatalogError;
use crate::pool::PoolError;

/// Why a scan failed or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The path does not exist and is no known root.
    #[error("{}: no such folder", .0.display())]
    NotFound(PathBuf),
    /// The path is something else than a folder.
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// A filesystem without files of its own.
    #[error("{} is a {fstype} filesystem, which has no files to compare", path.display())]
    Pseudo {
        /// The path.
        path: PathBuf,
        /// Type of the filesystem.
        fstype: String,
    },
    /// A glob that cannot be compiled.
    #[error("'{glob}' is not a valid glob: {reason}")]
    BadGlob {
        /// The glob.
        glob: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The path cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A known root is not there.
    #[error("the root {} is offline: {reason}; its files were not marked as deleted", path.display())]
    Offline {
        /// The root.
        path: PathBuf,
        /// What is different from last time.
        reason: String,
    },
    /// A folder that its root excludes.
    #[error(
        "{}: the root {} excludes it (scan it with --no-excludes, or exclude something else)",
        path.display(), root.display()
    )]
    Excluded {
        /// The folder.
        path: PathBuf,
        /// The root.
        root: PathBuf,
    },
    /// `--mode files` on a path that was never listed.
    #[error("{} has not been scanned: `--mode files` needs a listed root", .0.display())]
    NeverListed(PathBuf),
    /// `retry` of a number that is no dead letter.
    #[error("no error {0} (`dupescan errors` lists them)")]
    NoSuchFault(crate::model::FaultId),
    /// The catalog failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The workers failed to start.
    #[error("cannot start the worker threads: {0}")]
    Pool(#[from] PoolError),
    /// The workers are gone.
    #[error("the worker threads stopped unexpectedly")]
    PoolGone,
    /// Something in dupescan itself is broken.
    #[error("gave up after {0} internal errors (see the log)")]
    TooManyPanics(u32),
    /// Too many workers hang in the kernel.
    #[error("gave up: {0} threads are stuck in the operating system")]
    TooManyStuck(usize),
}

impl ScanError {
    /// Whether it concerns one root, so that others can be scanned all the
    /// same: a dead disk must not keep a nightly job from the healthy ones.
    pub(crate) fn is_of_one_root(&self) -> bool {
        matches!(self, Self::Offline { .. } | Self::Unreadable { .. })
    }

    /// Whether the user asked for something impossible, rather than something
    /// failing.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::NotFound(_)
                | Self::NotAFolder(_)
                | Self::Pseudo { .. }
                | Self::BadGlob { .. }
                | Self::Excluded { .. }
                | Self::NeverListed(_)
                | Self::NoSuchFault(_)
        )
    }
}
