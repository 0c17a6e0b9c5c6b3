//! The orchestrator's loop: feeds the pool from a source of work, takes in
//! what workers report, schedules retries and watches for stalls. It never
//! blocks in the queue it feeds.

mod device_check;
mod faults;
mod item;
mod retry;
mod sources;
mod worker;

pub(crate) use item::{
    Failure, FromParent, Item, ItemReport, ListItem, Origin, Place, SiftItem, Sifted,
};
pub(crate) use sources::{DeferredSource, ListSource, ProbeSource, Seeds};

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError, after, bounded, never, select};

use crate::catalog::{CatalogError, WorkName, WriterHandle};
use crate::model::{Findings, Limits, ScanId};
use crate::pool::{Done, Pool, PoolOptions, Refused, Shutdown};
use crate::scan::context::Shared;
use crate::scan::devices::Breakers;
use crate::scan::error::ScanError;
use crate::scan::observe::Metrics;
use item::Work;
use retry::RetryQueue;
use worker::Worker;

/// How often stalled workers are looked for.
const WATCH: Duration = Duration::from_millis(500);
/// A look for stalled workers that comes so much later than planned means that
/// the process itself stood still (SIGSTOP, Ctrl-Z, a frozen container). Long
/// enough for a busy machine not to look like that; where the orchestrator was
/// only held up by a query, a stalled worker is named that much later.
const STOOD_STILL: Duration = Duration::from_secs(2);
/// How late the loop notices a stop, or that the writer died, while the queue
/// is full.
const LONGEST_REST: Duration = Duration::from_millis(10);
/// Folders left out or offline that are remembered by name.
const MOST_NAMED: usize = 100;

/// Where a stage's work comes from.
pub(crate) trait Source {
    /// The next item that is ready now.
    fn next(&mut self) -> Result<Option<Item>, ScanError>;

    /// Takes in what a finished item found.
    fn accept(&mut self, _report: &mut ItemReport) {}

    /// Told that work was not done because its device keeps failing.
    fn held(&mut self) {}

    /// Called when nothing is queued, running or waiting: is there more? What a
    /// device owes that was given up counts as done.
    fn refill(&mut self, _is_device_given_up: bool) -> Result<bool, ScanError> {
        Ok(false)
    }
}

/// How a stage ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StageEnd {
    /// Everything is done.
    Finished,
    /// Shutdown was requested.
    Interrupted,
}

/// What a pass left undone.
#[derive(Debug, Default)]
pub(crate) struct Undone {
    /// Files that were not in the state the catalog held.
    pub(crate) changed: Vec<WorkName>,
    /// Whether work was held because its device kept failing.
    pub(crate) is_held: bool,
}

/// The pool and everything the loop needs.
pub(crate) struct Engine {
    pool: Pool<Work>,
    done: Receiver<Done<Work>>,
    writer: WriterHandle,
    shared: Arc<Shared>,
    /// Workers that may still be called.
    reserve: usize,
    writer_died: Receiver<()>,
    shutdown: Shutdown,
    limits: Limits,
    metrics: Arc<Metrics>,
    lead: ScanId,
    retries: RetryQueue,
    breakers: Breakers,
    /// What is out of attempts on devices that nothing was read from since:
    /// decided about when the stage ends.
    suspects: Vec<(Work, Failure)>,
    in_flight: usize,
    /// Whether the queue took a job when it was last offered one.
    was_fed: bool,
    /// Items whose stall was warned of.
    warned: HashSet<u64>,
    /// Items that panicked.
    panics: u32,
    /// What was found so far.
    pub(crate) findings: Findings,
    /// What this pass left undone.
    pub(crate) undone: Undone,
    /// Scans whose listing was held because their device kept failing.
    pub(crate) held_scans: HashSet<ScanId>,
}

