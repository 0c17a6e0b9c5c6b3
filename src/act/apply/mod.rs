//! Applying a plan, in batches: write down what is about to be done, do it on the
//! worker pool, make sure that it is on the disk, write down what was done.

mod acting;
mod protocol;
mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, bounded};

use acting::{Acting, FEWER_STAY, STOPPED};
pub(crate) use protocol::sync_keeper;
use protocol::{Assigned, GroupItem};
pub(crate) use verify::{Held, refuse_less_trusted};

use super::ActError;
use super::files::Reach;
use super::progress::ActProgress;
use super::recover::{recover, settle_entry};
use super::space::{FreeSpace, Space};
use super::trash::{Line, Trash, TrashFolders};
use crate::catalog::{Exclusive, ReadOnly};
use crate::model::{
    Action, ActionId, ActionOutcome, ActionState, NewAction, PlanHeader, PlanTotals, PlannedGroup,
    Reclaimable, Role, RunId, total,
};
use crate::pool::{Done, Pool, PoolMetrics, PoolOptions, Shutdown};

/// Names whose intents are written down, and synced to the disk, together.
const BATCH: usize = 256;
/// Groups that are read from a plan at a time.
const PAGE: u32 = 64;

/// How a plan is applied.
pub struct ApplyRequest {
    /// The plan.
    pub plan: PlanHeader,
    /// Threads that compare and move.
    pub threads: usize,
    /// Ends after this many names.
    pub max_files: Option<u64>,
    /// Ends once this many bytes are reclaimed.
    pub max_bytes: Option<u64>,
    /// Whether a group is skipped unless all copies that stay are unchanged, because
    /// more than one was asked for.
    pub needs_all_kept: bool,
    /// Whether to make every check and change nothing.
    pub is_rehearsal: bool,
    /// Folders that are never touched, besides those of the catalog.
    pub protected: Vec<PathBuf>,
    /// Where it says how far it is.
    pub progress: Arc<ActProgress>,
}

impl ApplyRequest {
    /// Says how much there is to do.
    fn expect(&self) {
        let PlanTotals { files, bytes, .. } = self.plan.totals;
        let most = |limit: Option<u64>, all: u64| limit.map_or(all, |most| most.min(all));
        // Where the number of files is limited, their bytes are not known.
        let bytes = if self.max_files.is_some() { 0 } else { bytes };
        self.progress
            .expect(most(self.max_files, files), most(self.max_bytes, bytes));
    }
}

/// What became of it.
#[derive(Debug, Default)]
pub struct Applied {
    /// The run in the journal; `None` for a rehearsal.
    pub run: Option<RunId>,
    /// Names that went, or would have gone.
    pub files: u64,
    /// Bytes that they occupied.
    pub bytes: u64,
    /// What deleting them gives back.
    pub reclaimable: Reclaimable,
    /// How much free space was gained, where files were deleted.
    pub measured: Option<u64>,
    /// Names that were not touched, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Names that an earlier run of the plan has done.
    pub done_before: u64,
    /// Whether it was stopped.
    pub is_interrupted: bool,
}

impl Applied {
    fn skip(&mut self, reason: &str, names: u64) {
        if names > 0 {
            *self.skipped.entry(reason.to_owned()).or_default() += names;
        }
    }
}

