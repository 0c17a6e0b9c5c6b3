//! The loop: feed first, then take in what is done, and never block in the
//! queue that it feeds.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError, bounded, select};

use super::crew::Crew;
use super::faults::Faults;
use super::item::Work;
use super::sources::Source;
use crate::catalog::{CatalogError, WriterHandle};
use crate::model::{Findings, Limits, ScanId};
use crate::pool::{Done, Pool, PoolOptions, Refused, Shutdown, WorkItem};
use crate::scan::devices::Disks;
use crate::scan::error::ScanError;
use crate::scan::observe::{Metrics, events};

/// How often stalled workers are looked for.
const WATCH: Duration = Duration::from_millis(500);
/// A look for stalled workers that comes this much later than planned means
/// that the process itself was suspended (SIGSTOP, Ctrl-Z, a frozen container).
/// Long enough not to mistake a busy machine for that; where only a query held
/// the orchestrator up, a stalled worker is named that much later.
const STOOD_STILL: Duration = Duration::from_secs(2);
/// How late the loop notices a stop, or that the writer died, while the queue
/// is full.
const LONGEST_REST: Duration = Duration::from_millis(10);

/// How a stage ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StageEnd {
    /// Everything is done.
    Finished,
    /// Shutdown was requested.
    Interrupted,
}

/// What the caller of a run keeps in its hands: how much may run at once, when
/// to stop, and what is counted.
#[derive(Debug, Clone)]
pub struct Controls {
    /// How much runs at once, and how long anything may take.
    pub limits: Limits,
    /// Stops the run.
    pub shutdown: Shutdown,
    /// The counters, which the run adds to.
    pub metrics: Arc<Metrics>,
}

/// What the engine works with.
pub(crate) struct Setup {
    pub(crate) controls: Controls,
    /// Where dead letters go.
    pub(crate) writer: WriterHandle,
    /// Disconnects when the writer dies.
    pub(crate) writer_died: Receiver<()>,
    /// The scan that reading files is counted for.
    pub(crate) lead: ScanId,
    /// How disks are read.
    pub(crate) disks: Arc<Disks>,
}

/// The pool and everything the loop needs.
pub(crate) struct Engine {
    pool: Pool<Work>,
    done: Receiver<Done<Work>>,
    setup: Setup,
    /// How many threads take items.
    crew: Crew,
    /// What failed, and what becomes of it.
    pub(crate) faults: Faults,
    /// Work that the queue had no room for.
    refused: Option<Work>,
    in_flight: usize,
    /// When stalled workers were last looked for.
    watched: Instant,
    /// Items whose stall was warned of.
    warned: HashSet<u64>,
}

impl Engine {
    /// Starts the workers.
    pub(crate) fn start(
        setup: Setup,
        make_worker: impl Fn() -> <Work as WorkItem>::Worker + Send + Sync + 'static,
    ) -> Result<Self, ScanError> {
        let Controls {
            limits,
            shutdown,
            metrics,
        } = &setup.controls;
        // Many idle threads take memory that is short on some machines.
        let threads = match setup.disks.has_far() {
            true => limits.threads.max(limits.workers),
            false => limits.most_workers(),
        };
        let options = PoolOptions {
            workers: limits.workers,
            reserve: threads - limits.workers,
            queue: limits.queue_capacity(),
        };
        // Room for every item that can be under way, so that a worker never
        // waits for the loop that feeds it.
        let (report, done) = bounded(limits.queue_capacity() + threads);
        let pool_metrics = Arc::clone(&metrics.pool);
        let pool = Pool::start(options, shutdown, pool_metrics, report, make_worker)?;
        Ok(Self {
            pool,
            done,
            crew: Crew::new(limits, threads, &setup.disks),
            faults: Faults::new(&setup.writer, metrics, setup.lead, limits),
            setup,
            refused: None,
            in_flight: 0,
            watched: Instant::now(),
            warned: HashSet::new(),
        })
    }

    /// Works through a source. When it returns `Finished`, everything learned was
    /// sent to the writer: flush it before asking the catalog.
    pub(crate) fn run_stage(&mut self, source: &mut dyn Source) -> Result<StageEnd, ScanError> {
        self.watched = Instant::now();
        self.crew.begin_stage();
        loop {
            if self.setup.controls.shutdown.is_stopped() {
                return Ok(StageEnd::Interrupted);
            }
            while let Ok(done) = self.done.try_recv() {
                self.take_in(done, source)?;
            }
            self.watch()?;
            match self.next_work(source)? {
                Some(work) => self.submit(work)?,
                None if self.is_busy() => self.wait(source)?,
                None if self.faults.has_suspects() => {
                    self.faults.judge_suspects(&self.setup.controls.shutdown)?;
                }
                None if source.refill(self.faults.take_held())? => {}
                None => return Ok(StageEnd::Finished),
            }
        }
    }

    /// Stops the workers and waits for them until the deadline.
    pub(crate) fn stop(self, deadline: Instant) -> Findings {
        self.pool.stop();
        let ended = self.pool.wait(deadline);
        Findings {
            abandoned: ended.abandoned,
            worker_errors: ended.errors,
            ..self.faults.findings
        }
    }

