//! Absolute paths of files and folders in answers.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::catalog::store::{CatalogError, FolderPaths, ReadOnly};
use crate::model::{FolderId, RootId};

/// The paths of all roots.
pub(crate) struct RootPaths(Vec<(RootId, PathBuf)>);

impl RootPaths {
    pub(crate) fn of(catalog: &ReadOnly) -> Result<Self, CatalogError> {
        let roots = catalog.roots()?.into_iter();
        Ok(Self(roots.map(|root| (root.id, root.path)).collect()))
    }

    /// The path of a root.
    pub(crate) fn get(&self, id: RootId) -> &Path {
        let found = self.0.iter().find(|(root, _)| *root == id);
        found.map_or(Path::new("/"), |(_, path)| path)
    }

    /// The absolute path of a file, or of a folder if `name` is empty.
    pub(crate) fn absolute(
        &self,
        catalog: &ReadOnly,
        paths: &mut FolderPaths,
        folder: FolderId,
        name: &OsStr,
    ) -> Result<PathBuf, CatalogError> {
        let (root, below) = paths.get(catalog, folder)?;
        let mut path = self.get(root).to_owned();
        // Pushing an empty path would leave a trailing slash.
        for part in [below.as_os_str(), name] {
            if !part.is_empty() {
                path.push(part);
            }
        }
        Ok(path)
    }
}
