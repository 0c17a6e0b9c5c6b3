//! Single files for an answer: which are wanted, and the list of them, handed
//! out one at a time like the groups of a report.

use std::ffi::OsStr;

use super::groups::admits_name;
use super::{CatalogError, Exclusion, FolderPaths, ReadOnly};
use crate::model::FolderId;

/// Which files an answer is about.
#[derive(Default)]
pub struct FileFilter {
    /// Smallest file size.
    pub min_size: Option<u64>,
    /// Largest file size.
    pub max_size: Option<u64>,
    /// Only files with one of these extensions, compared without case.
    pub extensions: Vec<String>,
    /// Files left out.
    pub exclude: Option<Exclusion>,
}

impl FileFilter {
    /// Whether nothing is left out.
    pub fn is_open(&self) -> bool {
        self.min_size.is_none()
            && self.max_size.is_none()
            && self.extensions.is_empty()
            && self.exclude.is_none()
    }

    /// Whether a name is wanted; sizes are for the query.
    pub(super) fn admits(
        &self,
        catalog: &ReadOnly,
        paths: &mut FolderPaths,
        folder: FolderId,
        name: &OsStr,
    ) -> Result<bool, CatalogError> {
        let exclude = self.exclude.as_ref();
        admits_name(catalog, paths, &self.extensions, exclude, (folder, name))
    }
}
