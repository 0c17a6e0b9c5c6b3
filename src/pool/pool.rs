//! The pool itself: starting, feeding, watching and ending the workers.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, TrySendError, bounded, select_biased};

use super::errand::Errands;
use super::gate::Gate;
use super::item::{Abandoned, Done, Job, Stalled, WorkItem};
use super::metrics::PoolMetrics;
use super::panics::lock;
use super::refill_signal::RefillSignal;
use super::stop::Shutdown;
use super::worker::{Member, Shared};

/// More threads than any pool has.
const MOST_THREADS: usize = 1_024;

/// How large a pool is.
#[derive(Debug, Clone, Copy)]
pub struct PoolOptions {
    /// Worker threads.
    pub workers: usize,
    /// Threads that are started with them, and take items once they are admitted; as
    /// many as the system grants.
    pub reserve: usize,
    /// Items that may wait in the queue.
    pub queue: usize,
}

/// Why the pool did not start.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// The configured number of workers is zero.
    #[error("the pool needs at least one worker, but the limit is set to 0")]
    NoWorkers,
    /// The system refused a thread.
    #[error("cannot start worker thread {worker}")]
    Spawn {
        /// The number of the worker.
        worker: usize,
        /// What the system said.
        source: io::Error,
    },
}

/// An item that the pool did not take.
#[derive(Debug)]
pub enum Refused<T> {
    /// The pool, or the token it was started with, was stopped.
    Stopped(T),
    /// The queue had no room in time.
    Full(T),
}

/// How the pool ended.
#[derive(Debug)]
pub struct Ended {
    /// Panics and abandoned workers, the first 100; the log has all.
    pub errors: Vec<String>,
    /// Workers abandoned, by [`Pool::abandon`] or at the deadline.
    pub abandoned: usize,
}

/// A fixed number of worker threads behind a bounded queue; dropping it stops
/// it without waiting.
pub struct Pool<T: WorkItem> {
    queue: Sender<Job<T>>,
    next_id: AtomicU64,
    crew: Mutex<Crew<T>>,
    shared: Arc<Shared<T>>,
    stop_on_drop: StopOnDrop,
}

/// The threads that the pool counts on.
struct Crew<T> {
    members: Vec<Member<T>>,
    /// Threads ever started, which is also the highest worker number.
    started: usize,
    abandoned: usize,
    /// Threads that take items.
    admitted: usize,
}

impl<T: WorkItem> Crew<T> {
    fn add_worker(&mut self, shared: &Arc<Shared<T>>, is_admitted: bool) -> io::Result<()> {
        let member = shared.spawn(self.started + 1, is_admitted)?;
        self.members.push(member);
        self.started += 1;
        Ok(())
    }
}

/// A field of its own, so that [`Pool::wait`] can take the pool apart.
struct StopOnDrop(Shutdown);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl<T: WorkItem> Pool<T> {
    /// Stuck threads that are replaced before the pool continues with fewer.
    pub const MAX_REPLACEMENTS: usize = 64;

    /// Starts the workers.
    ///
    /// `make_worker` runs on the worker's own thread, before its first item and
    /// again after a panic. `done` gets every result after its item was run; it
    /// should hold at least the queue's capacity plus the workers. The pool
    /// stops with `shutdown`, but not the other way round.
    pub fn start(
        options: PoolOptions,
        shutdown: &Shutdown,
        metrics: Arc<PoolMetrics>,
        done: Sender<Done<T>>,
        make_worker: impl Fn() -> T::Worker + Send + Sync + 'static,
    ) -> Result<Self, PoolError> {
        if options.workers < 1 {
            return Err(PoolError::NoWorkers);
        }
        metrics.set_workers(options.workers);
        let (queue, receiver) = bounded(options.queue);
        let shared = Arc::new(Shared {
            queue: receiver,
            done,
            shutdown: shutdown.child(),
            metrics,
            make_worker: Box::new(make_worker),
            errors: Mutex::default(),
            refill: RefillSignal::new(options.queue / 2),
            gate: Gate::new(),
            errands: Errands::new(),
        });
        // Before the first thread: if a later one is refused, all leave.
        let stop_on_drop = StopOnDrop(shared.shutdown.clone());
        let mut crew = Crew {
            members: Vec::new(),
            started: 0,
            abandoned: 0,
            admitted: options.workers,
        };
        for worker in 1..=options.workers {
            let added = crew.add_worker(&shared, true);
            added.map_err(|source| PoolError::Spawn { worker, source })?;
        }
        for _ in 0..options.reserve {
            if let Err(error) = crew.add_worker(&shared, false) {
                tracing::warn!(%error, "cannot start more threads");
                break;
            }
        }
        shared.metrics.threads.set(crew.members.len() as u64);
        Ok(Self {
            queue,
            next_id: AtomicU64::new(1),
            crew: Mutex::new(crew),
            shared,
            stop_on_drop,
        })
    }

    /// Queues an item and returns its id; waits while the queue is full.
    pub fn submit(&self, item: T) -> Result<u64, Refused<T>> {
        let job = self.job(item)?;
        let id = job.id;
        let mut unsent = Some(job);
        select_biased! {
            recv(self.shared.shutdown.signal()) -> _ => {}
            send(self.queue, unsent.take().expect("set above")) -> sent => {
                unsent = sent.err().map(|refused| refused.0);
            }
        }
        match unsent {
            Some(job) => Err(Refused::Stopped(job.item)),
            None => Ok(self.note_queued(id)),
        }
    }