impl Engine {
    /// Starts the workers.
    pub(crate) fn start(
        shared: &Arc<Shared>,
        writer_died: Receiver<()>,
        limits: &Limits,
        shutdown: &Shutdown,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, ScanError> {
        // Room for every item that can be under way, so that a worker never
        // waits on the loop that feeds it.
        let (report, done) = bounded(limits.queue_capacity() + limits.most_workers());
        let retries = limits.retries;
        let for_workers = Arc::clone(shared);
        let options = PoolOptions {
            workers: limits.workers,
            queue: limits.queue_capacity(),
        };
        let pool_metrics = Arc::clone(&metrics.pool);
        let pool = Pool::start(options, shutdown, pool_metrics, report, move || {
            Worker::new(Arc::clone(&for_workers), retries)
        })?;
        Ok(Self {
            pool,
            done,
            writer: shared.writer.clone(),
            shared: Arc::clone(shared),
            reserve: limits.reserve,
            writer_died,
            shutdown: shutdown.clone(),
            limits: limits.clone(),
            metrics: Arc::clone(metrics),
            lead: shared.lead,
            retries: RetryQueue::default(),
            breakers: Breakers::default(),
            suspects: Vec::new(),
            in_flight: 0,
            was_fed: false,
            warned: HashSet::new(),
            panics: 0,
            findings: Findings::default(),
            undone: Undone::default(),
            held_scans: HashSet::new(),
        })
    }

    /// Works a source off. When it returns `Finished`, everything learned was
    /// sent to the writer: flush it before asking the catalog.
    pub(crate) fn run_stage(&mut self, source: &mut dyn Source) -> Result<StageEnd, ScanError> {
        let mut next: Option<Work> = None;
        let mut watched = Instant::now();
        loop {
            if self.shutdown.is_stopped() {
                return Ok(StageEnd::Interrupted);
            }
            // Before asking the source: what is taken in may bring more work.
            while let Ok(done) = self.done.try_recv() {
                self.finished(done, source)?;
            }
            self.was_fed = false;
            if next.is_none() {
                next = self.next_work(source)?;
            }
            if let Some(work) = next.take() {
                next = self.submit(work)?;
            }
            if next.is_none() && self.in_flight == 0 && self.retries.is_empty() {
                if !self.suspects.is_empty() {
                    self.judge_suspects(source)?;
                    continue;
                }
                if source.refill(!self.findings.given_up.is_empty())? {
                    continue;
                }
                return Ok(StageEnd::Finished);
            }
            let since_last = watched.elapsed();
            if since_last >= WATCH {
                watched = Instant::now();
                self.pool.forgive(standstill(since_last));
                self.watch(source)?;
                // Giving up the last item may have ended the stage.
                continue;
            }
            // Feed first: while the queue takes work there is nothing to wait for.
            if next.is_none()
                && !self.was_fed
                && let Some(done) = self.wait()?
            {
                self.finished(done, source)?;
            }
        }
    }

    /// Stops the workers and waits for them until the deadline; returns how
    /// many were left behind.
    pub(crate) fn stop(self, deadline: Instant) -> Findings {
        self.pool.stop();
        let mut findings = self.findings;
        let ended = self.pool.wait(deadline);
        findings.abandoned = ended.abandoned;
        findings.worker_errors = ended.errors;
        findings
    }

    fn next_work(&mut self, source: &mut dyn Source) -> Result<Option<Work>, ScanError> {
        loop {
            let work = match self.retries.pop_due() {
                Some(work) => Some(work),
                None => source.next()?.map(Work::new),
            };
            match work {
                Some(work) if !self.admits(&work) => self.hold(&work, source),
                other => return Ok(other),
            }
        }
    }

    /// Whether no device that the work needs keeps failing.
    fn admits(&self, work: &Work) -> bool {
        work.is_trial || self.breakers.is_quiet() || self.breakers.admits(work.item.volumes())
    }

    /// Takes back what waits for devices whose breaker is open: each item would
    /// fail as well, or hang. The others are sent again.
    fn recall(&mut self, source: &mut dyn Source) {
        for work in self.pool.recall() {
            self.in_flight -= 1;
            if self.admits(&work) {
                self.retries.add_after(work, Duration::ZERO);
            } else {
                self.hold(&work, source);
            }
        }
    }

    /// Leaves an item pending in the catalog.
    fn hold(&mut self, work: &Work, source: &mut dyn Source) {
        self.undone.is_held = true;
        if let Item::List(item) = &work.item {
            self.held_scans.insert(item.scan);
        }
        source.held();
    }

    /// Queues work; gives it back if the queue stayed full.
    fn submit(&mut self, work: Work) -> Result<Option<Work>, ScanError> {
        match self.pool.submit_timeout(work, LONGEST_REST) {
            Ok(_) => {
                self.in_flight += 1;
                self.was_fed = true;
                Ok(None)
            }
            Err(Refused::Full(work)) => match self.writer_died.try_recv() {
                Err(TryRecvError::Disconnected) => Err(writer_gone()),
                _ => Ok(Some(work)),
            },
            // The scan's own stop is noticed by the loop.
            Err(Refused::Stopped(work)) if self.shutdown.is_stopped() => Ok(Some(work)),
            Err(Refused::Stopped(_)) => Err(ScanError::PoolGone),
        }
    }

    /// Waits until an item is done, a retry is due, the writer died or shutdown
    /// is requested; returns a finished item if that is what came.
    fn wait(&mut self) -> Result<Option<Done<Work>>, ScanError> {
        let timer = match self.retries.next_at() {
            Some(at) => after(at.saturating_duration_since(Instant::now()).min(WATCH)),
            None if self.in_flight > 0 => after(WATCH),
            None => never(),
        };
        select! {
            recv(self.done) -> done => done.map(Some).map_err(|_| ScanError::PoolGone),
            recv(self.writer_died) -> _ => Err(writer_gone()),
            recv(self.shutdown.signal()) -> _ => Ok(None),
            recv(timer) -> _ => Ok(None),
        }
    }

    fn finished(&mut self, done: Done<Work>, source: &mut dyn Source) -> Result<(), ScanError> {
        self.in_flight -= 1;
        self.call_reserve();
        self.warned.remove(&done.job.id);
        let work = done.job.item;
        let mut report = match done.result {
            Ok(report) => report,
            Err(panicked) => return self.panicked(&work, &panicked.message),
        };
        if let Some(error) = report.fatal.take() {
            return Err(ScanError::Catalog(error));
        }
        source.accept(&mut report);
        self.note_successes(&work, &report);
        self.undone.changed.append(&mut report.changed);
        remember(&mut self.findings.skipped, report.skipped);
        remember(&mut self.findings.offline, report.offline);
        for failure in report.failures {
            let Failure {
                fault,
                volume,
                path,
                ..
            } = &failure;
            if self.is_devices_fault(&work, fault, *volume, path, source) {
                self.hold(&work, source);
            } else {
                self.failed(&work, failure)?;
            }
        }
        Ok(())
    }
}

impl Engine {
    /// Lets further workers join, once, where reads wait for a disk that
    /// answers several at once. From memory they would only get in each
    /// other's way.
    fn call_reserve(&mut self) {
        if self.reserve > 0 && self.shared.disks.has_room() {
            self.pool.enlarge(std::mem::take(&mut self.reserve));
        }
    }
}

/// The part of the time since the last look in which nobody could work.
fn standstill(since_last: Duration) -> Duration {
    let late = since_last.saturating_sub(WATCH);
    if late < STOOD_STILL {
        return Duration::ZERO;
    }
    late
}

fn writer_gone() -> ScanError {
    ScanError::Catalog(CatalogError::WriterGone)
}

/// Keeps the first few of a list that could grow without end.
fn remember<T>(kept: &mut Vec<T>, more: Vec<T>) {
    let room = MOST_NAMED.saturating_sub(kept.len());
    kept.extend(more.into_iter().take(room));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_look_that_comes_much_too_late_is_a_standstill() {
        assert_eq!(standstill(WATCH), Duration::ZERO);
        let hardly = WATCH + STOOD_STILL - Duration::from_millis(1);
        assert_eq!(standstill(hardly), Duration::ZERO, "a busy machine");
        assert_eq!(standstill(WATCH + STOOD_STILL), STOOD_STILL);
        let night = Duration::from_secs(30_000);
        assert_eq!(standstill(night), night - WATCH, "the planned wait counts");
    }
}
