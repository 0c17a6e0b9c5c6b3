//! The limits of the worker pool and of everything that waits, in one place
//! with their defaults. `docs/TUNING.md` says when to raise what.

use std::time::Duration;

/// What a power cut may take of what was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// What came after the last checkpoint; the catalog stays whole.
    Normal,
    /// Nothing: every commit is on the disk before the next begins.
    Full,
}

/// How much runs at once, how long is waited, how often is tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Worker threads; default: the number of cores.
    pub workers: usize,
    /// Workers that join once reads are found to wait for a disk that answers
    /// several at once; none where somebody chose the number of workers.
    pub reserve: usize,
    /// Threads that are started where a root is on a far filesystem: as many calls
    /// can be under way.
    pub threads: usize,
    /// Work items waiting per worker before `submit` blocks.
    pub queue_per_worker: usize,
    /// Rows of listed files in one transaction of the writer; of results it may
    /// hold several times as many.
    pub batch_rows: usize,
    /// Longest time that a row waits for its transaction to be committed; thousands
    /// of results may wait a little longer for more.
    pub batch_time: Duration,
    /// An item without progress for this long becomes a dead letter.
    pub item_timeout: Duration,
    /// An item without progress for this long is named in a warning.
    pub stall_warning: Duration,
    /// Longest time between a request to stop and the end of the process.
    pub shutdown: Duration,
    /// Attempts after the first one for an item that failed transiently.
    pub retries: u32,
    /// Pause before the first retry; it doubles with each further one.
    pub backoff: Duration,
    /// Internal failures (panicking items) after which a scan gives up.
    pub fatal_errors: u32,
    /// What a power cut may lose.
    pub durability: Durability,
}

impl Limits {
    /// The allowed numbers of workers.
    pub const WORKERS: std::ops::RangeInclusive<usize> = 1..=256;

    /// Threads that are started unless somebody says how many, so that as many calls
    /// to a far filesystem can be under way.
    const FAR: usize = 64;

    /// Worker threads with the reserve.
    pub fn most_workers(&self) -> usize {
        self.workers + self.reserve
    }

    /// Capacity of the work queue.
    pub fn queue_capacity(&self) -> usize {
        self.workers * self.queue_per_worker
    }
}

impl Default for Limits {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = cores.min(*Self::WORKERS.end());
        Self {
            workers,
            reserve: (2 * workers).min(*Self::WORKERS.end() - workers),
            threads: (3 * workers).clamp(Self::FAR, *Self::WORKERS.end()),
            queue_per_worker: 64,
            batch_rows: 5_000,
            batch_time: Duration::from_millis(250),
            item_timeout: Duration::from_secs(300),
            stall_warning: Duration::from_secs(30),
            shutdown: Duration::from_secs(5),
            retries: 3,
            backoff: Duration::from_millis(200),
            fatal_errors: 10,
            durability: Durability::Normal,
        }
    }
}
