//! Loads the catalog into a forest: which files are compared, and which
//! folders are incomplete.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::question::FolderQuestion;
use crate::access::join;
use crate::catalog::{CatalogError, FolderPaths, ReadOnly, RootRow, TreeFolder, has_extension};
use crate::folders::{FileFact, FolderFact, Forest, ForestBuilder, Unknown};
use crate::model::{FolderId, ScanId};

/// Decides whether a file is compared.
pub(crate) struct Admission<'a> {
    question: &'a FolderQuestion<'a>,
    catalog: &'a ReadOnly,
    paths: FolderPaths,
}

impl<'a> Admission<'a> {
    pub(crate) fn new(question: &'a FolderQuestion<'a>, catalog: &'a ReadOnly) -> Self {
        Self {
            question,
            catalog,
            paths: FolderPaths::default(),
        }
    }

    pub(crate) fn admits(
        &mut self,
        folder: FolderId,
        name: &Path,
        size: Option<u64>,
    ) -> Result<bool, CatalogError> {
        let FolderQuestion {
            filters, exclude, ..
        } = self.question;
        let sizes = filters.min_size.unwrap_or(0)..=filters.max_size.unwrap_or(u64::MAX);
        if size.is_some_and(|size| !sizes.contains(&size)) {
            return Ok(false);
        }
        // The folder itself has no name here, and so no extension.
        if !name.as_os_str().is_empty() && !has_extension(name.as_os_str(), &filters.extensions) {
            return Ok(false);
        }
        if exclude.is_empty() {
            return Ok(true);
        }
        let below: Arc<Path> = self.paths.get(self.catalog, folder)?.1;
        Ok(!exclude.matches_file(&below.join(name)))
    }
}

/// The whole paths of folders.
pub(crate) struct Places<'a> {
    catalog: &'a ReadOnly,
    paths: FolderPaths,
    pub(crate) roots: Vec<RootRow>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(catalog: &'a ReadOnly) -> Result<Self, CatalogError> {
        Ok(Self {
            catalog,
            paths: FolderPaths::default(),
            roots: catalog.roots()?,
        })
    }

    pub(crate) fn path(&mut self, folder: FolderId) -> Result<PathBuf, CatalogError> {
        let (id, below) = self.paths.get(self.catalog, folder)?;
        let root = self.roots.iter().find(|root| root.id == id);
        Ok(join(root.map_or(Path::new("/"), |root| &root.path), &below))
    }
}

/// Reads all live folders and files.
pub(crate) fn forest(
    catalog: &ReadOnly,
    question: &FolderQuestion<'_>,
) -> Result<Forest, CatalogError> {
    let roots = catalog.roots()?;
    let files: u64 = roots.iter().map(|root| root.files).sum();
    let mut admission = Admission::new(question, catalog);
    let folders = folder_facts(catalog, &roots, &mut admission)?;
    let capacity = usize::try_from(files).unwrap_or(0);
    let mut builder = ForestBuilder::new(folders, capacity, question.same_names);
    catalog.tree_files(|file| -> Result<(), CatalogError> {
        builder.file(&FileFact {
            folder: file.folder,
            name: file.name,
            size: file.size,
            occupied: file.occupied,
            volume: file.volume,
            ino: file.ino,
            probe: file.probe,
            is_settled: file.is_settled,
            digest: file.digest,
            counts: admission.admits(file.folder, Path::new(file.name), Some(file.size))?,
        });
        Ok(())
    })?;
    for fault in catalog.tree_faults()? {
        if admission.admits(fault.folder, Path::new(&fault.name), fault.size)? {
            builder.add_unknown(fault.folder, Unknown::UNREADABLE);
        }
    }
    Ok(builder.finish())
}

fn folder_facts(
    catalog: &ReadOnly,
    roots: &[RootRow],
    admission: &mut Admission<'_>,
) -> Result<Vec<FolderFact>, CatalogError> {
    let filters = admission.question.filters;
    let complete = match filters.as_scanned {
        true => None,
        false => Some(complete_scans(catalog, roots, &filters.exclude)?),
    };
    let mut facts = Vec::new();
    for folder in catalog.tree_folders()? {
        let mut unknown = Unknown::NONE;
        if !folder.is_current && admission.admits(folder.id, Path::new(""), None)? {
            unknown |= Unknown::UNLISTED;
        }
        let may_miss = |scan| {
            complete
                .as_ref()
                .is_some_and(|complete| !complete.contains(&scan))
        };
        if folder.listed_in.is_some_and(may_miss) {
            unknown |= Unknown::FILTERED;
        }
        facts.push(FolderFact {
            id: folder.id,
            parent: folder.parent,
            unknown,
            name: name(folder, roots),
        });
    }
    Ok(facts)
}

/// A folder's name, used to sort it among its siblings.
fn name(folder: TreeFolder, roots: &[RootRow]) -> std::ffi::OsString {
    let root = roots
        .iter()
        .find(|root| folder.parent.is_none() && root.id == folder.root);
    root.map_or(folder.name, |root| root.path.clone().into_os_string())
}

/// The scans that skipped nothing but what is excluded now as well, by the question
/// or by a root.
fn complete_scans(
    catalog: &ReadOnly,
    roots: &[RootRow],
    exclude: &[String],
) -> Result<HashSet<ScanId>, CatalogError> {
    let of_roots = roots.iter().flat_map(|root| root.scope.excludes.globs());
    let excludes: Vec<String> = of_roots.chain(exclude.iter().cloned()).collect();
    catalog.scans_without_filters(|listing| listing.may_hide_beside(&excludes))
}
