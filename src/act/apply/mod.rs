//! Applying a plan: page by page, compared with what the catalog knows now, and
//! acted on in batches until it is done or a limit is reached.

mod acting;
mod batches;
mod intents;
mod protocol;
mod request;
mod verify;
mod workers;

use std::sync::Arc;

use acting::{Acting, FEWER_STAY, STILL_IN_TRASH};
use batches::Batches;
use intents::of_copy;
pub(crate) use protocol::sync_keeper;
use request::BATCH;
pub use request::{Applied, ApplyRequest, Left};
pub(crate) use verify::{Held, refuse_less_trusted};
use workers::Workers;

use super::ActError;
use super::files::{Reach, Refusal};
use super::recover::recover;
use super::space::Space;
use crate::catalog::{Exclusive, ReadOnly};
use crate::model::{
    Action, ActionState, NewAction, PlanTotals, PlannedCopy, PlannedGroup, Role, total,
};
use crate::pool::Shutdown;

/// Groups that are read from a plan at a time: one batch, if one copy of each goes.
const PAGE: u32 = 256;

/// Applies a plan.
pub fn apply(
    catalog: &mut Exclusive,
    request: &ApplyRequest,
    shutdown: &Shutdown,
) -> Result<Applied, ActError> {
    // A rehearsal changes nothing, not even what a crash left open.
    let open = match request.is_rehearsal {
        true => catalog.open_actions()?.len() as u64,
        false => recover(catalog).map(|_| 0)?,
    };
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
    let workers = Workers::start(request.threads)?;
    let is_limited = request.max_files.is_some() || request.max_bytes.is_some();
    let mut applying = Applying {
        request,
        reader: &reader,
        shutdown,
        batches: Batches::new(&acting, workers, run, is_limited),
        skipped: Vec::new(),
    };
    let done = applying.act_on_all(catalog);
    // Nobody acts any more once the catalog is free for others, whatever happened.
    let finished = applying.batches.finish(catalog);
    done.and(finished)?;
    let mut applied = applying.batches.end()?;
    applied.is_interrupted = shutdown.is_stopped();
    applied.open = open;
    if let Some(run) = run.filter(|_| !applied.is_interrupted) {
        catalog.finish_run(run)?;
    }
    Ok(applied)
}

fn names_that_go(group: &PlannedGroup) -> usize {
    let copies = group.with_role(Role::Act);
    copies.map(|planned| planned.copy.names().count()).sum()
}

/// A run under way.
struct Applying<'a> {
    request: &'a ApplyRequest,
    reader: &'a ReadOnly,
    shutdown: &'a Shutdown,
    batches: Batches<'a>,
    /// Names that are skipped before anything is tried, for the journal.
    skipped: Vec<(NewAction, Refusal)>,
}

impl Applying<'_> {
    fn act_on_all(&mut self, catalog: &mut Exclusive) -> Result<(), ActError> {
        let mut after = 0;
        while !self.is_over() {
            let groups = self.reader.plan_groups(self.request.plan.id, after, PAGE)?;
            let Some(last) = groups.last() else {
                break;
            };
            after = last.number;
            let reader = self.reader;
            let groups = reader.at_one_moment(|| {
                let groups = groups.into_iter().map(|group| self.prepare(group));
                groups.collect::<Result<Vec<_>, ActError>>()
            })?;
            let skipped = std::mem::take(&mut self.skipped);
            if let Some(run) = self.batches.run {
                catalog.skip(run, &skipped)?;
            }
            self.act_on(catalog, groups)?;
        }
        Ok(())
    }

    /// Acts on groups, as many at a time as make a batch.
    fn act_on(
        &mut self,
        catalog: &mut Exclusive,
        groups: Vec<PlannedGroup>,
    ) -> Result<(), ActError> {
        let mut batch = Vec::new();
        for mut group in groups {
            let names: usize = batch.iter().map(names_that_go).sum();
            if !batch.is_empty()
                && (names + names_that_go(&group) > BATCH || self.is_enough(&batch))
            {
                self.batches.begin(catalog, std::mem::take(&mut batch))?;
            }
            if self.is_over() {
                return Ok(());
            }
            self.cut(&mut group, &batch);
            if names_that_go(&group) > 0 {
                batch.push(group);
            }
        }
        self.batches.begin(catalog, batch)
    }

    fn is_over(&self) -> bool {
        let Applied { files, bytes, .. } = self.batches.applied;
        self.shutdown.is_stopped()
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
            files: self.batches.applied.files,
            bytes: self.batches.applied.bytes,
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
        let (mut copies, mut others) = (Vec::new(), Vec::new());
        for planned in std::mem::take(&mut group.copies) {
            let path = &planned.copy.path;
            let is_act = planned.role == Role::Act;
            let now = self.reader.current_file(path)?;
            let is_as_planned = now.is_some_and(|now| {
                now.state == planned.state(group.size)
                    && now.digest == Some(group.digest)
                    && !now.is_corrupted
            });
            match is_as_planned {
                true => copies.push(planned),
                false if is_act => others.push(planned),
                false => {}
            }
        }
        group.copies = copies;
        for planned in &others {
            self.leave_out(&group, planned)?;
        }
        let kept = group.with_role(Role::Keep).count();
        let refused = match kept {
            0 => Some("all copies that were to stay have changed or are gone"),
            _ if self.request.needs_all_kept && kept < planned_to_stay => Some(FEWER_STAY),
            _ => None,
        };
        if let Some(reason) = refused {
            for planned in group.with_role(Role::Act) {
                self.request.progress.bytes(planned.copy.occupied);
                self.skip(of_copy(&group, planned), reason);
            }
            group.copies.clear();
        }
        Ok(group)
    }

    /// Skips names before anything is tried with them.
    fn skip(&mut self, names: Vec<NewAction>, reason: &str) {
        self.batches.applied.skip(reason, names.len() as u64);
        self.request.progress.skipped(names.len() as u64);
        let with_reason = names.into_iter().map(|name| (name, reason.to_owned()));
        self.skipped.extend(with_reason);
    }

    /// Counts the names of a copy that is not as planned: those that an earlier run has
    /// done, and those that have changed. One that was to be deleted and is in the trash
    /// is not done.
    fn leave_out(&mut self, group: &PlannedGroup, planned: &PlannedCopy) -> Result<(), ActError> {
        let plan = self.request.plan.id;
        let (mut done, mut changed, mut left) = (0, Vec::new(), Vec::new());
        for name in of_copy(group, planned) {
            match self.reader.done_by(plan, group.number, &name.path)? {
                None => changed.push(name),
                Some((run, ActionState::Trashed)) if self.request.plan.action == Action::Delete => {
                    left.push(Left {
                        path: name.path,
                        run,
                        reason: STILL_IN_TRASH.to_owned(),
                    });
                }
                Some(_) => done += 1,
            }
        }
        let progress = &self.request.progress;
        progress.bytes(planned.copy.occupied);
        progress.dealt_with(done);
        progress.skipped(left.len() as u64);
        let applied = &mut self.batches.applied;
        applied.done_before += done;
        applied.left.extend(left);
        if !changed.is_empty() {
            self.skip(changed, "a newer scan found that it has changed or is gone");
        }
        Ok(())
    }
}
