//! Whether a folder to be scanned is there, and is what it was: an unplugged
//! disk must never look like files that were deleted.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::request::Request;
use crate::access::{empty_reason, moved_reason, online_state};
use crate::catalog::RootRow;
use crate::platform::{Dir, EntryKind, Volume, VolumeTable};
use crate::scan::error::ScanError;

/// What cannot be scanned now, beside what can.
#[derive(Debug, Default)]
pub(crate) struct Refused(pub(crate) Vec<ScanError>);

impl Refused {
    /// Passes on what can be scanned, and keeps what concerns one root only.
    pub(crate) fn keep<T>(&mut self, found: Result<T, ScanError>) -> Result<Option<T>, ScanError> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_of_one_root() => {
                self.0.push(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the root was named already.
    pub(crate) fn names(&self, root: &Path) -> bool {
        self.0.iter().any(|error| match error {
            ScanError::Offline { path, .. } | ScanError::Unreadable { path, .. } => path == root,
            _ => false,
        })
    }
}

/// An absolute path without links. One that is gone is an offline root if the
/// catalog knows it, and a mistake otherwise.
pub(crate) fn resolve(path: &Path, known: &[RootRow]) -> Result<PathBuf, ScanError> {
    let found = path.canonicalize();
    match found.and_then(|found| Ok((found.metadata()?.is_dir(), found))) {
        Ok((true, resolved)) => Ok(resolved),
        Ok((false, _)) => Err(ScanError::NotAFolder(path.to_owned())),
        Err(error) => {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            let is_known = known.iter().any(|root| root.path == absolute);
            match error.kind() {
                io::ErrorKind::NotFound if is_known => Err(ScanError::Offline {
                    path: absolute,
                    reason: "the folder does not exist (`roots move` if it is elsewhere now, \
                             `forget` if it is gone for good)"
                        .to_owned(),
                }),
                io::ErrorKind::NotFound => Err(ScanError::NotFound(path.to_owned())),
                io::ErrorKind::NotADirectory => Err(ScanError::NotAFolder(path.to_owned())),
                _ => Err(ScanError::Unreadable {
                    path: path.to_owned(),
                    source: error,
                }),
            }
        }
    }
}

/// Each path once, and none that lies inside another.
pub(crate) fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !kept.iter().any(|outer| path.starts_with(outer)) {
            kept.push(path);
        }
    }
    kept
}

/// Makes sure that a folder to be scanned, and the roots inside it, are what
/// they were.
pub(crate) fn locate(
    path: &Path,
    known: &[RootRow],
    request: &Request,
    volumes: &VolumeTable,
) -> Result<Arc<Volume>, ScanError> {
    let (_, volume) = examine(path, known, request, volumes)?;
    if !request.allow_empty {
        check_inner(path, known, volumes)?;
    }
    Ok(volume)
}

/// Opens a folder to be scanned and makes sure that it is what it was.
pub(crate) fn examine(
    path: &Path,
    known: &[RootRow],
    request: &Request,
    volumes: &VolumeTable,
) -> Result<(Dir, Arc<Volume>), ScanError> {
    let unreadable = |source| ScanError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let dir = Dir::open_root(path).map_err(unreadable)?;
    let stat = dir.stat().map_err(unreadable)?;
    if stat.kind != EntryKind::Folder {
        return Err(ScanError::NotAFolder(path.to_owned()));
    }
    let volume = volumes.of(&dir, stat.dev).map_err(unreadable)?;
    if volume.pseudo {
        return Err(ScanError::Pseudo {
            path: path.to_owned(),
            fstype: volume.fstype.to_owned(),
        });
    }
    if let Some(root) = known.iter().find(|root| root.path == path) {
        let reason = (!request.moved)
            .then(|| moved_reason(root, &volume))
            .flatten()
            .map(|reason| format!("{reason} (--moved if that is right)"));
        let reason = reason.or_else(|| {
            (!request.allow_empty)
                .then(|| empty_reason(root, path))
                .flatten()
                .map(|reason| format!("{reason} (--allow-empty if that is right)"))
        });
        if let Some(reason) = reason {
            return Err(ScanError::Offline {
                path: path.to_owned(),
                reason,
            });
        }
    }
    Ok((dir, volume))
}

/// Makes sure that the roots inside `path`, which become part of it, are
/// there: an absorbed root is believed like any other folder.
fn check_inner(path: &Path, known: &[RootRow], volumes: &VolumeTable) -> Result<(), ScanError> {
    let is_inner = |root: &&RootRow| root.path != path && root.path.starts_with(path);
    for root in known.iter().filter(is_inner) {
        if let Err(reason) = online_state(root, volumes) {
            return Err(ScanError::Offline {
                path: root.path.clone(),
                reason: format!("{reason} (--allow-empty if that is right)"),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_nested_paths_are_scanned_once() {
        let paths = ["/a/b", "/a", "/a", "/ab", "/c/d"].map(PathBuf::from);
        let kept = outermost(paths.to_vec());
        assert_eq!(kept, ["/a", "/ab", "/c/d"].map(PathBuf::from));
    }
}
