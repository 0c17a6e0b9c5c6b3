//! What a scan counts while it runs: the pool's figures and the progress of
//! the stages. Threads add to atomics; a display or the summary pulls a
//! snapshot. Nothing here decides anything.
//!
//! All orderings are `Relaxed`: every counter stands alone and guards no other
//! memory, so only the sums must be right, not their order. A snapshot taken
//! in the middle of a scan may therefore be off by the items in flight.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::model::Stage;
use crate::pool::Whereabouts;

/// What a work item does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemKind {
    /// Lists a folder.
    List,
    /// Hashes head and tail of a batch of files.
    Probe,
    /// Reads a group of files whole.
    Hash,
}

impl ItemKind {
    /// Every kind, in the order of the stages.
    pub const ALL: [Self; 3] = [Self::List, Self::Probe, Self::Hash];

    /// The name used in the log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Probe => "probe",
            Self::Hash => "hash",
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::List => 0,
            Self::Probe => 1,
            Self::Hash => 2,
        }
    }
}

impl fmt::Display for ItemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A sum that any thread may add to.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `amount`.
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    /// The sum so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn subtract(&self, amount: u64) {
        self.0.fetch_sub(amount, Ordering::Relaxed);
    }

    fn raise_to(&self, level: u64) {
        self.0.fetch_max(level, Ordering::Relaxed);
    }

    fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// The counters of one scan. The pool keeps its own; the public ones are for
/// the items and the orchestrator.
#[derive(Debug)]
pub struct Metrics {
    /// Folders whose listing is complete.
    pub folders_listed: Counter,
    /// Files that listings came across.
    pub files_seen: Counter,
    /// Files found as the catalog knew them.
    pub files_unchanged: Counter,
    /// Files that have to be opened.
    pub candidates: Counter,
    /// Files whose head and tail were hashed.
    pub files_probed: Counter,
    /// Files whose content was read whole.
    pub files_hashed: Counter,
    /// Bytes that the hash stage has to read.
    pub bytes_to_hash: Counter,
    /// Bytes of those that are done.
    pub bytes_hashed: Counter,
    /// Things that went wrong with one path.
    pub faults: Counter,
    /// Bytes read by all items; `WorkerContext::progress` adds to it.
    pub bytes_read: Counter,
    /// Bytes of files found equal to another one that was read beside them. A
    /// lower bound of what could be freed: files found equal by their digests
    /// alone are not in it.
    pub reclaimable: Counter,
    /// Files that an audit has to read.
    pub files_to_audit: Counter,
    /// Files of those that are done, whatever was found.
    pub files_audited: Counter,
    /// Files of those whose content is not what their digests say.
    pub files_rotten: Counter,

    is_audit: AtomicBool,
    stage: Mutex<Entered>,
    whereabouts: Whereabouts,
    started: Instant,
    workers: Counter,
    active: Counter,
    queued: Counter,
    processed: Counter,
    failed: Counter,
    abandoned: Counter,
    queue_peak: Counter,
    busy_ns: Counter,
    kinds: [Durations; ItemKind::ALL.len()],
}

/// A stage, and what had passed and was read when it began.
#[derive(Debug, Clone, Copy)]
struct Entered {
    stage: Stage,
    after: Duration,
    bytes_read: u64,
}

impl Metrics {
    /// All counters at zero; the clock for the utilisation starts now.
    pub fn new() -> Self {
        Self {
            folders_listed: Counter::default(),
            files_seen: Counter::default(),
            files_unchanged: Counter::default(),
            candidates: Counter::default(),
            files_probed: Counter::default(),
            files_hashed: Counter::default(),
            bytes_to_hash: Counter::default(),
            bytes_hashed: Counter::default(),
            faults: Counter::default(),
            bytes_read: Counter::default(),
            reclaimable: Counter::default(),
            files_to_audit: Counter::default(),
            files_audited: Counter::default(),
            files_rotten: Counter::default(),
            is_audit: AtomicBool::new(false),
            stage: Mutex::new(Entered {
                stage: Stage::List,
                after: Duration::ZERO,
                bytes_read: 0,
            }),
            whereabouts: Whereabouts::default(),
            started: Instant::now(),
            workers: Counter::default(),
            active: Counter::default(),
            queued: Counter::default(),
            processed: Counter::default(),
            failed: Counter::default(),
            abandoned: Counter::default(),
            queue_peak: Counter::default(),
            busy_ns: Counter::default(),
            kinds: Default::default(),
        }
    }

