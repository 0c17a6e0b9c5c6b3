//! The fixed pool of worker threads behind a bounded queue. It runs any kind
//! of item, isolates panics, tells which worker is stuck, and can leave one
//! behind. What items mean, what is retried and when a scan has failed is the
//! orchestrator's business.

mod current_path;
mod panics;
mod refill_signal;
mod slot;
pub mod stop;
#[cfg(test)]
mod tests;
mod worker;

pub(crate) use current_path::Whereabouts;
pub use stop::Shutdown;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, after, bounded, never, select_biased};

use crate::model::{Limits, escape};
use crate::scan::{ItemKind, Metrics};
pub use panics::Panicked;
use refill_signal::Appetite;
pub use slot::WorkerContext;
use worker::{Member, Shared};

/// A worker that is asked to leave and gives no sign of life for so long hangs
/// in the kernel: waiting longer for it would only hold up the end.
const HUNG: Duration = Duration::from_secs(1);

/// A work item on its way through the pool.
#[derive(Debug)]
pub struct Job<T> {
    /// Unique within the pool; the log and late records are told apart by it.
    pub id: u64,
    /// What the item does.
    pub kind: ItemKind,
    /// The item.
    pub item: T,
    queued_at: Instant,
}

impl<T> Job<T> {
    /// A job outside any pool, for calling a worker function directly.
    pub fn new(id: u64, kind: ItemKind, item: T) -> Self {
        Self {
            id,
            kind,
            item,
            queued_at: Instant::now(),
        }
    }
}

/// An item whose worker function returned or panicked.
#[derive(Debug)]
pub struct Done<T, R> {
    /// The item.
    pub job: Job<T>,
    /// What the worker function returned.
    pub result: Result<R, Panicked>,
    /// How long it ran, without the wait in the queue.
    pub duration: Duration,
}

/// Why the pool did not start or did not take an item.
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
    /// The pool, or the whole scan, was stopped.
    #[error("the pool has been stopped and takes no more items")]
    Stopped,
    /// The queue had no room in time.
    #[error("the work queue stayed full for {waited:?}")]
    QueueFull {
        /// How long the caller was ready to wait.
        waited: Duration,
    },
}

/// A worker without a sign of life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stalled {
    /// The worker's number.
    pub worker: usize,
    /// The item it has.
    pub job_id: u64,
    /// What that item does.
    pub kind: ItemKind,
    /// Time since the last sign of life.
    pub idle: Duration,
    /// The path it is at; empty if it named none.
    pub what: PathBuf,
}

/// An item that was taken away from a stuck worker.
#[derive(Debug)]
pub struct Abandoned<T> {
    /// The number of the worker that was given up.
    pub worker: usize,
    /// The item; shared, because the stuck thread still looks at it.
    pub job: Arc<Job<T>>,
    /// Time since the last sign of life.
    pub idle: Duration,
    /// The path it was at; empty if it named none.
    pub what: PathBuf,
    /// The part of the item it was at, if it named one.
    pub part: Option<usize>,
}

/// How the pool ended.
#[derive(Debug)]
pub struct Ended {
    /// Panics and workers left behind, the first 100; the log has all.
    pub errors: Vec<String>,
    /// Workers given up, by [`Pool::abandon`] or at the deadline.
    pub abandoned: usize,
}

/// A fixed number of worker threads behind a bounded queue; dropping it stops
/// it without waiting.
pub struct Pool<T, R> {
    queue: Sender<Job<T>>,
    next_id: AtomicU64,
    crew: Mutex<Crew<T>>,
    shared: Arc<Shared<T, R>>,
    stop_on_drop: StopOnDrop,
}

/// The threads that the pool counts on.
struct Crew<T> {
    members: Vec<Member<T>>,
    /// Threads ever started, which is also the highest worker number.
    started: usize,
    abandoned: usize,
}

