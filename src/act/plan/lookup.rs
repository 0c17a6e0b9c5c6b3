//! What a plan must know of each copy besides its row in a group: whether it may
//! go, whether it may stand for the others, and what the rules ask.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::choose::{Candidate, Spared};
use crate::act::files::{IN_MEMORY, is_acted_on};
use crate::act::guards::{Guards, fleeting_tree};
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
    guards: Guards,
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
            guards: Guards::default(),
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
        let fstype = self.fstypes.get(&copy.volume).cloned().unwrap_or_default();
        let is_one_file = is_acted_on(&fstype) && copy.inode.is_some();
        let is_volatile = fstype == IN_MEMORY;
        let names = copy.names().cloned().collect::<Vec<_>>();
        let is_protected = names.iter().any(|name| self.is_protected(name));
        let guard = self.guard(&names);
        let is_fleeting = names.iter().any(|name| fleeting_tree(name).is_some());
        let spared = if !goes || (!matching.is_empty() && stays) {
            Some(Spared::Elsewhere)
        } else if !is_one_file {
            Some(Spared::Filesystem(fstype))
        } else if row.nlink != names.len() as u64 {
            Some(Spared::MoreNames)
        } else if !copy.symlinks.is_empty() {
            Some(Spared::LinkedTo)
        } else if is_protected {
            Some(Spared::Protected)
        } else {
            guard.map(Spared::Guarded)
        };
        // What belongs to a program goes when the program wants it, unless the user
        // has said that it stays.
        let lasts = !is_fleeting && (guard.is_none() || is_protected);
        Ok(Some(Candidate {
            place: self.order.place(&copy, row.first_scan),
            may_keep: stays && is_one_file && lasts,
            is_volatile,
            spared,
            copy,
        }))
    }

    fn is_protected(&self, name: &Path) -> bool {
        let mut protected = self.scope.protected.iter();
        protected.any(|folder| name.starts_with(folder))
    }

    /// The guarded tree that one of these names is in.
    fn guard(&mut self, names: &[PathBuf]) -> Option<&'static str> {
        match self.scope.include_guarded {
            true => None,
            false => names.iter().find_map(|name| self.guards.tree_of(name)),
        }
    }
}
