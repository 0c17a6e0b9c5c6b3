//! The file names behind the differences of two folders: a forest knows only
//! contents.

use std::path::Path;

use super::load::Admission;
use super::question::FolderQuestion;
use crate::catalog::{CatalogError, FolderPaths, ReadOnly};
use crate::folders::{Differences, Forest, NamedFile, Node, Pair, differences};

/// The differences between the folders of a pair. The catalog must be in the state
/// that the forest was read from.
pub(crate) fn differences_of(
    catalog: &ReadOnly,
    question: &FolderQuestion<'_>,
    forest: &Forest,
    pair: &Pair,
) -> Result<Differences, CatalogError> {
    let left = files_below(catalog, question, forest, pair.left)?;
    let right = files_below(catalog, question, forest, pair.right)?;
    Ok(differences(left, right))
}

fn files_below(
    catalog: &ReadOnly,
    question: &FolderQuestion<'_>,
    forest: &Forest,
    top: Node,
) -> Result<Vec<NamedFile>, CatalogError> {
    let mut paths = FolderPaths::default();
    let mut admission = Admission::new(question, catalog);
    let base = paths.get(catalog, forest.id(top))?.1;
    let mut files = Vec::new();
    for node in forest.subtree(top) {
        let folder = forest.id(node);
        let below = paths.get(catalog, folder)?.1;
        let below = below.strip_prefix(&base).unwrap_or(&below);
        let mut contents = forest.own_contents(node).iter();
        catalog.tree_files_of(folder, |file| -> Result<(), CatalogError> {
            let name = Path::new(file.name);
            if admission.admits(folder, name, Some(file.size))?
                && let Some(&content) = contents.next()
            {
                files.push(NamedFile {
                    path: below.join(name),
                    content,
                    is_certain: forest.is_certain(content),
                    is_unresolved: forest.is_unresolved(content),
                    size: file.size,
                    mtime_ns: file.mtime_ns,
                });
            }
            Ok(())
        })?;
    }
    Ok(files)
}
