//! What can be wrong with the catalog itself. Every case ends the command
//! with one sentence; nothing here concerns a single scanned path.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rustix::io::Errno;

/// Files of one connection: the catalog, its WAL and its index. SQLite does not
/// say which of them failed to open, nor why, and closes the others.
const FILES: usize = 3;

/// Why the catalog cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// Another process holds the lock.
    #[error("the catalog {} is in use by {holder}", path.display())]
    Locked {
        /// The catalog.
        path: PathBuf,
        /// Process id and command of the holder.
        holder: String,
    },
    /// The lock file cannot be made: a read-only folder, most likely.
    #[error("cannot change the catalog {}: cannot write its lock file: {source}", path.display())]
    NotWritable {
        /// The catalog.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no catalog yet.
    #[error("no catalog at {}: run `dupescan scan PATH` first", .0.display())]
    Missing(PathBuf),
    /// A folder was given instead of a file.
    #[error("{} is a folder: expected a catalog file", .0.display())]
    Folder(PathBuf),
    /// A file of the catalog is something that this program does not make.
    #[error("{} cannot be used for the catalog: {problem}", path.display())]
    Planted {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        problem: &'static str,
    },
    /// The file is there, but its first scan was killed before it made tables.
    #[error("it is empty: run `dupescan scan PATH` first")]
    Empty,
    /// The file is a SQLite database, but not a catalog.
    #[error("it is a SQLite database, but not a dupescan catalog")]
    Foreign,
    /// Written by a dupescan from before the first release.
    #[error("an unreleased version of dupescan wrote it: scan again into a new catalog")]
    Unreleased,
    /// Written by a newer dupescan.
    #[error(
        "it has schema version {found}, but this dupescan supports versions up to {known}: use a newer dupescan"
    )]
    Newer {
        /// Version found in the file.
        found: i32,
        /// Highest version this program knows.
        known: i32,
    },
    /// Written by an older dupescan, and opened only for reading.
    #[error(
        "it has schema version {found}, but this dupescan reads version {known}: upgrade it with `dupescan scan` or `dupescan resume`"
    )]
    Older {
        /// Version found in the file.
        found: i32,
        /// The version this program reads.
        known: i32,
    },
    /// This process may not open as many files as SQLite needs.
    #[error("too many open files: raise the limit (ulimit -n)")]
    TooManyOpenFiles,
    /// The linked SQLite has a known corruption bug.
    #[error("SQLite {0} is too old: 3.51.3 or newer is required")]
    OldSqlite(&'static str),
    /// On a filesystem where WAL mode is not safe.
    #[error("the catalog {} would be on a network or FUSE filesystem ({fstype}), where SQLite's locks are unreliable: choose a local path with --db", path.display())]
    NotLocal {
        /// The catalog.
        path: PathBuf,
        /// Type of the filesystem.
        fstype: String,
    },
    /// A file operation beside SQLite failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// SQLite's own error. Not given as a source: it would say the same twice.
    #[error("{0}")]
    Sqlite(rusqlite::Error),
    /// Any of the above, with the catalog's path in front.
    #[error("cannot use the catalog {}: {source}", path.display())]
    At {
        /// The catalog.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<CatalogError>,
    },
    /// The writer thread is gone; its own error was reported before.
    #[error("the catalog can no longer be written")]
    WriterGone,
    /// The root to act on is not in the catalog.
    #[error("{} is not a root of this catalog (`dupescan status` lists them)", .0.display())]
    NoSuchRoot(PathBuf),
    /// SQLite itself finds the file damaged.
    #[error("it is damaged and cannot be repaired: restore a backup, or scan into a new catalog")]
    Damaged,
    /// A row holds what this program never writes.
    #[error("some of its rows are damaged ({0}): run `dupescan verify`")]
    DamagedRows(String),
    /// A file that a backup must not replace.
    #[error("cannot write the backup to {}: {reason}", path.display())]
    BadTarget {
        /// The file.
        path: PathBuf,
        /// Why it is kept.
        reason: String,
    },
    /// Another root is at the path that a root should move to.
    #[error("{} overlaps the root {}", path.display(), root.display())]
    Overlap {
        /// The path that was given.
        path: PathBuf,
        /// The root it overlaps.
        root: PathBuf,
    },
}

impl From<rusqlite::Error> for CatalogError {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::FromSqlConversionFailure(_, _, reason) => {
                Self::DamagedRows(reason.to_string())
            }
            error
                if error.sqlite_error_code() == Some(ErrorCode::CannotOpen)
                    && !can_open_more_files(FILES) =>
            {
                Self::TooManyOpenFiles
            }
            error => Self::Sqlite(error),
        }
    }
}

/// Whether this process may open `count` more files.
fn can_open_more_files(count: usize) -> bool {
    let opened: io::Result<Vec<_>> = (0..count).map(|_| File::open("/")).collect();
    let errno = opened.err().and_then(|error| error.raw_os_error());
    let errno = errno.map(Errno::from_raw_os_error);
    !matches!(errno, Some(Errno::MFILE | Errno::NFILE))
}

impl CatalogError {
    /// Puts the catalog's path in front of an error that does not name it. What
    /// SQLite calls malformed gets a sentence that says what to do.
    #[must_use]
    pub fn at(self, path: &Path) -> Self {
        match self {
            Self::Sqlite(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) =>
            {
                Self::Damaged.at(path)
            }
            Self::Locked { .. }
            | Self::NotWritable { .. }
            | Self::Missing(_)
            | Self::Folder(_)
            | Self::Planted { .. }
            | Self::NotLocal { .. }
            | Self::Io { .. }
            | Self::At { .. }
            | Self::NoSuchRoot(_)
            | Self::BadTarget { .. }
            | Self::Overlap { .. } => self,
            other => Self::At {
                path: path.to_owned(),
                source: Box::new(other),
            },
        }
    }

    /// Makes errors of file operations errors about the file at `path`.
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            path: path.clone(),
            source,
        }
    }

    /// Whether a long query was stopped on purpose.
    pub fn is_interrupted(&self) -> bool {
        match self {
            Self::Sqlite(error) => {
                error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted)
            }
            Self::At { source, .. } => source.is_interrupted(),
            _ => false,
        }
    }
}
