//! The life of one worker thread: take an item, run it, report it, until the
//! pool stops. What the pool's threads have in common lives here too.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, select_biased};

use super::panics::Panicked;
use super::refill_signal::Appetite;
use super::slot::{Slot, WorkerContext};
use super::stop::Shutdown;
use super::{Done, Job, lock, panics};
use crate::scan::Metrics;

/// The function that works on items, with the state it owns.
pub(crate) type Work<T, R> = dyn FnMut(&Job<T>, &WorkerContext) -> R;

/// What all threads of a pool share.
pub(crate) struct Shared<T, R> {
    pub(crate) queue: Receiver<Job<T>>,
    pub(crate) done: Sender<Done<T, R>>,
    pub(crate) shutdown: Shutdown,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) make_worker: Box<dyn Fn(usize) -> Box<Work<T, R>> + Send + Sync>,
    pub(crate) errors: Mutex<Vec<String>>,
    pub(crate) appetite: Appetite,
}

/// How often a thread that does not end is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// A started thread.
pub(crate) struct Member<T> {
    pub(crate) slot: Arc<Slot<T>>,
    handle: JoinHandle<()>,
    /// Disconnects when the thread ends; a `JoinHandle` knows no deadline.
    alive: Receiver<Infallible>,
}

impl<T> Member<T> {
    /// Waits for the thread to end, but not past the deadline, and not when it
    /// is stuck: `None` then, and otherwise whether it ended in order.
    pub(crate) fn join(
        self,
        deadline: Instant,
        is_stuck: impl Fn() -> bool,
    ) -> Option<thread::Result<()>> {
        loop {
            let until = deadline.min(Instant::now() + LOOK);
            match self.alive.recv_deadline(until) {
                Err(RecvTimeoutError::Timeout) if until == deadline || is_stuck() => return None,
                Err(RecvTimeoutError::Timeout) => {}
                _ => return Some(self.handle.join()),
            }
        }
    }
}

impl<T, R> Shared<T, R>
where
    T: Send + Sync + 'static,
    R: Send + 'static,
{
    /// Starts the thread of worker `number`.
    pub(crate) fn spawn(self: &Arc<Self>, number: usize) -> io::Result<Member<T>> {
        let context = WorkerContext::new(number, self.shutdown.clone(), Arc::clone(&self.metrics));
        let slot = Arc::new(Slot::new(context));
        let (leaving, alive) = bounded(0);
        let (shared, own_slot) = (Arc::clone(self), Arc::clone(&slot));
        let handle = thread::Builder::new()
            .name(format!("dupescan-worker-{number}"))
            .spawn(move || {
                let _leaving: Sender<Infallible> = leaving;
                shared.run(&own_slot);
            })?;
        Ok(Member {
            slot,
            handle,
            alive,
        })
    }

    fn run(&self, slot: &Slot<T>) {
        let mut work = None;
        while let Some(job) = self.next_job() {
            match self.work_on(job, slot, &mut work) {
                Some(done) => self.report(done),
                None => break,
            }
        }
    }

    /// The next item; `None` once the pool is stopped, or closed and empty.
    fn next_job(&self) -> Option<Job<T>> {
        let job = select_biased! {
            recv(self.shutdown.signal()) -> _ => None,
            recv(self.queue) -> job => job.ok(),
        };
        self.appetite.note(self.queue.len());
        job.filter(|_| !self.shutdown.is_stopped())
    }

    /// Runs one item; `None` if it was taken away from this thread meanwhile.
    fn work_on(
        &self,
        job: Job<T>,
        slot: &Slot<T>,
        work: &mut Option<Box<Work<T, R>>>,
    ) -> Option<Done<T, R>> {
        let worker = slot.context.worker();
        let job = Arc::new(job);
        if !slot.begin(&job) {
            return None;
        }
        self.log_start(&job, worker);
        let started = Instant::now();
        // The state is made inside the trap and on first use: if making it
        // panics, that is the failure of an item and not of the thread.
        let result = panics::catch(|| {
            let work = work.get_or_insert_with(|| (self.make_worker)(worker));
            work(&job, &slot.context)
        });
        let duration = started.elapsed();
        if let Err(panicked) = &result {
            self.panicked(&job, worker, panicked);
            self.discard(work.take(), worker);
        }
        if !slot.finish() {
            tracing::info!(worker, item = job.id, ?duration, "late result dropped");
            return None;
        }
        let job = Arc::into_inner(job).expect("the slot gave its share back, nobody took it");
        self.finished(&job, worker, duration, result.is_err());
        Some(Done {
            job,
            result,
            duration,
        })
    }

    /// Sends a result, but does not insist on it once the pool is stopped.
    fn report(&self, done: Done<T, R>) {
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
            kind = job.kind.name(),
            queue = self.queue.len(),
            waited = ?job.queued_at.elapsed(),
            "item started"
        );
    }

    fn finished(&self, job: &Job<T>, worker: usize, duration: Duration, failed: bool) {
        self.metrics.item_ended(job.kind, duration, failed);
        tracing::debug!(
            worker,
            item = job.id,
            kind = job.kind.name(),
            queue = self.queue.len(),
            ?duration,
            failed,
            "item finished"
        );
    }

    fn panicked(&self, job: &Job<T>, worker: usize, panicked: &Panicked) {
        tracing::error!(
            event = "item.panic",
            worker,
            item = job.id,
            kind = job.kind.name(),
            panic = panicked.message,
            backtrace = panicked.backtrace,
            "item panicked"
        );
        self.note_error(format!("item {} ({}) {panicked}", job.id, job.kind));
    }

    /// Drops a state that a panic may have left broken, even if that panics.
    fn discard(&self, broken: Option<Box<Work<T, R>>>, worker: usize) {
        if let Err(panicked) = panics::catch(|| drop(broken)) {
            self.note_error(format!("worker {worker} {panicked} while it was rebuilt"));
        }
    }
}

impl<T, R> Shared<T, R> {
    /// Keeps an error for the end; beyond a bound only the log has it.
    pub(crate) fn note_error(&self, error: String) {
        const KEPT: usize = 100;
        let mut errors = lock(&self.errors);
        if errors.len() < KEPT {
            errors.push(error);
        }
    }
}
