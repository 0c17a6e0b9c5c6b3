//! What a plan must know of each copy besides its row in a group: whether it may
//! go, whether it may stand for the others, and what the rules ask.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::choose::{Candidate, Spared};
use super::guards::{guarded_by_content, guarded_by_name};
use crate::act::files::is_acted_on;
use crate::catalog::{CatalogError, ReadOnly};
use crate::model::{CopyEntry, KeepOrder};

/// Which copies take part.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    /// Only copies below these folders take part at all; everywhere when empty.
    pub(crate) within: Vec<PathBuf>,
    /// Only copies below these go; `within` when empty.
    pub(crate) from: Vec<PathBuf>,
    /// Only copies below these are compared with and kept; all when empty.
    pub(crate) matching: Vec<PathBuf>,
    /// Folders that are never touched.
    pub(crate) protected: Vec<PathBuf>,
    /// Whether trees whose files belong together are acted on too.
    pub(crate) include_guarded: bool,
}

/// Looks copies up.
pub(crate) struct Lookup<'c> {
    catalog: &'c ReadOnly,
    scope: &'c Scope,
    /// Filesystem types by the identity of the volume.
    fstypes: HashMap<String, String>,
    guarded: HashMap<PathBuf, Option<&'static str>>,
    /// Which copies are kept rather than others.
    order: &'c KeepOrder,
}

impl<'c> Lookup<'c> {
    pub(crate) fn new(
        catalog: &'c ReadOnly,
        scope: &'c Scope,
        order: &'c KeepOrder,
    ) -> Result<Self, CatalogError> {
        let roots = catalog.roots()?.into_iter().map(|root| root.volume);
        let tops = catalog.volume_tops()?.into_iter().map(|top| top.volume);
        let volumes = roots.chain(tops);
        Ok(Self {
            catalog,
            scope,
            fstypes: volumes.map(|row| (row.identity, row.fstype)).collect(),
            guarded: HashMap::new(),
            order,
        })
    }

    /// A copy with all that decides about it; `None` for one that takes no part.
    pub(crate) fn candidate(&mut self, copy: CopyEntry) -> Result<Option<Candidate>, CatalogError> {
        let is_below = |folders: &[PathBuf]| {
            let inside = |name: &PathBuf| folders.iter().any(|folder| name.starts_with(folder));
            folders.is_empty() || copy.names().all(inside)
        };
        let Scope {
            within,
            from,
            matching,
            ..
        } = self.scope;
        let goes = is_below(within) && is_below(from);
        let stays = is_below(within) && is_below(matching);
        let Some(row) = self.catalog.current_file(&copy.path)? else {
            return Ok(None);
        };
        if !(goes || stays) || row.is_corrupted {
            return Ok(None);
        }
        let fstype = self.fstypes.get(&copy.volume).map_or("", String::as_str);
        let is_one_file = is_acted_on(fstype) && copy.inode.is_some();
        let names = copy.names().cloned().collect::<Vec<_>>();
        let spared = if !goes || (!matching.is_empty() && stays) {
            Some(Spared::Elsewhere)
        } else if !is_one_file {
            Some(Spared::Filesystem(fstype.to_owned()))
        } else if row.nlink != names.len() as u64 {
            Some(Spared::MoreNames)
        } else if !copy.symlinks.is_empty() {
            Some(Spared::LinkedTo)
        } else {
            self.spared_by_place(&names)
        };
        Ok(Some(Candidate {
            place: self.order.place(&copy, row.first_scan),
            may_keep: stays && is_one_file,
            spared,
            copy,
        }))
    }

    fn spared_by_place(&mut self, names: &[PathBuf]) -> Option<Spared> {
        let is_protected = |name: &PathBuf| {
            let mut protected = self.scope.protected.iter();
            protected.any(|folder| name.starts_with(folder))
        };
        if names.iter().any(is_protected) {
            return Some(Spared::Protected);
        }
        if self.scope.include_guarded {
            return None;
        }
        for name in names {
            if let Some(tree) = guarded_by_name(name).or_else(|| self.guard(name)) {
                return Some(Spared::Guarded(tree));
            }
        }
        None
    }

    /// The tree that a file is in, known by what else is in the folders above it:
    /// on the disk, since the catalog lacks what is excluded or unreadable.
    fn guard(&mut self, path: &Path) -> Option<&'static str> {
        let folder = path.parent()?;
        if let Some(known) = self.guarded.get(folder) {
            return *known;
        }
        let tree = guarded_by_content(|name| folder.join(name).symlink_metadata().is_ok())
            .or_else(|| self.guard(folder));
        self.guarded.insert(folder.to_owned(), tree);
        tree
    }
}
