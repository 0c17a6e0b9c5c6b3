//! What a run counts while it works. Threads add to atomics; a display or the
//! summary takes a snapshot. Nothing here decides anything. The list of
//! counters is in `model`; the pool counts its items itself.
//!
//! All orderings are `Relaxed`: every counter stands alone and guards no other
//! memory. A snapshot of a running scan may be off by the items in flight.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::model::{ItemKind, KindDurations, MetricsSnapshot, Stage, with_counters};
use crate::pool::{Counter, PoolMetrics, PoolSnapshot};

macro_rules! make_metrics {
    ($(#[doc = $help:literal] $name:ident, $json:literal, $metric:literal;)*) => {
        /// The counters of one command, over all its runs.
        #[derive(Debug)]
        pub struct Metrics {
            $(#[doc = $help] pub $name: Counter,)*
            /// The counters of the pool; its progress is the bytes read.
            pub(crate) pool: Arc<PoolMetrics>,
            is_audit: AtomicBool,
            stage: Mutex<Entered>,
            started: Instant,
        }

        impl Metrics {
            /// All counters at zero; the clock starts now.
            pub fn new() -> Self {
                Self {
                    $($name: Counter::default(),)*
                    pool: Arc::default(),
                    is_audit: AtomicBool::new(false),
                    stage: Mutex::default(),
                    started: Instant::now(),
                }
            }

            /// The sums, and nothing else.
            fn sums(&self) -> MetricsSnapshot {
                MetricsSnapshot {
                    $($name: self.$name.get(),)*
                    ..MetricsSnapshot::default()
                }
            }
        }
    };
}
with_counters!(make_metrics);

/// A stage, and how much time had passed and was read when it began.
#[derive(Debug, Clone, Copy, Default)]
struct Entered {
    stage: Stage,
    after: Duration,
    bytes_read: u64,
}

impl Metrics {
    /// Reads all counters.
    pub fn snapshot(&self) -> MetricsSnapshot {
        let entered = *self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = self.started.elapsed();
        let pool = self.pool.snapshot();
        MetricsSnapshot {
            elapsed,
            stage: entered.stage,
            stage_began: (entered.after, entered.bytes_read),
            is_audit: self.is_audit.load(Ordering::Relaxed),
            workers: pool.workers,
            threads: pool.threads,
            workers_peak: pool.workers_peak,
            active: pool.active,
            queued: pool.queued,
            processed: pool.processed,
            failed: pool.failed,
            abandoned: pool.abandoned,
            queue_peak: pool.queue_peak,
            utilisation: pool.utilisation(elapsed),
            durations: ItemKind::ALL.map(|kind| durations(kind, &pool)).into(),
            bytes_read: pool.progress,
            ..self.sums()
        }
    }

    /// A path that some worker was at since the last call; empty if none was.
    pub fn current_path(&self) -> PathBuf {
        self.pool.current_path()
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
            bytes_read: self.pool.snapshot().progress,
        };
    }
}

fn durations(kind: ItemKind, pool: &PoolSnapshot) -> KindDurations {
    let durations = pool.durations(kind.name());
    KindDurations {
        kind,
        total: durations.total,
        histogram: durations.histogram.to_vec(),
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

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

    #[test]
    fn every_counter_is_in_the_snapshot_under_its_own_names() {
        let metrics = Metrics::new();
        metrics.faults.add(3);
        let counters = metrics.snapshot().counters();
        let faults = counters.iter().find(|counter| counter.value == 3).unwrap();
        assert_eq!((faults.json, faults.metric), ("errors", "errors_total"));
        for counter in &counters {
            let of_name = |name| counters.iter().filter(move |one| one.json == name);
            assert_eq!(of_name(counter.json).count(), 1, "{}", counter.json);
        }
    }
}
