//! Batches of groups: their intents are written down, the workers act on them, what
//! they did is made sure to be on the disk, and written down.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::acting::{Acting, CANNOT_TAKE, STILL_IN_TRASH, STOPPED, UNLEASED};
use super::intents::{Batch, Intents};
use super::request::{Applied, Left};
use super::workers::Workers;
use crate::act::ActError;
use crate::act::files::Reach;
use crate::act::recover::settle_entries;
use crate::act::space::FreeSpace;
use crate::catalog::Exclusive;
use crate::model::{
    Action, ActionId, ActionOutcome, ActionState, PlannedCopy, PlannedGroup, Role, RunId, total,
};

/// What the workers are acting on.
struct UnderWay {
    batch: Batch,
    groups: Vec<PlannedGroup>,
    items: usize,
}

/// The batches of a run. While the workers act on one, the next is written down.
pub(crate) struct Batches<'a> {
    pub(crate) acting: &'a Arc<Acting>,
    intents: Intents<'a>,
    pub(crate) workers: Workers,
    pub(crate) run: Option<RunId>,
    /// Whether each batch is settled before the next begins, since it decides
    /// whether there is a next.
    pub(crate) is_limited: bool,
    under_way: Option<UnderWay>,
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
            intents: Intents::new(acting, run),
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
        self.intents.delete_empty();
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
        let mut batch = self.intents.write_down(catalog, &groups)?;
        for reason in &batch.refused {
            self.applied.skip(reason, 1);
            self.acting.progress.skipped(1);
        }
        let before = self.wait()?;
        if self.acting.action == Action::Delete {
            for trash in batch.trashes() {
                self.free.note(&trash.dir).map_err(ActError::Sync)?;
            }
        }
        let items = std::mem::take(&mut batch.items);
        self.under_way = Some(UnderWay {
            items: self.workers.begin(items.into_iter())?,
            batch,
            groups,
        });
        if let Some((done, outcomes)) = before {
            self.settle(catalog, done, outcomes)?;
        }
        // What has been reached of a limit is known only when all is settled.
        match self.is_limited {
            true => self.finish(catalog),
            false => Ok(()),
        }
    }

    /// Settles the batch that is under way, and what is tried again because of it.
    pub(crate) fn finish(&mut self, catalog: &mut Exclusive) -> Result<(), ActError> {
        while let Some((done, outcomes)) = self.wait()? {
            self.settle(catalog, done, outcomes)?;
        }
        Ok(())
    }

    /// Waits until the workers are done with the batch that is under way.
    fn wait(&mut self) -> Result<Option<(UnderWay, Vec<ActionOutcome>)>, ActError> {
        let Some(under_way) = self.under_way.take() else {
            return Ok(None);
        };
        let outcomes = self.workers.wait(under_way.items)?;
        Ok(Some((under_way, outcomes)))
    }

    /// Makes sure that what was done is on the disk, and writes it down.
    fn settle(
        &mut self,
        catalog: &mut Exclusive,
        done: UnderWay,
        mut outcomes: Vec<ActionOutcome>,
    ) -> Result<(), ActError> {
        if self.run.is_some() {
            for trash in done.batch.trashes() {
                trash.dir.sync_filesystem().map_err(ActError::Sync)?;
            }
            let reach = &self.acting.reach;
            outcomes.extend(lost(catalog, reach, &done.batch, &outcomes)?);
            catalog.settle_actions(&outcomes)?;
        }
        let elsewhere = self.elsewhere(&done.batch, &outcomes);
        let again = outcomes.iter().filter(|one| elsewhere.contains(&one.id));
        let names: BTreeMap<&Path, Option<i64>> = again
            .map(|one| (&*done.batch.names[&one.id].path, one.ctime_ns))
            .collect();
        outcomes.retain(|outcome| !elsewhere.contains(&outcome.id));
        self.count(&outcomes, &done.batch);
        if elsewhere.is_empty() {
            return Ok(());
        }
        catalog.forget_actions(&elsewhere)?;
        let again = only(done.groups, &names);
        self.begin(catalog, again)
    }

    /// Names that are not moved into the trash folder that they were given, for which
    /// there is another one.
    fn elsewhere(&mut self, batch: &Batch, outcomes: &[ActionOutcome]) -> BTreeSet<ActionId> {
        let refused = outcomes
            .iter()
            .filter(|outcome| outcome.reason == CANNOT_TAKE);
        let refused = refused.map(|outcome| outcome.id);
        let has_another = |id: &ActionId| self.intents.look_further_down(&batch.names[id]);
        refused.filter(has_another).collect()
    }

    /// Why a name is in the trash, if it was to be elsewhere: deleted, or put back.
    fn why_left<'o>(&self, outcome: &'o ActionOutcome) -> Option<&'o str> {
        let reason = match outcome.reason.as_str() {
            UNLEASED => "",
            reason => reason,
        };
        let was_to_be_deleted = self.acting.action == Action::Delete;
        match (outcome.progress, reason, was_to_be_deleted) {
            (ActionState::Trashed, "", false) => None,
            (ActionState::Trashed, "", true) => Some(STILL_IN_TRASH),
            (ActionState::Trashed, reason, _) => Some(reason),
            _ => None,
        }
    }

    fn count(&mut self, outcomes: &[ActionOutcome], batch: &Batch) {
        for outcome in outcomes {
            let name = batch.names.get(&outcome.id);
            if let Some((run, reason)) = self.run.zip(self.why_left(outcome)) {
                self.applied.left.push(Left {
                    path: name.map(|name| name.path.clone()).unwrap_or_default(),
                    run,
                    reason: reason.to_owned(),
                });
                continue;
            }
            match outcome.progress {
                ActionState::Trashed | ActionState::Deleted => {
                    self.applied.files += 1;
                    let more = name.map_or(0, |name| name.occupied);
                    self.applied.bytes = total([self.applied.bytes, more]);
                }
                _ if outcome.reason == STOPPED => {}
                _ => self.applied.skip(&outcome.reason, 1),
            }
        }
    }
}

/// What a worker that panicked left behind is found out from the disk.
fn lost(
    catalog: &Exclusive,
    reach: &Reach,
    batch: &Batch,
    outcomes: &[ActionOutcome],
) -> Result<Vec<ActionOutcome>, ActError> {
    let known: BTreeSet<ActionId> = outcomes.iter().map(|outcome| outcome.id).collect();
    let is_lost = |id: &ActionId| batch.names.contains_key(id) && !known.contains(id);
    if !batch.names.keys().any(is_lost) {
        return Ok(Vec::new());
    }
    let open = catalog.open_actions()?;
    let lost = open.iter().filter(|entry| is_lost(&entry.id));
    Ok(settle_entries(reach, lost))
}

/// These groups with those copies only that have one of the names, with the change
/// time that a copy has since it was put back.
fn only(mut groups: Vec<PlannedGroup>, names: &BTreeMap<&Path, Option<i64>>) -> Vec<PlannedGroup> {
    let goes = |planned: &PlannedCopy| planned.role == Role::Act;
    let is_wanted = |planned: &mut PlannedCopy| {
        if !goes(planned) {
            return true;
        }
        let mut copy = planned.copy.names();
        let found = copy.find_map(|path| names.get(&**path)).copied();
        drop(copy);
        if let Some(ctime_ns) = found.flatten() {
            planned.copy.ctime_ns = ctime_ns;
        }
        found.is_some()
    };
    for group in &mut groups {
        group.copies.retain_mut(is_wanted);
    }
    groups.retain(|group| group.copies.iter().any(goes));
    groups
}
