//! Batches of groups: their intents are written down, the workers act on them, what
//! they did is made sure to be on the disk, and written down.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::acting::{Acting, STOPPED};
use super::protocol::{Assigned, GroupItem};
use super::request::Applied;
use super::workers::Workers;
use crate::act::ActError;
use crate::act::recover::settle_entry;
use crate::act::space::FreeSpace;
use crate::act::trash::{Line, Trash, TrashFolders};
use crate::catalog::Exclusive;
use crate::model::{
    Action, ActionId, ActionOutcome, ActionState, NewAction, PlannedGroup, Role, RunId, total,
};

/// An item, and the bytes behind each of its numbers in the journal.
type Numbered = (GroupItem, Vec<(ActionId, u64)>);

/// What the workers are acting on.
struct Batch {
    /// The bytes behind each number in the journal.
    bytes: BTreeMap<ActionId, u64>,
    trashes: Vec<Arc<Trash>>,
    items: usize,
}

/// The batches of a run. While the workers act on one, the next is written down.
pub(crate) struct Batches<'a> {
    pub(crate) acting: &'a Arc<Acting>,
    pub(crate) folders: TrashFolders<'a>,
    pub(crate) workers: Workers,
    pub(crate) run: Option<RunId>,
    /// Whether each batch is settled before the next begins, since it decides
    /// whether there is a next.
    pub(crate) is_limited: bool,
    under_way: Option<Batch>,
    free: FreeSpace,
    pub(crate) applied: Applied,
}

impl<'a> Batches<'a> {
    pub(crate) fn new(
        acting: &'a Arc<Acting>,
        workers: Workers,
        run: Option<RunId>,
        is_limited: bool,
    ) -> Self {
        Self {
            acting,
            folders: TrashFolders::new(&acting.reach, run.unwrap_or(RunId(0))),
            workers,
            run,
            is_limited,
            under_way: None,
            free: FreeSpace::default(),
            applied: Applied {
                run,
                ..Applied::default()
            },
        }
    }

    /// Ends the workers, deletes trash folders that were not needed, and measures
    /// what was gained.
    pub(crate) fn end(mut self) -> Result<Applied, ActError> {
        self.workers.end();
        self.folders.delete_empty();
        self.applied.reclaimable = self.acting.space.reclaimable();
        if self.run.is_some() && self.acting.action == Action::Delete {
            let gained = self.free.gained(self.applied.reclaimable.at_least);
            self.applied.measured = Some(gained.map_err(ActError::Sync)?);
        }
        Ok(self.applied)
    }

    /// Writes down a batch while the workers act on the one before, then gives it to
    /// them, and settles the one before.
    pub(crate) fn begin(
        &mut self,
        catalog: &mut Exclusive,
        groups: Vec<PlannedGroup>,
    ) -> Result<(), ActError> {
        let items = match self.run {
            Some(run) => self.write_down(catalog, run, groups)?,
            None => self.rehearse(groups),
        };
        let before = self.wait()?;
        let bytes = items.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        let trashes = trashes_of(items.iter().map(|(item, _)| item));
        if self.acting.action == Action::Delete {
            for trash in &trashes {
                self.free.note(&trash.dir).map_err(ActError::Sync)?;
            }
        }
        self.under_way = Some(Batch {
            bytes,
            trashes,
            items: self
                .workers
                .begin(items.into_iter().map(|(item, _)| item))?,
        });
        if let Some((batch, outcomes)) = before {
            self.settle(catalog, batch, outcomes)?;
        }
        // What has been reached of a limit is known only when all is settled.
        match self.is_limited {
            true => self.finish(catalog),
            false => Ok(()),
        }
    }

    /// Settles the batch that is under way.
    pub(crate) fn finish(&mut self, catalog: &mut Exclusive) -> Result<(), ActError> {
        match self.wait()? {
            Some((batch, outcomes)) => self.settle(catalog, batch, outcomes),
            None => Ok(()),
        }
    }

    /// Waits until the workers are done with the batch that is under way.
    fn wait(&mut self) -> Result<Option<(Batch, Vec<ActionOutcome>)>, ActError> {
        let Some(batch) = self.under_way.take() else {
            return Ok(None);
        };
        let outcomes = self.workers.wait(batch.items)?;
        Ok(Some((batch, outcomes)))
    }

    /// Makes sure that what was done is on the disk, and writes it down.
    fn settle(
        &mut self,
        catalog: &mut Exclusive,
        batch: Batch,
        mut outcomes: Vec<ActionOutcome>,
    ) -> Result<(), ActError> {
        if self.run.is_some() {
            for trash in batch.trashes {
                trash.dir.sync_filesystem().map_err(ActError::Sync)?;
            }
            // What a worker that panicked left behind is found out from the disk.
            let known: BTreeSet<_> = outcomes.iter().map(|outcome| outcome.id).collect();
            let is_lost = |id: &ActionId| batch.bytes.contains_key(id) && !known.contains(id);
            if batch.bytes.keys().any(is_lost) {
                let open = catalog.open_actions()?;
                let lost = open.iter().filter(|entry| is_lost(&entry.id));
                outcomes.extend(lost.map(settle_entry));
            }
            catalog.settle_actions(&outcomes)?;
        }
        self.count(&outcomes, &batch.bytes);
        Ok(())
    }

