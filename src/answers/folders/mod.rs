//! Duplicate and similar folders of the catalog, with their paths.

mod detail;
mod load;
mod question;

use std::path::PathBuf;

use crate::catalog::{CatalogError, ReadOnly};
use crate::folders::{
    Comparer, FolderAnswer, FolderGroup, FolderPair, FolderTotals, Forest, Identical,
    IdenticalGroups, Node, Similar, SimilarPairs, similar,
};

use super::place::{PlaceError, path_named};
use crate::model::total;
use detail::differences_of;
use load::Places;
pub(crate) use question::FolderQuestion;

impl FolderQuestion<'_> {
    /// Finds the folders. The catalog must stay in one state meanwhile.
    pub(crate) fn answer(&self, catalog: &ReadOnly) -> Result<FolderAnswer, PlaceError> {
        let forest = load::forest(catalog, self)?;
        let mut places = Places::new(catalog)?;
        let wanted = self.wanted(catalog, &places, &forest)?;
        let wanted = |node: Node| wanted[node as usize];
        Ok(match &self.similarity {
            None => {
                let found = forest.identical(wanted);
                FolderAnswer::Identical(self.identical(&forest, &found, &mut places)?)
            }
            Some(similarity) => {
                let found = similar(&forest, wanted, similarity);
                let pairs = self.pairs(catalog, &forest, &found, &mut places)?;
                FolderAnswer::Similar(Similar {
                    percent: similarity.percent,
                    measure: similarity.measure,
                    detail: self.detail,
                    pairs,
                    all: found.pairs.len() as u64,
                    is_complete: found.is_complete,
                    crowded: found.crowded,
                    unchecked: found.unchecked,
                })
            }
        })
    }

    /// Which folders are at or below the paths that were typed.
    fn wanted(
        &self,
        catalog: &ReadOnly,
        places: &Places<'_>,
        forest: &Forest,
    ) -> Result<Vec<bool>, PlaceError> {
        let mut wanted = vec![self.paths.is_empty(); forest.len()];
        for typed in self.paths {
            let path = path_named(&places.roots, typed)?;
            let roots = places.roots.iter();
            let mut tops: Vec<_> = roots
                .filter(|root| root.path.starts_with(&path))
                .map(|root| root.top)
                .collect();
            if tops.is_empty() {
                tops.extend(catalog.folder_at(&path)?);
            }
            let tops: Vec<Node> = tops.iter().filter_map(|&id| forest.node(id)).collect();
            if tops.is_empty() {
                return Err(match path.is_file() {
                    true => PlaceError::IsAFile(path),
                    false => PlaceError::NotListed(path),
                });
            }
            for top in tops {
                let below = forest.subtree(top);
                wanted[below.start as usize..below.end as usize].fill(true);
            }
        }
        Ok(wanted)
    }

    /// Those of `all` that are shown.
    fn shown<'l, T>(&self, all: &'l [T]) -> &'l [T] {
        let limit = usize::try_from(self.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        &all[..limit.min(all.len())]
    }

    fn identical(
        &self,
        forest: &Forest,
        found: &IdenticalGroups,
        places: &mut Places<'_>,
    ) -> Result<Identical, CatalogError> {
        let totals = FolderTotals {
            groups: found.groups.len() as u64,
            folders: found.groups.iter().map(|g| g.folders.len() as u64).sum(),
            reclaimable: total(found.groups.iter().map(|group| group.reclaimable)),
            linked_groups: found.linked,
            empty_groups: found.empty,
            unchecked: found.unchecked,
        };
        let mut groups = Vec::new();
        for group in self.shown(&found.groups) {
            let mut named = |nodes: &[Node]| -> Result<Vec<PathBuf>, CatalogError> {
                let ids = nodes.iter().map(|&node| forest.id(node));
                ids.map(|id| places.path(id)).collect()
            };
            groups.push(FolderGroup {
                files: group.files,
                bytes: group.bytes,
                reclaimable: group.reclaimable,
                paths: named(&group.folders)?,
                aliases: named(&group.aliases)?,
            });
        }
        Ok(Identical {
            same_names: self.same_names,
            groups,
            totals,
        })
    }

    fn pairs(
        &self,
        catalog: &ReadOnly,
        forest: &Forest,
        found: &SimilarPairs,
        places: &mut Places<'_>,
    ) -> Result<Vec<FolderPair>, CatalogError> {
        let mut comparer = Comparer::new(forest);
        let mut pairs = Vec::new();
        for pair in self.shown(&found.pairs) {
            let [left, right] = comparer.sides(pair);
            let mut path = |node| places.path(forest.id(node));
            pairs.push(FolderPair {
                both: pair.both,
                either: pair.either,
                sides: [(path(pair.left)?, left), (path(pair.right)?, right)],
                differences: match self.detail {
                    true => Some(differences_of(catalog, self, forest, pair)?),
                    false => None,
                },
            });
        }
        Ok(pairs)
    }
}
