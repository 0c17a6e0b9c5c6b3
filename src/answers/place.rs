//! Which place of the catalog a typed path means. The catalog stores paths that
//! are absolute, without `.` and `..`, with links resolved.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::catalog::{CatalogError, ReadOnly, RootRow};
use crate::model::FolderId;

/// Why a typed path is no place of the catalog.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error("{}: {source}", path.display())]
    Invalid { path: PathBuf, source: io::Error },
    #[error("{} is a file: give its folder", .0.display())]
    IsAFile(PathBuf),
    #[error("{} has not been scanned", .0.display())]
    NotScanned(PathBuf),
    /// In a root, but not known as a folder.
    #[error("{} has not been scanned", .0.display())]
    NotListed(PathBuf),
    #[error("{} is not a root of this catalog (`dupescan status` lists them)", .0.display())]
    NotARoot(PathBuf),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// A place with live folders in the catalog.
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// Its folder, or the topmost ones of the roots below it.
    pub(crate) tops: Vec<FolderId>,
}

impl Place {
    /// The place that `typed` means.
    pub(crate) fn named(catalog: &ReadOnly, typed: &Path) -> Result<Self, PlaceError> {
        let path = path_named(&catalog.roots()?, typed)?;
        let tops = catalog.tops_of(&path)?;
        if !tops.is_empty() {
            Ok(Self { path, tops })
        } else if path.is_file() || is_known_file(catalog, &path)? {
            Err(PlaceError::IsAFile(path))
        } else {
            Err(PlaceError::NotScanned(path))
        }
    }
}

/// The path of a place that is or was in the catalog: a folder or a file.
pub(crate) fn place_ever(catalog: &ReadOnly, typed: &Path) -> Result<PathBuf, PlaceError> {
    let path = path_named(&catalog.roots()?, typed)?;
    match catalog.tops_ever(&path)?.is_empty() && !is_known_file(catalog, &path)? {
        true => Err(PlaceError::NotScanned(path)),
        false => Ok(path),
    }
}

/// Whether the catalog has a file of this name: its disk may be offline.
fn is_known_file(catalog: &ReadOnly, place: &Path) -> Result<bool, CatalogError> {
    let Some((folder, name)) = place.parent().zip(place.file_name()) else {
        return Ok(false);
    };
    match catalog.folder_at(folder)? {
        Some(folder) => Ok(catalog.live_names(folder)?.iter().any(|live| live == name)),
        None => Ok(false),
    }
}

/// The path that `typed` means, which is below a root or above one.
pub(crate) fn path_named(roots: &[RootRow], typed: &Path) -> Result<PathBuf, PlaceError> {
    let is_known = |path: &PathBuf| {
        roots
            .iter()
            .any(|root| path.starts_with(&root.path) || root.path.starts_with(path))
    };
    let candidates = [resolve(typed)?, absolute(typed)?];
    match candidates.iter().find(|path| is_known(path)) {
        Some(path) => Ok(path.clone()),
        None if typed.is_file() => Err(PlaceError::IsAFile(typed.to_owned())),
        None => Err(PlaceError::NotScanned(resolve(typed)?)),
    }
}

/// The root that `typed` means. A root that moved away may be a link now, so
/// the text is tried before the link's target.
pub(crate) fn root_named<'r>(
    roots: &'r [RootRow],
    typed: &Path,
) -> Result<&'r RootRow, PlaceError> {
    let candidates = [absolute(typed)?, resolve(typed)?];
    candidates
        .iter()
        .find_map(|path| roots.iter().find(|root| root.path == *path))
        .ok_or_else(|| PlaceError::NotARoot(candidates[0].clone()))
}

/// The path without links, or, where it does not exist, made absolute by its
/// text alone.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf, PlaceError> {
    std::fs::canonicalize(path).or_else(|_| absolute(path))
}

/// The path made absolute by its text alone.
fn absolute(path: &Path) -> Result<PathBuf, PlaceError> {
    let path = std::path::absolute(path).map_err(|source| PlaceError::Invalid {
        path: path.to_owned(),
        source,
    })?;
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::VolumeRow;
    use crate::model::RootId;

    fn root(path: &Path) -> RootRow {
        RootRow {
            volume_id: crate::model::VolumeId(1),
            id: RootId(1),
            path: path.to_owned(),
            top: FolderId(1),
            volume: VolumeRow {
                identity: "uuid:1".into(),
                fstype: "ext4".into(),
                stable_inodes: true,
                disk: None,
            },
            folder: None,
            follow: false,
            scope: crate::model::RootScope::default(),
            folders: 1,
            files: 0,
            bytes: 0,
        }
    }

    #[test]
    fn dots_are_resolved_in_paths_that_do_not_exist() {
        let path = absolute(Path::new("/no/such/../place/./x/")).unwrap();
        assert_eq!(path, Path::new("/no/place/x"));
        assert_eq!(absolute(Path::new("/../..")).unwrap(), Path::new("/"));
        assert!(resolve(Path::new("no-such-place")).unwrap().is_absolute());
    }

    #[test]
    fn a_root_is_found_by_its_text_or_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let roots = [root(Path::new("/gone/root")), root(&real)];
        assert_eq!(root_named(&roots, &link).unwrap().path, real);
        let gone = root_named(&roots, Path::new("/gone/x/../root/")).unwrap();
        assert_eq!(gone.path, Path::new("/gone/root"));
        let error = root_named(&roots, folder.path()).unwrap_err().to_string();
        assert!(error.contains("is not a root of this catalog"), "{error}");
    }

    #[test]
    fn a_place_lies_below_or_above_a_root() {
        let roots = [root(Path::new("/data/photos"))];
        for place in ["/data/photos", "/data/photos/2024", "/data", "/"] {
            let place = Path::new(place);
            assert_eq!(path_named(&roots, place).unwrap(), place);
        }
        let error = path_named(&roots, Path::new("/data/music")).unwrap_err();
        assert!(matches!(error, PlaceError::NotScanned(_)), "{error}");
    }
}
