//! What the pool counts. Workers add to atomics, and whoever wants to know
//! takes a snapshot.
//!
//! All orderings are `Relaxed`: every counter stands alone and guards no other
//! memory. A snapshot of a running pool may be off by the items in flight.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::current_path::CurrentPath;
use super::panics::lock;

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

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// The counters of one pool, or of several that run one after the other.
#[derive(Debug, Default)]
pub struct PoolMetrics {
    pub(crate) workers: Counter,
    pub(crate) threads: Counter,
    workers_peak: Counter,
    pub(crate) active: Counter,
    queued: Counter,
    processed: Counter,
    failed: Counter,
    abandoned: Counter,
    queue_peak: Counter,
    pub(crate) progress: Counter,
    busy_ns: Counter,
    durations: Mutex<Vec<(&'static str, Durations)>>,
    pub(crate) current_path: CurrentPath,
}

/// The counters of a pool at one moment.
#[derive(Debug, Clone)]
pub struct PoolSnapshot {
    /// Worker threads.
    pub workers: u64,
    /// Threads that were started, workers or not.
    pub threads: u64,
    /// The most threads that took items at a time.
    pub workers_peak: u64,
    /// Workers that have an item right now.
    pub active: u64,
    /// Items queued so far.
    pub queued: u64,
    /// Items that were run to their end.
    pub processed: u64,
    /// Items that panicked or were abandoned.
    pub failed: u64,
    /// Items that were abandoned together with their worker.
    pub abandoned: u64,
    /// The longest that the queue has been.
    pub queue_peak: u64,
    /// What items reported as progress, in their own unit.
    pub progress: u64,
    /// Time that workers spent on items, up to their last sign of life.
    pub busy: Duration,
    durations: Vec<(&'static str, Durations)>,
}

impl PoolSnapshot {
    /// How long the items with this label took, abandoned ones excluded.
    pub fn durations(&self, label: &str) -> Durations {
        let mut all = self.durations.iter();
        all.find(|(known, _)| *known == label)
            .map_or_else(Durations::default, |(_, durations)| durations.clone())
    }

    /// Busy time over workers × `elapsed`, 0 to 1.
    pub fn utilisation(&self, elapsed: Duration) -> f64 {
        let available = elapsed.as_secs_f64() * self.workers as f64;
        match available > 0.0 {
            true => (self.busy.as_secs_f64() / available).min(1.0),
            false => 0.0,
        }
    }
}

impl PoolMetrics {
    /// Reads all counters.
    pub fn snapshot(&self) -> PoolSnapshot {
        PoolSnapshot {
            workers: self.workers.get(),
            threads: self.threads.get(),
            workers_peak: self.workers_peak.get(),
            active: self.active.get(),
            queued: self.queued.get(),
            processed: self.processed.get(),
            failed: self.failed.get(),
            abandoned: self.abandoned.get(),
            queue_peak: self.queue_peak.get(),
            progress: self.progress.get(),
            busy: Duration::from_nanos(self.busy_ns.get()),
            durations: lock(&self.durations).clone(),
        }
    }

    /// A path that some worker was at since the last call; empty if none was.
    pub fn current_path(&self) -> PathBuf {
        self.current_path.ask()
    }

    /// An item was queued, and the queue is now this long.
    /// Notes how many threads take items from now on.
    pub(crate) fn set_workers(&self, workers: usize) {
        self.workers.set(workers as u64);
        self.workers_peak.raise_to(workers as u64);
    }

    pub(crate) fn item_queued(&self, queue_length: usize) {
        self.queued.add(1);
        // A worker may have emptied the queue since, but it did hold the item.
        self.queue_peak.raise_to((queue_length as u64).max(1));
    }

    /// A worker gave a sign of life after this long.
    pub(crate) fn worked(&self, time: Duration) {
        self.busy_ns.add(nanoseconds(time));
    }

    /// A worker came to the end of its item; it failed if it panicked.
    pub(crate) fn item_ended(&self, label: &'static str, duration: Duration, failed: bool) {
        self.active.subtract(1);
        let ends = if failed {
            &self.failed
        } else {
            &self.processed
        };
        ends.add(1);
        let mut all = lock(&self.durations);
        let known = all.iter().position(|(known, _)| *known == label);
        let at = known.unwrap_or_else(|| {
            all.push((label, Durations::default()));
            all.len() - 1
        });
        all[at].1.add(duration);
    }

    /// A worker was abandoned together with its item.
    pub(crate) fn item_abandoned(&self) {
        self.active.subtract(1);
        self.failed.add(1);
        self.abandoned.add(1);
    }
}

/// How long items of one kind took.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Durations {
    /// Their durations added up.
    pub total: Duration,
    /// How many took less than 1 µs, then less than 2, 4, 8 … µs; the last
    /// bucket holds everything longer.
    pub histogram: [u64; Durations::BUCKETS],
}

impl Durations {
    /// Buckets of the histogram; the last one begins at 2²⁶ µs, 67 seconds.
    pub const BUCKETS: usize = 28;

    fn add(&mut self, duration: Duration) {
        self.total += duration;
        self.histogram[bucket(duration)] += 1;
    }
}

fn bucket(duration: Duration) -> usize {
    let bits = u128::BITS - duration.as_micros().leading_zeros();
    (bits as usize).min(Durations::BUCKETS - 1)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
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
        let share = |busy_ms: u64, workers: u64, elapsed: Duration| {
            let metrics = PoolMetrics::default();
            metrics.workers.set(workers);
            metrics.worked(Duration::from_millis(busy_ms));
            metrics.snapshot().utilisation(elapsed)
        };
        assert!((share(500, 1, second) - 0.5).abs() < 1e-9);
        assert!((share(500, 2, second) - 0.25).abs() < 1e-9);
        assert!((share(5_000, 1, second) - 1.0).abs() < 1e-9);
        assert!(share(1, 0, second).abs() < 1e-9);
        assert!(share(1, 1, Duration::ZERO).abs() < 1e-9);
    }

    #[test]
    fn each_label_keeps_its_own_durations() {
        let metrics = PoolMetrics::default();
        for millis in [1, 3] {
            metrics.active.add(1);
            metrics.item_ended("probe", Duration::from_millis(millis), false);
        }
        metrics.active.add(1);
        metrics.item_ended("hash", Duration::from_secs(1), true);
        let seen = metrics.snapshot();
        assert_eq!(seen.durations("list"), Durations::default());
        let probe = seen.durations("probe");
        assert_eq!(probe.total, Duration::from_millis(4));
        assert_eq!((probe.histogram[10], probe.histogram[12]), (1, 1));
        assert_eq!(seen.durations("hash").histogram.iter().sum::<u64>(), 1);
        assert_eq!((seen.processed, seen.failed, seen.active), (2, 1, 0));
    }

    #[test]
    fn the_queue_peak_only_rises() {
        let metrics = PoolMetrics::default();
        for length in [0, 7, 3] {
            metrics.item_queued(length);
        }
        let seen = metrics.snapshot();
        assert_eq!((seen.queued, seen.queue_peak), (3, 7));
    }
}