    /// Queues an item and returns its id. If the queue is full, it waits until
    /// half of it is taken, or for this long: a caller that feeds it is not
    /// woken for every item.
    pub fn submit_timeout(&self, item: T, timeout: Duration) -> Result<u64, Refused<T>> {
        let job = self.job(item)?;
        let id = job.id;
        let sent = self.queue.try_send(job).or_else(|refused| match refused {
            TrySendError::Full(job) => {
                let (refill, shutdown) = (&self.shared.refill, &self.shared.shutdown);
                refill.wait(|| self.queue.len(), timeout, shutdown);
                self.queue.try_send(job)
            }
            disconnected => Err(disconnected),
        });
        match sent {
            Ok(()) => Ok(self.note_queued(id)),
            Err(TrySendError::Full(job)) if !self.shared.shutdown.is_stopped() => {
                Err(Refused::Full(job.item))
            }
            Err(refused) => Err(Refused::Stopped(refused.into_inner().item)),
        }
    }

    fn job(&self, item: T) -> Result<Job<T>, Refused<T>> {
        if self.shared.shutdown.is_stopped() {
            return Err(Refused::Stopped(item));
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        Ok(Job::new(id, item))
    }

    fn note_queued(&self, id: u64) -> u64 {
        self.shared.metrics.item_queued(self.queue.len());
        id
    }

    /// Takes back the items that no worker has taken.
    pub fn recall(&self) -> Vec<T> {
        let waiting = self.shared.queue.try_iter();
        waiting.map(|job| job.item).collect()
    }

    /// Lets as many threads take items, at least one, of those that were started.
    /// Threads that are one too many finish what they have.
    pub fn admit(&self, threads: usize) {
        let mut crew = lock(&self.crew);
        let threads = threads.clamp(1, crew.members.len().max(1));
        match threads.checked_sub(crew.admitted) {
            Some(more) => self.shared.gate.admit(more),
            None => self.shared.gate.send_out(crew.admitted - threads),
        }
        crew.admitted = threads;
        self.shared.metrics.set_workers(threads);
    }

    /// Where errands wait.
    #[cfg(test)]
    pub(crate) fn errands(&self) -> Errands {
        self.shared.errands.clone()
    }

    /// Errands that found no thread yet.
    pub fn errands_waiting(&self) -> usize {
        self.shared.errands.waiting.len()
    }

    /// Lets the workers finish what they have and leave; what is queued is
    /// dropped. Does not wait, and may be repeated.
    pub fn stop(&self) {
        self.shared.shutdown.stop();
    }

    /// The workers that gave no sign of life for at least this long.
    pub fn stalled(&self, longer_than: Duration) -> Vec<Stalled> {
        let crew = lock(&self.crew);
        let slots = crew.members.iter().map(|member| &member.slot);
        slots.filter_map(|slot| slot.stalled(longer_than)).collect()
    }

    /// Does not count a span in which no worker could give a sign of life,
    /// because the whole process stood still.
    pub fn forgive(&self, span: Duration) {
        for member in &lock(&self.crew).members {
            member.slot.context.forgive(span);
        }
    }

    /// Takes an item away from its stuck worker, abandons that thread and
    /// starts another one. The item's result will never be reported.
    ///
    /// `None` if the item is not running, was abandoned before, is settled
    /// ([`WorkerContext::settle`](super::WorkerContext::settle)) or gave a sign
    /// of life within this time: then a result was or will be reported.
    pub fn abandon(&self, job_id: u64, longer_than: Duration) -> Option<Abandoned<T>> {
        let mut crew = lock(&self.crew);
        let (position, abandoned) = crew
            .members
            .iter()
            .enumerate()
            .find_map(|(at, member)| Some((at, member.slot.abandon(job_id, longer_than)?)))?;
        // Dropping the handle detaches the thread.
        drop(crew.members.swap_remove(position));
        crew.abandoned += 1;
        self.shared.left_behind(&abandoned);
        self.replace(&mut crew);
        Some(abandoned)
    }

    /// Starts a thread in place of an abandoned one. A pool without any thread
    /// stops, since its queue would never move again.
    fn replace(&self, crew: &mut Crew<T>) {
        if self.shared.shutdown.is_stopped() {
            return;
        }
        if crew.abandoned <= Self::MAX_REPLACEMENTS
            && let Err(error) = crew.add_worker(&self.shared, true)
        {
            tracing::error!(%error, "cannot replace a stuck worker");
            let text = format!("cannot replace a stuck worker: {error}");
            self.shared.note_error(text);
        }
        if crew.members.is_empty() {
            tracing::error!("every worker is stuck: stopping");
            let text = "every worker is stuck and none can be replaced".to_owned();
            self.shared.note_error(text);
            self.stop();
        }
    }

    /// Waits for the workers to leave, but never past the deadline: a worker
    /// stuck in the kernel is abandoned, and its result dropped.
    ///
    /// After [`Pool::stop`] they leave with the item they have. Otherwise they
    /// first work off the queue, provided that somebody takes the results.
    pub fn wait(self, deadline: Instant) -> Ended {
        let Self {
            queue,
            crew,
            shared,
            stop_on_drop,
            ..
        } = self;
        drop(queue);
        // Whoever was not admitted comes in to find that nothing is left.
        shared.gate.admit(Self::MAX_REPLACEMENTS + MOST_THREADS);
        let crew = crew.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut abandoned = crew.abandoned;
        for member in crew.members {
            abandoned += usize::from(!shared.see_off(member, deadline));
        }
        drop(stop_on_drop);
        // A stuck thread keeps the queue alive, but what is in it may hold
        // resources that others wait for.
        shared.queue.try_iter().for_each(drop);
        let errors = std::mem::take(&mut *lock(&shared.errors));
        Ended { errors, abandoned }
    }
}