    fn count(&mut self, outcomes: &[ActionOutcome], bytes: &BTreeMap<ActionId, u64>) {
        for outcome in outcomes {
            match outcome.progress {
                ActionState::Trashed | ActionState::Deleted => {
                    self.applied.files += 1;
                    let more = bytes.get(&outcome.id).copied().unwrap_or(0);
                    self.applied.bytes = total([self.applied.bytes, more]);
                }
                _ if outcome.reason == STOPPED => {}
                _ => self.applied.skip(&outcome.reason, 1),
            }
        }
    }

    /// Finds the trash folders, and writes down what goes there: in the journal and
    /// in the folders themselves.
    fn write_down(
        &mut self,
        catalog: &mut Exclusive,
        run: RunId,
        groups: Vec<PlannedGroup>,
    ) -> Result<Vec<Numbered>, ActError> {
        let mut actions = Vec::new();
        let mut trashes = Vec::new();
        let mut refused = Vec::new();
        for group in &groups {
            for (path, action) in new_actions(group) {
                match self.folders.of(&path) {
                    Ok(trash) => {
                        let path = trash.path.clone();
                        actions.push(NewAction {
                            trash: path,
                            ..action
                        });
                        trashes.push(trash);
                    }
                    Err(reason) => refused.push((action, reason)),
                }
            }
        }
        for (_, reason) in &refused {
            self.applied.skip(reason, 1);
            self.acting.progress.skipped(1);
        }
        catalog.skip(run, &refused)?;
        let ids = catalog.intend(run, &actions)?;
        self.note_in_trash(&ids, &actions, &trashes)?;
        let mut assigned: BTreeMap<PathBuf, (ActionId, u64, Arc<Trash>)> = ids
            .into_iter()
            .zip(&actions)
            .zip(trashes)
            .map(|((id, action), trash)| (action.path.clone(), (id, action.occupied, trash)))
            .collect();
        let items = groups.into_iter().map(|group| {
            let mut names = Vec::new();
            let mut bytes = Vec::new();
            for (path, _) in new_actions(&group) {
                if let Some((id, occupied, trash)) = assigned.remove(&path) {
                    bytes.push((id, occupied));
                    names.push(Assigned {
                        id,
                        path,
                        trash: Some(trash),
                    });
                }
            }
            (self.item(group, names), bytes)
        });
        Ok(items.collect())
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

    /// The items of a rehearsal, numbered but written down nowhere.
    fn rehearse(&self, groups: Vec<PlannedGroup>) -> Vec<Numbered> {
        let mut next = 0;
        let items = groups.into_iter().map(|group| {
            let mut names = Vec::new();
            let mut bytes = Vec::new();
            for (path, action) in new_actions(&group) {
                next += 1;
                let id = ActionId(next);
                bytes.push((id, action.occupied));
                names.push(Assigned {
                    id,
                    path,
                    trash: None,
                });
            }
            (self.item(group, names), bytes)
        });
        items.collect()
    }

    fn item(&self, group: PlannedGroup, names: Vec<Assigned>) -> GroupItem {
        GroupItem {
            acting: Arc::clone(self.acting),
            group,
            names,
        }
    }
}

fn trashes_of<'i>(items: impl Iterator<Item = &'i GroupItem>) -> Vec<Arc<Trash>> {
    let names = items.flat_map(|item| &item.names);
    let trashes = names.filter_map(|name| name.trash.clone());
    let by_path: BTreeMap<PathBuf, Arc<Trash>> =
        trashes.map(|trash| (trash.path.clone(), trash)).collect();
    by_path.into_values().collect()
}

/// The journal entries of a group, without the trash folder.
fn new_actions(group: &PlannedGroup) -> Vec<(PathBuf, NewAction)> {
    let keeper = group.with_role(Role::Keep).next();
    let keeper = keeper
        .map(|planned| planned.copy.path.clone())
        .unwrap_or_default();
    let mut actions = Vec::new();
    for planned in group.with_role(Role::Act) {
        for (at, path) in planned.copy.names().enumerate() {
            let action = NewAction {
                group: group.number,
                path: path.clone(),
                keeper: keeper.clone(),
                state: planned.state(group.size),
                occupied: if at == 0 { planned.copy.occupied } else { 0 },
                digest: group.digest,
                trash: PathBuf::new(),
            };
            actions.push((path.clone(), action));
        }
    }
    actions
}
