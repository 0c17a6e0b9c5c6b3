//! What listing folders needs beside the folders: the filters, the catalog's own
//! files, and the folders visited so far.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::catalog::own_files;
use crate::model::{ListingOptions, ScanOptions};
use crate::platform::FileId;
use crate::scan::error::ScanError;
use crate::scan::scope::Scope;

/// How folders are listed in one run.
pub(crate) struct ListingContext {
    /// The compiled name filters.
    pub(crate) scope: Scope,
    /// The other options.
    pub(crate) options: ListingOptions,
    /// Whether a ctime that moved alone counts as no change.
    pub(crate) ignore_ctime: bool,
    /// Whether a mount point without its filesystem is listed as it is.
    pub(crate) allow_empty: bool,
    /// The catalog's own files, which no scan reports.
    pub(crate) own_files: Vec<FileId>,
    /// The folder that the catalog is in.
    pub(crate) own_folder: Option<FileId>,
    /// Folders visited, where links are followed.
    visited: Mutex<HashSet<FileId>>,
}

impl ListingContext {
    /// Compiles the filters, and looks for the files of this catalog.
    pub(crate) fn new(
        options: &ScanOptions,
        allow_empty: bool,
        catalog: &Path,
    ) -> Result<Self, ScanError> {
        let scope = Scope::new(&options.listing);
        Ok(Self {
            scope: scope.map_err(|(glob, reason)| ScanError::BadGlob { glob, reason })?,
            options: options.listing.clone(),
            ignore_ctime: options.ignore_ctime,
            allow_empty,
            own_files: own_files(catalog)
                .iter()
                .filter_map(|file| FileId::of_path(file).ok())
                .collect(),
            own_folder: catalog
                .parent()
                .and_then(|folder| FileId::of_path(folder).ok()),
            visited: Mutex::default(),
        })
    }

    /// Whether this is the first visit to a folder; always, unless links are
    /// followed.
    pub(crate) fn is_first_visit(&self, folder: FileId) -> bool {
        !self.options.follow_links || self.visited().insert(folder)
    }

    /// Starts over: each root holds what links in it lead to, also into another
    /// root.
    pub(crate) fn forget_visits(&self) {
        self.visited().clear();
    }

    fn visited(&self) -> MutexGuard<'_, HashSet<FileId>> {
        self.visited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
