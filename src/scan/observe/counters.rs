//! What a scan counts while it runs: the pool's figures and the progress of
//! the stages. Threads add to atomics; a display or the summary pulls a
//! snapshot. Nothing here decides anything.
//!
//! All orderings are `Relaxed`: every counter stands alone and guards no other
//! memory, so only the sums must be right, not their order. A snapshot taken
//! in the middle of a scan may therefore be off by the items in flight.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::model::Stage;
use crate::pool::{Counter, Durations, PoolMetrics};

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
    started: Instant,
    /// What the pool counts; its progress is the bytes read.
    pub(crate) pool: Arc<PoolMetrics>,
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
            started: Instant::now(),
            pool: Arc::default(),
        }
    }

    /// Reads all counters.
    pub fn snapshot(&self) -> MetricsSnapshot {
        let entered = *self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = self.started.elapsed();
        let pool = self.pool.snapshot();
        MetricsSnapshot {
            elapsed,
            stage: entered.stage,
            stage_began: (entered.after, entered.bytes_read),
            workers: pool.workers,
            active: pool.active,
            queued: pool.queued,
            processed: pool.processed,
            failed: pool.failed,
            abandoned: pool.abandoned,
            queue_peak: pool.queue_peak,
            utilisation: pool.utilisation(elapsed),
            kinds: ItemKind::ALL.map(|kind| pool.durations(kind.name())),
            bytes_read: pool.progress,
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
    kinds: [Durations; ItemKind::ALL.len()],
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
    pub fn kind(&self, kind: ItemKind) -> &Durations {
        &self.kinds[kind.index()]
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
}
