//! The life of one worker thread: take an item, run it, report it, until the
//! pool stops. What the threads of a pool have in common lives here too.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, select_biased};

use super::errand::Errands;
use super::gate::Gate;
use super::item::{Abandoned, Done, Job, WorkItem};
use super::metrics::PoolMetrics;
use super::panics::{self, Panicked, lock};
use super::refill_signal::RefillSignal;
use super::slot::Slot;
use super::stop::Shutdown;

/// Errors that are kept for the end; the log has them all.
const KEPT_ERRORS: usize = 100;
/// How often a thread that does not end is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// A worker that is asked to leave and gives no sign of life for this long
/// hangs in the kernel: waiting longer would only delay the end.
const HUNG: Duration = Duration::from_secs(1);

/// What all threads of a pool share.
pub(crate) struct Shared<T: WorkItem> {
    pub(crate) queue: Receiver<Job<T>>,
    pub(crate) done: Sender<Done<T>>,
    pub(crate) shutdown: Shutdown,
    pub(crate) metrics: Arc<PoolMetrics>,
    pub(crate) make_worker: Box<dyn Fn() -> T::Worker + Send + Sync>,
    pub(crate) errors: Mutex<Vec<String>>,
    pub(crate) refill: RefillSignal,
    pub(crate) gate: Gate,
    pub(crate) errands: Errands,
}

/// A started thread.
pub(crate) struct Member<T> {
    pub(crate) slot: Arc<Slot<T>>,
    handle: JoinHandle<()>,
    /// Disconnects when the thread ends; a `JoinHandle` has no deadline.
    alive: Receiver<Infallible>,
}

impl<T: WorkItem> Member<T> {
    /// Waits for the thread to end, but not past the deadline, and not when it
    /// is stuck: `None` then, and otherwise whether it ended in order.
    fn join(self, deadline: Instant) -> Option<thread::Result<()>> {
        loop {
            let until = deadline.min(Instant::now() + LOOK);
            let is_stuck = || self.slot.stalled(HUNG).is_some();
            match self.alive.recv_deadline(until) {
                Err(RecvTimeoutError::Timeout) if until == deadline || is_stuck() => return None,
                Err(RecvTimeoutError::Timeout) => {}
                _ => return Some(self.handle.join()),
            }
        }
    }
}

impl<T: WorkItem> Shared<T> {
    /// Starts the thread of worker `number`, which may have to wait to be admitted.
    pub(crate) fn spawn(
        self: &Arc<Self>,
        number: usize,
        is_admitted: bool,
    ) -> io::Result<Member<T>> {
        let (metrics, errands) = (Arc::clone(&self.metrics), self.errands.clone());
        let slot = Arc::new(Slot::new(number, self.shutdown.clone(), metrics, errands));
        let (leaving, alive) = bounded(0);
        let (shared, own_slot) = (Arc::clone(self), Arc::clone(&slot));
        let handle = thread::Builder::new()
            .name(format!("dupescan-worker-{number}"))
            .spawn(move || {
                let _leaving: Sender<Infallible> = leaving;
                if is_admitted || shared.gate.wait(&shared.shutdown) {
                    shared.run(&own_slot);
                }
            })?;
        Ok(Member {
            slot,
            handle,
            alive,
        })
    }

    fn run(&self, slot: &Slot<T>) {
        let mut worker = None;
        while let Some(job) = self.next_job() {
            match self.work_on(job, slot, &mut worker) {
                Some(done) => self.report(done),
                None => break,
            }
            if self.gate.leaves() && !self.gate.wait(&self.shutdown) {
                break;
            }
        }
    }

    /// The next item; `None` once the pool is stopped, or closed and empty. Errands
    /// come first: an item under way is waiting for them.
    fn next_job(&self) -> Option<Job<T>> {
        loop {
            let job = select_biased! {
                recv(self.shutdown.signal()) -> _ => None,
                recv(self.errands.waiting) -> errand => {
                    if let Ok(errand) = errand {
                        Errands::run(&errand);
                    }
                    continue;
                }
                recv(self.queue) -> job => job.ok(),
            };
            self.refill.note(self.queue.len());
            return job.filter(|_| !self.shutdown.is_stopped());
        }
    }

