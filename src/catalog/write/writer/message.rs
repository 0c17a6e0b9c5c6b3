//! What handles and the writer thread share: messages, and the time the thread
//! was at work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use rusqlite::Transaction;

use crate::catalog::store::{CatalogError, Pause};
use crate::catalog::write::records::Record;

/// Something that runs on the write connection, in a transaction of its own.
pub(crate) type Task = Box<dyn FnOnce(&Transaction<'_>) -> Result<(), CatalogError> + Send>;

/// What the writer is asked for.
pub(crate) enum Message {
    Record(Record),
    Task(Task, Sender<Result<(), CatalogError>>),
    /// A stage ended.
    Checkpoint(Pause),
    /// Closing the channel would not do: a worker stuck in the kernel keeps its
    /// handle for ever.
    Finish,
}

/// How long the writer thread was working rather than waiting.
#[derive(Debug, Default)]
pub(crate) struct BusyTime(AtomicU64);

impl BusyTime {
    pub(crate) fn add_since(&self, began: Instant) {
        let elapsed = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(elapsed, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}