    /// Reads all counters.
    pub fn snapshot(&self) -> MetricsSnapshot {
        let entered = *self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = self.started.elapsed();
        let workers = self.workers.get();
        MetricsSnapshot {
            elapsed,
            stage: entered.stage,
            stage_began: (entered.after, entered.bytes_read),
            workers,
            active: self.active.get(),
            queued: self.queued.get(),
            processed: self.processed.get(),
            failed: self.failed.get(),
            abandoned: self.abandoned.get(),
            queue_peak: self.queue_peak.get(),
            utilisation: utilisation(self.busy_ns.get(), workers, elapsed),
            kinds: ItemKind::ALL.map(|kind| self.kinds[kind.index()].snapshot()),
            bytes_read: self.bytes_read.get(),
            folders_listed: self.folders_listed.get(),
            files_seen: self.files_seen.get(),
            files_unchanged: self.files_unchanged.get(),
            candidates: self.candidates.get(),
            files_probed: self.files_probed.get(),
            files_hashed: self.files_hashed.get(),
            bytes_to_hash: self.bytes_to_hash.get(),
            bytes_hashed: self.bytes_hashed.get(),
            faults: self.faults.get(),
            reclaimable: self.reclaimable.get(),
            is_audit: self.is_audit.load(Ordering::Relaxed),
            files_to_audit: self.files_to_audit.get(),
            files_audited: self.files_audited.get(),
            files_rotten: self.files_rotten.get(),
        }
    }

    /// A path that some worker was at since the last call; empty if none was.
    pub fn current_path(&self) -> PathBuf {
        self.whereabouts.ask()
    }

    /// A worker is at this path.
    pub(crate) fn at_path(&self, path: &Path) {
        self.whereabouts.offer(path);
    }

    /// The run is an audit: it does nothing but read.
    pub(crate) fn enter_audit(&self) {
        self.is_audit.store(true, Ordering::Relaxed);
        self.enter(Stage::Hash);
    }

    /// The run entered a stage.
    pub(crate) fn enter(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = Entered {
            stage,
            after: self.started.elapsed(),
            bytes_read: self.bytes_read.get(),
        };
    }

    /// The pool started this many workers.
    pub(crate) fn pool_started(&self, workers: usize) {
        self.workers.set(workers as u64);
    }

    /// An item was queued, and the queue is now this long.
    pub(crate) fn item_queued(&self, queue_length: usize) {
        self.queued.add(1);
        // A worker may have emptied the queue since, but it did hold the item.
        self.queue_peak.raise_to((queue_length as u64).max(1));
    }

    /// A worker took an item.
    pub(crate) fn item_started(&self) {
        self.active.add(1);
    }

    /// A worker was at work for this long, not yet counted by an earlier call.
    pub(crate) fn worked(&self, time: Duration) {
        self.busy_ns.add(nanoseconds(time));
    }

    /// A worker came to the end of its item; it failed if it panicked.
    pub(crate) fn item_ended(&self, kind: ItemKind, duration: Duration, failed: bool) {
        self.active.subtract(1);
        self.kinds[kind.index()].add(duration);
        let ends = if failed {
            &self.failed
        } else {
            &self.processed
        };
        ends.add(1);
    }