    /// Runs one item; `None` if it was taken away from this thread meanwhile.
    fn work_on(
        &self,
        job: Job<T>,
        slot: &Slot<T>,
        worker: &mut Option<T::Worker>,
    ) -> Option<Done<T>> {
        let number = slot.context.worker();
        let job = Arc::new(job);
        if !slot.begin(&job) {
            return None;
        }
        self.log_start(&job, number);
        let started = Instant::now();
        // The worker is made inside the trap and on first use: if making it
        // panics, that fails an item and not the thread.
        let result = panics::catch(|| {
            let worker = worker.get_or_insert_with(|| (self.make_worker)());
            job.item.run(worker, &slot.context)
        });
        let duration = started.elapsed();
        if let Err(panicked) = &result {
            self.panicked(&job, number, panicked);
            self.discard(worker.take(), number);
        }
        if !slot.finish() {
            tracing::info!(
                worker = number,
                item = job.id,
                ?duration,
                "late result dropped"
            );
            return None;
        }
        let job = Arc::into_inner(job).expect("the slot gave its share back, nobody took it");
        self.finished(&job, number, duration, result.is_err());
        Some(Done { job, result })
    }

    /// Sends a result, but does not insist on it once the pool is stopped.
    fn report(&self, done: Done<T>) {
        let item = done.job.id;
        select_biased! {
            send(self.done, done) -> sent => if sent.is_err() {
                tracing::debug!(item, "nobody listens for results: the pool stops");
                self.shutdown.stop();
            },
            recv(self.shutdown.signal()) -> _ => {
                tracing::debug!(item, "result dropped: stopped while nobody took it");
            }
        }
    }

    fn log_start(&self, job: &Job<T>, worker: usize) {
        tracing::trace!(
            worker,
            item = job.id,
            kind = job.item.label(),
            queue = self.queue.len(),
            waited = ?job.queued_at.elapsed(),
            "item started"
        );
    }

    fn finished(&self, job: &Job<T>, worker: usize, duration: Duration, failed: bool) {
        self.metrics.item_ended(job.item.label(), duration, failed);
        tracing::debug!(
            worker,
            item = job.id,
            kind = job.item.label(),
            queue = self.queue.len(),
            ?duration,
            failed,
            "item finished"
        );
    }

    fn panicked(&self, job: &Job<T>, worker: usize, panicked: &Panicked) {
        let kind = job.item.label();
        tracing::error!(
            event = "item.panic",
            worker,
            item = job.id,
            kind,
            panic = panicked.message,
            backtrace = panicked.backtrace,
            "item panicked"
        );
        self.note_error(format!("item {} ({kind}) {panicked}", job.id));
    }

    /// Drops a worker that a panic may have left broken, even if that panics.
    fn discard(&self, broken: Option<T::Worker>, number: usize) {
        if let Err(panicked) = panics::catch(|| drop(broken)) {
            self.note_error(format!("worker {number} {panicked} while it was rebuilt"));
        }
    }

    /// Waits for one thread to end; `false` if it was abandoned.
    pub(crate) fn see_off(&self, member: Member<T>, deadline: Instant) -> bool {
        let slot = Arc::clone(&member.slot);
        let Some(ended) = member.join(deadline) else {
            if let Some(abandoned) = slot.retire() {
                self.left_behind(&abandoned);
            }
            return false;
        };
        if ended.is_err() {
            let worker = slot.context.worker();
            self.note_error(format!("worker {worker} panicked while stopping"));
        }
        true
    }

    /// Tells the log of an abandoned thread.
    pub(crate) fn left_behind(&self, abandoned: &Abandoned<T>) {
        let Abandoned {
            worker, job, idle, ..
        } = abandoned;
        // As text, which the log quotes: a path may hold what a terminal obeys.
        let path = abandoned.path.to_string_lossy();
        let kind = job.item.label();
        tracing::warn!(
            event = "worker.abandoned",
            worker,
            item = job.id,
            kind,
            seconds = idle.as_secs(),
            path = path.as_ref(),
            "worker abandoned"
        );
        let seconds = idle.as_secs_f64();
        self.note_error(format!(
            "worker {worker} was abandoned in item {} ({kind}), {seconds:.1} s without progress: {path}",
            job.id
        ));
    }

    /// Keeps an error for the end.
    pub(crate) fn note_error(&self, error: String) {
        let mut errors = lock(&self.errors);
        if errors.len() < KEPT_ERRORS {
            errors.push(error);
        }
    }
}