/// Applies a plan.
pub fn apply(
    catalog: &mut Exclusive,
    request: &ApplyRequest,
    shutdown: &Shutdown,
) -> Result<Applied, ActError> {
    recover(catalog)?;
    let reader = catalog.reader()?;
    let mut protected = reader.protected()?;
    protected.extend(request.protected.iter().cloned());
    let acting = Arc::new(Acting {
        reach: Reach::of(&reader, &protected)?,
        action: request.plan.action,
        needs_all_kept: request.needs_all_kept,
        is_rehearsal: request.is_rehearsal,
        space: Space::default(),
        shutdown: shutdown.clone(),
        progress: Arc::clone(&request.progress),
    });
    request.expect();
    let run = match request.is_rehearsal {
        true => None,
        false => Some(catalog.begin_run(request.plan.id, request.plan.action)?),
    };
    let mut applying = Applying {
        request,
        reader: &reader,
        acting: &acting,
        folders: TrashFolders::new(&acting.reach, run.unwrap_or(RunId(0))),
        workers: Workers::start(request.threads)?,
        free: FreeSpace::default(),
        run,
        applied: Applied {
            run,
            ..Applied::default()
        },
    };
    let mut after = 0;
    'plan: loop {
        let groups = reader.plan_groups(request.plan.id, after, PAGE)?;
        let Some(last) = groups.last() else {
            break;
        };
        after = last.number;
        let mut batch = Vec::new();
        for group in groups {
            let mut group = applying.prepare(group)?;
            let names: usize = batch.iter().map(names_that_go).sum();
            if !batch.is_empty()
                && (names + names_that_go(&group) > BATCH || applying.is_enough(&batch))
            {
                applying.run_batch(catalog, std::mem::take(&mut batch))?;
            }
            if applying.is_over() {
                break 'plan;
            }
            applying.cut(&mut group, &batch);
            if names_that_go(&group) > 0 {
                batch.push(group);
            }
        }
        applying.run_batch(catalog, batch)?;
        if applying.is_over() {
            break;
        }
    }
    applying.workers.end();
    applying.folders.delete_empty();
    let Applying {
        free, mut applied, ..
    } = applying;
    applied.reclaimable = acting.space.reclaimable();
    if run.is_some() && request.plan.action == Action::Delete {
        let gained = free.gained(applied.reclaimable.at_least);
        applied.measured = Some(gained.map_err(ActError::Sync)?);
    }
    applied.is_interrupted = shutdown.is_stopped();
    if let Some(run) = run.filter(|_| !applied.is_interrupted) {
        catalog.finish_run(run)?;
    }
    Ok(applied)
}

fn names_that_go(group: &PlannedGroup) -> usize {
    let copies = group.with_role(Role::Act);
    copies.map(|planned| planned.copy.names().count()).sum()
}

/// An item, and the bytes behind each of its numbers in the journal.
type Numbered = (GroupItem, Vec<(ActionId, u64)>);

/// A run under way.
struct Applying<'a> {
    request: &'a ApplyRequest,
    reader: &'a ReadOnly,
    acting: &'a Arc<Acting>,
    folders: TrashFolders<'a>,
    workers: Workers,
    free: FreeSpace,
    run: Option<RunId>,
    applied: Applied,
}