    /// Whether something is queued, running or waiting for another attempt.
    fn is_busy(&self) -> bool {
        self.in_flight > 0 || !self.faults.retries.is_empty()
    }

    /// The next work for devices that work; the rest is held.
    fn next_work(&mut self, source: &mut dyn Source) -> Result<Option<Work>, ScanError> {
        loop {
            let waiting = self.refused.take();
            let work = match waiting.or_else(|| self.faults.retries.pop_due()) {
                Some(work) => work,
                None => match source.next()? {
                    Some(item) => Work::new(item),
                    None => return Ok(None),
                },
            };
            if self.faults.admits(&work) {
                return Ok(Some(work));
            }
            self.faults.hold(&work);
        }
    }

    /// Queues work, or keeps it for the next round if the queue stays full.
    fn submit(&mut self, work: Work) -> Result<(), ScanError> {
        match self.pool.submit_timeout(work, LONGEST_REST) {
            Ok(_) => self.in_flight += 1,
            Err(Refused::Full(work)) => {
                self.refused = Some(work);
                if self.setup.writer_died.try_recv() == Err(TryRecvError::Disconnected) {
                    return Err(writer_gone());
                }
            }
            // The loop notices its own stop.
            Err(Refused::Stopped(_)) if self.setup.controls.shutdown.is_stopped() => {}
            Err(Refused::Stopped(_)) => return Err(ScanError::PoolGone),
        }
        Ok(())
    }

    /// Waits until an item is done, which is taken in, a retry is due, the
    /// writer died or shutdown is requested.
    fn wait(&mut self, source: &mut dyn Source) -> Result<(), ScanError> {
        let until_retry = self.faults.retries.next_in();
        let longest = match self.crew.is_measuring() {
            true => LONGEST_REST,
            false => WATCH,
        };
        select! {
            recv(self.done) -> done => {
                self.take_in(done.map_err(|_| ScanError::PoolGone)?, source)
            }
            recv(self.setup.writer_died) -> _ => Err(writer_gone()),
            recv(self.setup.controls.shutdown.signal()) -> _ => Ok(()),
            default(until_retry.map_or(longest, |pause| pause.min(longest))) => {
                self.admit();
                Ok(())
            }
        }
    }

    fn take_in(&mut self, done: Done<Work>, source: &mut dyn Source) -> Result<(), ScanError> {
        self.in_flight -= 1;
        self.admit();
        self.warned.remove(&done.job.id);
        let work = done.job.item;
        let ended = |source: &mut dyn Source| source.ended(&work.item);
        let mut report = match done.result {
            Ok(report) => report,
            Err(panicked) => {
                ended(source);
                return self.faults.panicked(&work, &panicked.message);
            }
        };
        if let Some(error) = report.fatal.take() {
            return Err(ScanError::Catalog(error));
        }
        source.accept(std::mem::take(&mut report.found));
        ended(source);
        self.faults.take_in(&work, report)?;
        self.recall();
        Ok(())
    }

    /// Lets as many threads take items as are of use now.
    fn admit(&mut self) {
        let to_do = || self.in_flight + self.pool.errands_waiting();
        if let Some(threads) = self.crew.look(to_do) {
            self.pool.admit(threads);
        }
    }

    /// Takes back what is queued for a device that has just begun to fail: each
    /// item would fail as well, or hang. The others are sent again.
    fn recall(&mut self) {
        if !self.faults.take_opened() {
            return;
        }
        for work in self.pool.recall() {
            self.in_flight -= 1;
            if self.faults.admits(&work) {
                self.faults.retries.add_after(work, Duration::ZERO);
            } else {
                self.faults.hold(&work);
            }
        }
    }

    /// From time to time, warns of items without progress, and abandons those
    /// without progress for too long: their thread is replaced.
    fn watch(&mut self) -> Result<(), ScanError> {
        let since_last = self.watched.elapsed();
        if since_last < WATCH {
            return Ok(());
        }
        self.watched = Instant::now();
        self.pool.forgive(standstill(since_last));
        let timeout = self.setup.controls.limits.item_timeout;
        let warning = self.setup.controls.limits.stall_warning.min(timeout);
        for stalled in self.pool.stalled(warning) {
            if stalled.idle >= timeout {
                self.abandon(stalled.job_id)?;
            } else if self.warned.insert(stalled.job_id) {
                events::item_stall(&stalled);
            }
        }
        self.recall();
        Ok(())
    }

    fn abandon(&mut self, job_id: u64) -> Result<(), ScanError> {
        let timeout = self.setup.controls.limits.item_timeout;
        let Some(abandoned) = self.pool.abandon(job_id, timeout) else {
            return Ok(());
        };
        self.in_flight -= 1;
        self.faults.abandoned(&abandoned)?;
        match self.faults.findings.abandoned {
            stuck if stuck >= Pool::<Work>::MAX_REPLACEMENTS => Err(ScanError::TooManyStuck(stuck)),
            _ => Ok(()),
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
