//! Loads the catalog into a forest: which files are compared, and which
//! folders are incomplete.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::{CatalogError, FolderPaths, ReadOnly, RootRow, TreeFolder, has_extension};
use crate::cli::args::{FoldersArgs, excluded};
use crate::folders::{FileFact, FolderFact, Forest, ForestBuilder, Gaps};
use crate::model::{FolderId, Globs, ScanId};

/// Which files are compared.
pub(crate) struct Filter {
    globs: Globs,
    extensions: Vec<String>,
    sizes: std::ops::RangeInclusive<u64>,
}

impl Filter {
    pub(crate) fn new(args: &FoldersArgs) -> anyhow::Result<Self> {
        Ok(Self {
            globs: excluded(&args.exclude)?,
            extensions: args.ext.clone(),
            sizes: args.min_size.unwrap_or(0)..=args.max_size.unwrap_or(u64::MAX),
        })
    }

    /// A filter that looks paths up in `catalog`.
    pub(crate) fn over<'a>(&'a self, catalog: &'a ReadOnly) -> Admission<'a> {
        Admission {
            filter: self,
            catalog,
            paths: FolderPaths::default(),
        }
    }
}

/// Decides whether a file is compared.
pub(crate) struct Admission<'a> {
    filter: &'a Filter,
    catalog: &'a ReadOnly,
    paths: FolderPaths,
}

impl Admission<'_> {
    pub(crate) fn admits(
        &mut self,
        folder: FolderId,
        name: &Path,
        size: Option<u64>,
    ) -> Result<bool, CatalogError> {
        if size.is_some_and(|size| !self.filter.sizes.contains(&size)) {
            return Ok(false);
        }
        // The folder itself has no name here, and so no extension.
        if !name.as_os_str().is_empty() && !has_extension(name.as_os_str(), &self.filter.extensions)
        {
            return Ok(false);
        }
        if self.filter.globs.is_empty() {
            return Ok(true);
        }
        let below: Arc<Path> = self.paths.get(self.catalog, folder)?.1;
        Ok(!self.filter.globs.matches_file(&below.join(name)))
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
        let mut path = root.map_or_else(|| PathBuf::from("/"), |root| root.path.clone());
        if !below.as_os_str().is_empty() {
            path.push(&*below);
        }
        Ok(path)
    }
}

/// Reads all live folders and files.
pub(crate) fn forest(
    catalog: &ReadOnly,
    filter: &Filter,
    args: &FoldersArgs,
) -> Result<Forest, CatalogError> {
    let roots = catalog.roots()?;
    let files: u64 = roots.iter().map(|root| root.files).sum();
    let mut admission = filter.over(catalog);
    let folders = folder_facts(catalog, &roots, &mut admission, args)?;
    let capacity = usize::try_from(files).unwrap_or(0);
    let mut builder = ForestBuilder::new(folders, capacity, args.same_names);
    catalog.tree_files(|file| -> Result<(), CatalogError> {
        builder.file(&FileFact {
            folder: file.folder,
            name: file.name,
            size: file.size,
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
            builder.gap(fault.folder, Gaps::UNREADABLE);
        }
    }
    Ok(builder.finish())
}

fn folder_facts(
    catalog: &ReadOnly,
    roots: &[RootRow],
    admission: &mut Admission<'_>,
    args: &FoldersArgs,
) -> Result<Vec<FolderFact>, CatalogError> {
    let complete = match args.as_scanned {
        true => None,
        false => Some(complete_scans(catalog, &args.exclude)?),
    };
    let mut facts = Vec::new();
    for folder in catalog.tree_folders()? {
        let mut gaps = Gaps::NONE;
        if !folder.is_current && admission.admits(folder.id, Path::new(""), None)? {
            gaps |= Gaps::UNLISTED;
        }
        let may_miss = |scan| {
            complete
                .as_ref()
                .is_some_and(|complete| !complete.contains(&scan))
        };
        if folder.listed_in.is_some_and(may_miss) {
            gaps |= Gaps::FILTERED;
        }
        facts.push(FolderFact {
            id: folder.id,
            parent: folder.parent,
            gaps,
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

/// The scans that skipped nothing but what is excluded now as well.
fn complete_scans(catalog: &ReadOnly, exclude: &[String]) -> Result<HashSet<ScanId>, CatalogError> {
    catalog.scans_without_filters(|listing| {
        let mut others = listing.clone();
        others.exclude.retain(|glob| !exclude.contains(glob));
        others.may_hide_files()
    })
}