/// A field of its own, so that [`Pool::wait`] can take the pool apart.
struct StopOnDrop(Shutdown);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl<T, R> Pool<T, R>
where
    T: Send + Sync + 'static,
    R: Send + 'static,
{
    /// Stuck threads that are replaced before the pool goes on with fewer.
    pub const MAX_REPLACEMENTS: usize = 64;

    /// Starts the workers.
    ///
    /// `make_worker` gets the worker's number and runs on the worker's own
    /// thread, before its first item and again after a panic; what it returns
    /// may own connections and buffers. `done` gets every result after the
    /// worker function returned; it should hold at least the queue's capacity
    /// plus the workers. The pool stops with `shutdown`, but not the other way
    /// round.
    pub fn start<W>(
        limits: &Limits,
        shutdown: &Shutdown,
        metrics: Arc<Metrics>,
        done: Sender<Done<T, R>>,
        make_worker: impl Fn(usize) -> W + Send + Sync + 'static,
    ) -> Result<Self, PoolError>
    where
        W: FnMut(&Job<T>, &WorkerContext) -> R + 'static,
    {
        if limits.workers < 1 {
            return Err(PoolError::NoWorkers);
        }
        metrics.pool_started(limits.workers);
        let (queue, receiver) = bounded(limits.queue_capacity());
        let shared = Arc::new(Shared {
            queue: receiver,
            done,
            shutdown: shutdown.child(),
            metrics,
            make_worker: Box::new(move |number| Box::new(make_worker(number))),
            errors: Mutex::new(Vec::new()),
            appetite: Appetite::new(limits.queue_capacity() / 2),
        });
        // Before the first thread: if a later one is refused, all leave.
        let stop_on_drop = StopOnDrop(shared.shutdown.clone());
        let members = (1..=limits.workers)
            .map(|worker| {
                let started = shared.spawn(worker);
                started.map_err(|source| PoolError::Spawn { worker, source })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            queue,
            next_id: AtomicU64::new(1),
            crew: Mutex::new(Crew {
                members,
                started: limits.workers,
                abandoned: 0,
            }),
            shared,
            stop_on_drop,
        })
    }

    /// Queues an item and returns its id; waits while the queue is full.
    pub fn submit(&self, kind: ItemKind, item: T) -> Result<u64, PoolError> {
        self.enqueue(kind, item, None)
    }

    /// Queues an item and returns its id; waits for room only so long.
    pub fn submit_timeout(
        &self,
        kind: ItemKind,
        item: T,
        timeout: Duration,
    ) -> Result<u64, PoolError> {
        self.enqueue(kind, item, Some(timeout))
    }

    fn enqueue(
        &self,
        kind: ItemKind,
        item: T,
        timeout: Option<Duration>,
    ) -> Result<u64, PoolError> {
        let job = self.job(kind, item);
        let id = job.id;
        let expired = timeout.map_or_else(never, after);
        select_biased! {
            recv(self.shared.shutdown.signal()) -> _ => Err(PoolError::Stopped),
            send(self.queue, job) -> sent => {
                sent.map_err(|_| PoolError::Stopped)?;
                self.note_queued();
                Ok(id)
            },
            recv(expired) -> _ => Err(PoolError::QueueFull {
                waited: timeout.unwrap_or_default(),
            }),
        }
    }

    /// Wraps an item for [`Pool::queue`].
    pub fn job(&self, kind: ItemKind, item: T) -> Job<T> {
        Job::new(self.next_id.fetch_add(1, Ordering::Relaxed), kind, item)
    }

    /// The queue, for a caller that must not block and sends in `select!`. It
    /// calls [`Pool::note_queued`] after each send, and watches the shutdown
    /// token itself: a stopped pool's queue only fills up.
    pub fn queue(&self) -> &Sender<Job<T>> {
        &self.queue
    }

    /// Takes back the items that no worker has taken.
    pub fn recall(&self) -> Vec<Job<T>> {
        self.shared.queue.try_iter().collect()
    }

    /// Waits until half of the queue is taken, or for so long: for a caller that
    /// found it full, and would otherwise be woken for every item.
    pub fn rest(&self, longest: Duration) {
        self.shared.appetite.wait(|| self.queue.len(), longest);
    }

    /// Counts an item that was sent through [`Pool::queue`].
    pub fn note_queued(&self) {
        self.shared.metrics.item_queued(self.queue.len());
    }

    /// Starts further workers, as many as the system allows.
    pub fn enlarge(&self, more: usize) {
        let mut crew = lock(&self.crew);
        for _ in 0..more {
            let worker = crew.started + 1;
            match self.shared.spawn(worker) {
                Ok(member) => crew.members.push(member),
                Err(error) => {
                    tracing::warn!(worker, %error, "cannot start another worker");
                    break;
                }
            }
            crew.started = worker;
        }
        self.shared.metrics.pool_started(crew.members.len());
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
            member.slot.forgive(span);
        }
    }

    /// Takes an item away from its stuck worker, leaves that thread behind and
    /// starts another one. The item's result will never be reported.
    ///
    /// `None` if the item is not running, was abandoned before, is settled
    /// ([`WorkerContext::settle`]) or gave a sign of life within this time:
    /// then a result was or will be reported.
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

    /// Starts a thread in place of one that was given up. A pool without any
    /// thread stops, since its queue would never move again.
    fn replace(&self, crew: &mut Crew<T>) {
        if self.shared.shutdown.is_stopped() {
            return;
        }
        if crew.abandoned <= Self::MAX_REPLACEMENTS {
            let worker = crew.started + 1;
            match self.shared.spawn(worker) {
                Ok(member) => {
                    crew.members.push(member);
                    crew.started = worker;
                }
                Err(error) => {
                    tracing::error!(worker, %error, "cannot start a replacement worker");
                    let text = format!("cannot start replacement worker {worker}: {error}");
                    self.shared.note_error(text);
                }
            }
        }
        if crew.members.is_empty() {
            tracing::error!("every worker is stuck: stopping");
            let text = "every worker is stuck and none can be replaced".to_owned();
            self.shared.note_error(text);
            self.stop();
        }
    }

    /// Waits for the workers to leave, but never past the deadline: a worker
    /// stuck in the kernel is left behind, and its result dropped.
    ///
    /// After [`Pool::stop`] they leave with the item they have. Otherwise they
    /// first work off the queue, provided that no clone of [`Pool::queue`]
    /// keeps it open and somebody takes the results.
    pub fn wait(self, deadline: Instant) -> Ended {
        let Self {
            queue,
            crew,
            shared,
            stop_on_drop,
            ..
        } = self;
        drop(queue);
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

impl<T, R> Shared<T, R> {
    /// Waits for one thread to end; `false` if it is left behind.
    fn see_off(&self, member: Member<T>, deadline: Instant) -> bool {
        let slot = Arc::clone(&member.slot);
        let is_stuck = || slot.stalled(HUNG).is_some();
        let Some(ended) = member.join(deadline, is_stuck) else {
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

    fn left_behind(&self, abandoned: &Abandoned<T>) {
        let Abandoned {
            worker,
            job,
            idle,
            what,
            ..
        } = abandoned;
        tracing::warn!(
            event = "worker.abandoned",
            worker,
            item = job.id,
            kind = job.kind.name(),
            seconds = idle.as_secs(),
            path = escape(what),
            "worker abandoned"
        );
        self.note_error(format!(
            "worker {worker} was abandoned in item {} ({}), {:.1} s without progress: {}",
            job.id,
            job.kind,
            idle.as_secs_f64(),
            what.display(),
        ));
    }
}

/// Locks even after a panic: no code under the pool's locks leaves their data
/// half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
