//! What listing folders needs beside the folders: the filters, the catalog's own
//! files, and the folders visited so far.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::catalog::own_files;
use crate::model::{ListingOptions, RootId, ScanOptions, SizeLimits};
use crate::platform::FileId;
use crate::scan::scope::Scope;

/// How folders are listed in one run.
pub(crate) struct ListingContext {
    /// The compiled name filters, by root.
    scopes: HashMap<RootId, Scope>,
    /// The sizes that are compared.
    pub(crate) sizes: SizeLimits,
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
    /// Looks for the files of this catalog. There is a filter for every root that is
    /// listed.
    pub(crate) fn new(
        options: &ScanOptions,
        scopes: HashMap<RootId, Scope>,
        allow_empty: bool,
        catalog: &Path,
    ) -> Self {
        Self {
            scopes,
            sizes: options.sizes(),
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
        }
    }

    /// The name filters of a root that is listed.
    pub(crate) fn scope(&self, root: RootId) -> &Scope {
        let scope = self.scopes.get(&root);
        scope.expect("every root that is listed has its filters")
    }

    /// The globs that matched nothing in any root.
    pub(crate) fn unmatched(&self) -> Vec<String> {
        let mut roots = self.scopes.values().map(Scope::unmatched);
        let first = roots.next().unwrap_or_default();
        roots.fold(first, |mut left, unmatched| {
            left.retain(|glob| unmatched.contains(glob));
            left
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