impl Applying<'_> {
    fn is_over(&self) -> bool {
        let Applied { files, bytes, .. } = self.applied;
        self.acting.shutdown.is_stopped()
            || self.request.max_files.is_some_and(|most| files >= most)
            || self.request.max_bytes.is_some_and(|most| bytes >= most)
    }

    /// Whether these groups reach a limit, if all goes well.
    fn is_enough(&self, batch: &[PlannedGroup]) -> bool {
        let (files, bytes) = self.with(batch);
        self.request.max_files.is_some_and(|most| files >= most)
            || self.request.max_bytes.is_some_and(|most| bytes >= most)
    }

    /// Names and bytes once these groups are done, if all goes well.
    fn with(&self, batch: &[PlannedGroup]) -> (u64, u64) {
        let mut totals = PlanTotals {
            files: self.applied.files,
            bytes: self.applied.bytes,
            ..PlanTotals::default()
        };
        batch.iter().for_each(|group| totals.add(group.totals()));
        (totals.files, totals.bytes)
    }

    /// Leaves copies that are beyond a limit to another run: never more files than
    /// were asked for, and no further one once the bytes that were asked for are
    /// reached.
    fn cut(&self, group: &mut PlannedGroup, batch: &[PlannedGroup]) {
        let (mut files, mut bytes) = self.with(batch);
        group.copies.retain(|planned| {
            let names = planned.copy.names().count() as u64;
            let fits = self
                .request
                .max_files
                .is_none_or(|most| files + names <= most)
                && self.request.max_bytes.is_none_or(|most| bytes < most);
            let is_act = planned.role == Role::Act;
            if is_act && fits {
                files += names;
                bytes = total([bytes, planned.copy.occupied]);
            }
            fits || !is_act
        });
    }

    /// The group as the catalog knows it now: without copies that an earlier run
    /// has done, or that a newer scan found changed.
    fn prepare(&mut self, mut group: PlannedGroup) -> Result<PlannedGroup, ActError> {
        let planned_to_stay = group.with_role(Role::Keep).count();
        let mut copies = Vec::new();
        for planned in std::mem::take(&mut group.copies) {
            let path = &planned.copy.path;
            let names = planned.copy.names().count() as u64;
            let is_act = planned.role == Role::Act;
            let now = self.reader.current_file(path)?;
            let is_as_planned = now.is_some_and(|now| {
                now.state == planned.state(group.size)
                    && now.digest == Some(group.digest)
                    && !now.is_corrupted
            });
            match is_as_planned {
                true => copies.push(planned),
                false if is_act && self.was_done(&group, path)? => {
                    self.applied.done_before += names;
                    self.request.progress.dealt_with(names);
                    self.request.progress.bytes(planned.copy.occupied);
                }
                false if is_act => {
                    let reason = "a newer scan found that it has changed or is gone";
                    self.applied.skip(reason, names);
                    self.request.progress.skipped(names);
                    self.request.progress.bytes(planned.copy.occupied);
                }
                false => {}
            }
        }
        group.copies = copies;
        let kept = group.with_role(Role::Keep).count();
        let refused = match kept {
            0 => Some("all copies that were to stay have changed or are gone"),
            _ if self.request.needs_all_kept && kept < planned_to_stay => Some(FEWER_STAY),
            _ => None,
        };
        if let Some(reason) = refused {
            let PlanTotals { files, bytes, .. } = group.totals();
            self.applied.skip(reason, files);
            self.request.progress.skipped(files);
            self.request.progress.bytes(bytes);
            group.copies.clear();
        }
        Ok(group)
    }

    fn was_done(&self, group: &PlannedGroup, path: &Path) -> Result<bool, ActError> {
        let plan = self.request.plan.id;
        Ok(self.reader.was_done(plan, group.number, path)?)
    }

    fn run_batch(
        &mut self,
        catalog: &mut Exclusive,
        groups: Vec<PlannedGroup>,
    ) -> Result<(), ActError> {
        let items = match self.run {
            Some(run) => self.write_down(catalog, run, groups)?,
            None => self.rehearse(groups),
        };
        let bytes: BTreeMap<ActionId, u64> =
            items.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        let intended: BTreeSet<ActionId> = bytes.keys().copied().collect();
        let trashes = trashes_of(items.iter().map(|(item, _)| item));
        if self.acting.action == Action::Delete {
            for trash in &trashes {
                self.free.note(&trash.dir).map_err(ActError::Sync)?;
            }
        }
        let mut outcomes = self.workers.run(items.into_iter().map(|(item, _)| item))?;
        if self.run.is_some() {
            for trash in trashes {
                trash.dir.sync_filesystem().map_err(ActError::Sync)?;
            }
            // What a worker that panicked left behind is found out from the disk.
            let known: BTreeSet<_> = outcomes.iter().map(|outcome| outcome.id).collect();
            let lost: Vec<_> = intended.difference(&known).collect();
            if !lost.is_empty() {
                let open = catalog.open_actions()?;
                outcomes.extend(
                    open.iter()
                        .filter(|entry| lost.contains(&&entry.id))
                        .map(settle_entry),
                );
            }
            catalog.settle_actions(&outcomes)?;
        }
        self.count(&outcomes, &bytes);
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
            self.request.progress.skipped(1);
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

/// The worker pool of a run. It is not stopped by the user's request: each item
/// looks at that itself, so that what became of it is always reported.
struct Workers {
    pool: Pool<GroupItem>,
    done: Receiver<Done<GroupItem>>,
}

impl Workers {
    fn start(threads: usize) -> Result<Self, ActError> {
        let (sender, done) = bounded(BATCH + threads);
        let options = PoolOptions {
            workers: threads,
            queue: BATCH,
        };
        let (token, metrics) = (Shutdown::token(), Arc::new(PoolMetrics::default()));
        let pool = Pool::start(options, &token, metrics, sender, || ())?;
        Ok(Self { pool, done })
    }

    /// Runs items and waits for all of them. Nothing is reported of an item that
    /// panicked.
    fn run(&self, items: impl Iterator<Item = GroupItem>) -> Result<Vec<ActionOutcome>, ActError> {
        let mut waiting = 0;
        for item in items {
            self.pool.submit(item).map_err(|_| ActError::Stopped)?;
            waiting += 1;
        }
        let mut outcomes = Vec::new();
        for _ in 0..waiting {
            let done = self.done.recv().map_err(|_| ActError::Stopped)?;
            outcomes.extend(done.result.unwrap_or_default());
        }
        Ok(outcomes)
    }

    fn end(self) {
        self.pool.wait(Instant::now() + Duration::from_secs(5));
    }
}
