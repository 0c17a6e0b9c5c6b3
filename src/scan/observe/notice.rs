//! What the user should know before or while a scan runs. `cli` shows it.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::model::{Algorithm, ScanId, Timestamp, meant_below};

/// Something the user should know before or while a scan runs.
#[derive(Debug, Clone)]
pub enum Notice {
    /// An unfinished scan is resumed.
    Resumed(ScanId, PathBuf),
    /// An unfinished scan is not resumed, and why.
    StartedOver(ScanId, PathBuf, &'static str),
    /// A root is in another place now, since its disk is mounted there.
    RootMoved(PathBuf, PathBuf),
    /// A folder becomes a new root though it looks like another one, and why.
    NotMoved(PathBuf, PathBuf, &'static str),
    /// Roots inside a new root became part of it.
    Absorbed(PathBuf, PathBuf),
    /// Digests made with another algorithm are computed again.
    AlgorithmChanged(Algorithm, Algorithm, u64),
    /// Files that an audit found corrupted are accepted as they are now, below
    /// this path.
    CorruptionAccepted(PathBuf, u64),
    /// A glob begins with the path of the root, although it is matched below it;
    /// what was meant.
    WholePathGlob(PathBuf, String, String),
    /// A folder is skipped because of its filesystem.
    Skipped(PathBuf, String),
    /// Another root of the catalog cannot be read now.
    PartnerOffline(PathBuf, String),
    /// A root that is to be audited cannot be read now.
    AuditOffline(PathBuf, String),
    /// An interrupted audit that was started then is resumed.
    AuditResumed(Timestamp),
    /// How much will be read completely: files and bytes.
    ToRead(u64, u64),
}

impl Notice {
    /// Warnings of those globs that begin with the path of a root.
    pub fn of_whole_paths<'g>(
        globs: impl IntoIterator<Item = &'g String>,
        root: &Path,
    ) -> impl Iterator<Item = Self> {
        globs.into_iter().filter_map(|glob| {
            let meant = meant_below(glob, root)?.to_owned();
            Some(Self::WholePathGlob(root.to_owned(), glob.clone(), meant))
        })
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resumed(scan, path) => {
                write!(f, "resuming scan {scan} of {}", path.display())
            }
            Self::StartedOver(scan, path, why) => write!(
                f,
                "listing {} again instead of resuming scan {scan} ({why}); stored hashes are kept",
                path.display()
            ),
            Self::RootMoved(old, new) => write!(
                f,
                "the root {} is at {} now: moved it there in the catalog",
                old.display(),
                new.display()
            ),
            Self::NotMoved(path, root, why) => write!(
                f,
                "{} is scanned as a new root, not as the root {}: {why}",
                path.display(),
                root.display()
            ),
            Self::Absorbed(outer, inner) => write!(
                f,
                "{} is now part of the root {}",
                inner.display(),
                outer.display()
            ),
            Self::AlgorithmChanged(from, to, stale) => {
                write!(
                    f,
                    "changing from {from} to {to}: {stale} hashes will be recomputed"
                )
            }
            Self::CorruptionAccepted(path, 1) => write!(
                f,
                "1 corrupted file in {} accepted as it is now, because of --rehash",
                path.display()
            ),
            Self::CorruptionAccepted(path, files) => write!(
                f,
                "{files} corrupted files in {} accepted as they are now, because of --rehash",
                path.display()
            ),
            Self::WholePathGlob(root, glob, meant) => write!(
                f,
                "globs match paths below the root {}: use '{meant}' instead of '{glob}'",
                root.display()
            ),
            Self::Skipped(path, fstype) => {
                write!(f, "skipping {} ({fstype} filesystem)", path.display())
            }
            Self::PartnerOffline(path, reason) => write!(
                f,
                "the root {} is offline ({reason}): files that could match its files stay unchecked",
                path.display()
            ),
            Self::AuditOffline(path, reason) => write!(
                f,
                "the root {} is offline ({reason}): its files are not audited",
                path.display()
            ),
            Self::AuditResumed(started) => {
                write!(f, "resuming the audit started {} s after 1970", started.0)
            }
            Self::ToRead(files, bytes) => write!(f, "{files} files, {bytes} bytes to read"),
        }
    }
}