    /// A worker was given up together with its item.
    pub(crate) fn item_abandoned(&self) {
        self.active.subtract(1);
        self.failed.add(1);
        self.abandoned.add(1);
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// The figures of a scan at one moment.
#[derive(Debug, Clone)]
pub struct MetricsSnapshot {
    /// Time since the metrics were created.
    pub elapsed: Duration,
    /// The stage that the run is in.
    pub stage: Stage,
    /// When it began, and the bytes that were read by then.
    pub stage_began: (Duration, u64),
    /// Worker threads of the pool.
    pub workers: u64,
    /// Workers that have an item right now.
    pub active: u64,
    /// Items queued so far.
    pub queued: u64,
    /// Items whose worker came to a result.
    pub processed: u64,
    /// Items that panicked or were abandoned.
    pub failed: u64,
    /// Items that were given up together with their worker.
    pub abandoned: u64,
    /// The longest the queue has been.
    pub queue_peak: u64,
    /// Busy time of all workers over workers × elapsed time, 0 to 1. Running
    /// items count up to their last progress.
    pub utilisation: f64,
    kinds: [KindSnapshot; ItemKind::ALL.len()],
    /// Bytes read by all items.
    pub bytes_read: u64,
    /// Folders whose listing is complete.
    pub folders_listed: u64,
    /// Files that listings came across.
    pub files_seen: u64,
    /// Files found as the catalog knew them.
    pub files_unchanged: u64,
    /// Files that have to be opened.
    pub candidates: u64,
    /// Files whose head and tail were hashed.
    pub files_probed: u64,
    /// Files whose content was read whole.
    pub files_hashed: u64,
    /// Bytes that the hash stage has to read.
    pub bytes_to_hash: u64,
    /// Bytes of those that are done.
    pub bytes_hashed: u64,
    /// Things that went wrong with one path.
    pub faults: u64,
    /// Bytes found to be copies so far, at least.
    pub reclaimable: u64,
    /// Whether the run is an audit, which lists nothing.
    pub is_audit: bool,
    /// Files that an audit has to read.
    pub files_to_audit: u64,
    /// Files of those that are done.
    pub files_audited: u64,
    /// Files of those that are rotten.
    pub files_rotten: u64,
}

impl MetricsSnapshot {
    /// The durations of one kind of item.
    pub fn kind(&self, kind: ItemKind) -> &KindSnapshot {
        &self.kinds[kind.index()]
    }
}

/// How long the items of one kind took, abandoned ones left out.
#[derive(Debug, Clone)]
pub struct KindSnapshot {
    /// Items that ended.
    pub count: u64,
    /// Their durations added up.
    pub total: Duration,
    /// Their mean duration.
    pub mean: Duration,
    /// How many took less than 1 µs, then less than 2, 4, 8 … µs; the last
    /// bucket holds everything longer.
    pub histogram: [u64; KindSnapshot::BUCKETS],
}

impl KindSnapshot {
    /// Buckets of the histogram; the last one begins at 2²⁶ µs, 67 seconds.
    pub const BUCKETS: usize = 28;
}

/// The durations of one kind of item, added up.
#[derive(Debug, Default)]
struct Durations {
    total_ns: Counter,
    histogram: [Counter; KindSnapshot::BUCKETS],
}

impl Durations {
    fn add(&self, duration: Duration) {
        self.total_ns.add(nanoseconds(duration));
        self.histogram[bucket(duration)].add(1);
    }

    fn snapshot(&self) -> KindSnapshot {
        let histogram: [u64; KindSnapshot::BUCKETS] =
            std::array::from_fn(|bucket| self.histogram[bucket].get());
        let count = histogram.iter().sum();
        let total = self.total_ns.get();
        let mean = total.checked_div(count).unwrap_or(0);
        KindSnapshot {
            count,
            total: Duration::from_nanos(total),
            mean: Duration::from_nanos(mean),
            histogram,
        }
    }
}

fn bucket(duration: Duration) -> usize {
    let bits = u128::BITS - duration.as_micros().leading_zeros();
    (bits as usize).min(KindSnapshot::BUCKETS - 1)
}

fn utilisation(busy_ns: u64, workers: u64, elapsed: Duration) -> f64 {
    let available = elapsed.as_secs_f64() * workers as f64;
    if available > 0.0 {
        (Duration::from_nanos(busy_ns).as_secs_f64() / available).min(1.0)
    } else {
        0.0
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn durations_fall_into_powers_of_two() {
        let micros = Duration::from_micros;
        let buckets = [0, 1, 2, 3, 4, 1023, 1024].map(|us| bucket(micros(us)));
        assert_eq!(buckets, [0, 1, 2, 2, 3, 10, 11]);
        assert_eq!(bucket(micros((1 << 26) - 1)), 26);
        assert_eq!(bucket(micros(1 << 26)), 27);
        assert_eq!(bucket(Duration::MAX), 27);
    }

    #[test]
    fn utilisation_is_a_share_of_all_workers_time() {
        let second = Duration::from_secs(1);
        assert!((utilisation(500_000_000, 1, second) - 0.5).abs() < 1e-9);
        assert!((utilisation(500_000_000, 2, second) - 0.25).abs() < 1e-9);
        assert!((utilisation(5_000_000_000, 1, second) - 1.0).abs() < 1e-9);
        assert!(utilisation(1, 0, second).abs() < 1e-9);
        assert!(utilisation(1, 1, Duration::ZERO).abs() < 1e-9);
    }

    #[test]
    fn each_kind_keeps_its_own_durations() {
        let metrics = Metrics::new();
        for millis in [1, 3] {
            metrics.item_started();
            metrics.item_ended(ItemKind::Probe, Duration::from_millis(millis), false);
        }
        metrics.item_started();
        metrics.item_ended(ItemKind::Hash, Duration::from_secs(1), true);
        let seen = metrics.snapshot();
        assert_eq!(seen.kind(ItemKind::List).count, 0);
        assert_eq!(seen.kind(ItemKind::List).mean, Duration::ZERO);
        assert_eq!(seen.kind(ItemKind::Probe).count, 2);
        assert_eq!(seen.kind(ItemKind::Probe).mean, Duration::from_millis(2));
        assert_eq!(seen.kind(ItemKind::Probe).histogram[10], 1);
        assert_eq!(seen.kind(ItemKind::Probe).histogram[12], 1);
        assert_eq!(seen.kind(ItemKind::Hash).count, 1);
        assert_eq!((seen.processed, seen.failed, seen.active), (2, 1, 0));
    }

    #[test]
    fn the_queue_peak_only_rises() {
        let metrics = Metrics::new();
        for length in [0, 7, 3] {
            metrics.item_queued(length);
        }
        let seen = metrics.snapshot();
        assert_eq!((seen.queued, seen.queue_peak), (3, 7));
    }

    #[test]
    fn threads_add_without_losing_anything() {
        let metrics = Metrics::new();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..1_000).for_each(|_| metrics.files_seen.add(2)));
            }
        });
        assert_eq!(metrics.snapshot().files_seen, 16_000);
    }
}
