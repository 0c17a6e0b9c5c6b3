//! Writing down what is about to be done: in the journal, and in the trash folders
//! themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::acting::Acting;
use super::protocol::{Assigned, GroupItem};
use crate::act::ActError;
use crate::act::files::Refusal;
use crate::act::trash::{Line, Trash, TrashFolders};
use crate::catalog::Exclusive;
use crate::model::{ActionId, NewAction, PlannedCopy, PlannedGroup, Role, RunId};

/// Gives each name that goes its number, and its trash folder.
pub(super) struct Intents<'a> {
    acting: &'a Arc<Acting>,
    folders: TrashFolders<'a>,
    /// `None` for a rehearsal, which writes nothing down.
    run: Option<RunId>,
}

/// A name that is about to go.
pub(super) struct Intent {
    pub(super) path: PathBuf,
    /// Bytes that it occupies; 0 for further names of one file.
    pub(super) occupied: u64,
    trash: Option<Arc<Trash>>,
}

/// Groups that are about to be acted on.
#[derive(Default)]
pub(super) struct Batch {
    /// What the workers do.
    pub(super) items: Vec<GroupItem>,
    /// All names that go.
    pub(super) names: BTreeMap<ActionId, Intent>,
    /// Why other names do not.
    pub(super) refused: Vec<Refusal>,
}

impl<'a> Intents<'a> {
    pub(super) fn new(acting: &'a Arc<Acting>, run: Option<RunId>) -> Self {
        Self {
            acting,
            folders: TrashFolders::new(&acting.reach, run.unwrap_or(RunId(0))),
            run,
        }
    }

    /// Writes down that these groups are about to be acted on.
    pub(super) fn write_down(
        &mut self,
        catalog: &mut Exclusive,
        groups: &[PlannedGroup],
    ) -> Result<Batch, ActError> {
        let mut batch = match self.run {
            Some(run) => self.intend(catalog, run, groups)?,
            None => self.rehearse(groups),
        };
        let mut assigned: BTreeMap<&Path, Assigned> = batch
            .names
            .iter()
            .map(|(id, intent)| {
                let name = Assigned {
                    id: *id,
                    path: intent.path.clone(),
                    trash: intent.trash.clone(),
                };
                (&*intent.path, name)
            })
            .collect();
        batch.items = groups
            .iter()
            .map(|group| {
                let copies = group.with_role(Role::Act);
                let names = copies.flat_map(|planned| planned.copy.names());
                let names = names.filter_map(|path| assigned.remove(&**path));
                GroupItem {
                    acting: Arc::clone(self.acting),
                    names: names.collect(),
                    group: group.clone(),
                }
            })
            .collect();
        Ok(batch)
    }

    /// The names of a rehearsal, numbered but written down nowhere.
    fn rehearse(&mut self, groups: &[PlannedGroup]) -> Batch {
        let mut batch = Batch::default();
        let actions = groups.iter().flat_map(new_actions);
        for (id, action) in (1..).map(ActionId).zip(actions) {
            match self.folders.check(&action.path) {
                Ok(()) => drop(batch.names.insert(id, Intent::new(action, None))),
                Err(reason) => batch.refused.push(reason),
            }
        }
        batch
    }

    fn intend(
        &mut self,
        catalog: &mut Exclusive,
        run: RunId,
        groups: &[PlannedGroup],
    ) -> Result<Batch, ActError> {
        let (mut actions, mut trashes, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for action in groups.iter().flat_map(new_actions) {
            match self.folders.of(&action.path) {
                Ok(trash) => {
                    actions.push(NewAction {
                        trash: trash.path.clone(),
                        ..action
                    });
                    trashes.push(trash);
                }
                Err(reason) => refused.push((action, reason)),
            }
        }
        catalog.skip(run, &refused)?;
        let ids = catalog.intend(run, &actions)?;
        self.note_in_trash(&ids, &actions, &trashes)?;
        let names = ids.into_iter().zip(actions).zip(trashes);
        Ok(Batch {
            names: names
                .map(|((id, action), trash)| (id, Intent::new(action, Some(trash))))
                .collect(),
            refused: refused.into_iter().map(|(_, reason)| reason).collect(),
            ..Batch::default()
        })
    }

    fn note_in_trash(
        &self,
        ids: &[ActionId],
        actions: &[NewAction],
        trashes: &[Arc<Trash>],
    ) -> Result<(), ActError> {
        let mut lines: BTreeMap<PathBuf, (Arc<Trash>, Vec<Line>)> = BTreeMap::new();
        let mut folders = BTreeSet::new();
        for ((id, action), trash) in ids.iter().zip(actions).zip(trashes) {
            let (_, lines) = lines
                .entry(trash.path.clone())
                .or_insert_with(|| (Arc::clone(trash), Vec::new()));
            let top = trash.top_path();
            let above = action.path.ancestors().skip(1);
            for folder in above.take_while(|folder| *folder != top) {
                if folders.insert(folder.to_owned()) {
                    lines.extend(self.folder_line(folder, top));
                }
            }
            let below = action.path.strip_prefix(top).unwrap_or(&action.path);
            lines.push(Line::file(*id, below, &action.state));
        }
        for (trash, lines) in lines.into_values() {
            trash.note(&lines).map_err(ActError::Trash)?;
        }
        Ok(())
    }

    fn folder_line(&self, folder: &Path, top: &Path) -> Option<Line> {
        let dir = self.acting.reach.folder_of(&folder.join("any")).ok()?;
        let below = folder.strip_prefix(top).ok()?;
        Some(Line::folder(below, dir.ownership().ok()?))
    }

    /// Looks for a trash folder further down for a name that its filesystem does not
    /// move into the one that it was given; `false` if there is none.
    pub(super) fn look_further_down(&mut self, name: &Intent) -> bool {
        let trash = name.trash.as_deref();
        trash.is_some_and(|trash| self.folders.look_further_down(&name.path, trash))
    }

    /// Deletes trash folders that hold nothing.
    pub(super) fn delete_empty(&self) {
        self.folders.delete_empty();
    }
}

impl Intent {
    fn new(action: NewAction, trash: Option<Arc<Trash>>) -> Self {
        Self {
            path: action.path,
            occupied: action.occupied,
            trash,
        }
    }
}

impl Batch {
    /// The trash folders that names go to.
    pub(super) fn trashes(&self) -> Vec<Arc<Trash>> {
        let trashes = self.names.values().filter_map(|name| name.trash.clone());
        let by_path: BTreeMap<PathBuf, Arc<Trash>> =
            trashes.map(|trash| (trash.path.clone(), trash)).collect();
        by_path.into_values().collect()
    }
}

/// The journal entries of a group, without the trash folder.
fn new_actions(group: &PlannedGroup) -> Vec<NewAction> {
    let copies = group.with_role(Role::Act);
    copies.flat_map(|planned| of_copy(group, planned)).collect()
}

/// The journal entries of a copy of a group, without the trash folder.
pub(super) fn of_copy(group: &PlannedGroup, planned: &PlannedCopy) -> Vec<NewAction> {
    let keeper = group.with_role(Role::Keep).next();
    let keeper = keeper.map(|kept| kept.copy.path.clone());
    let names = planned.copy.names().enumerate();
    let entry = |(at, path): (usize, &PathBuf)| NewAction {
        group: group.number,
        path: path.clone(),
        keeper: keeper.clone().unwrap_or_default(),
        state: planned.state(group.size),
        occupied: if at == 0 { planned.copy.occupied } else { 0 },
        digest: group.digest,
        trash: PathBuf::new(),
    };
    names.map(entry).collect()
}
