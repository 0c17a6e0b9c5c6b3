//! A work item on its way through the pool: queued, running, done, stuck or
//! abandoned.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::context::WorkerContext;
use super::panics::Panicked;

/// One unit of work.
pub trait WorkItem: Send + Sync + Sized + 'static {
    /// What a worker thread keeps between items, such as connections and
    /// buffers.
    type Worker;
    /// What is reported about a finished item.
    type Report: Send + 'static;

    /// The kind of work, for the log and the metrics.
    fn label(&self) -> &'static str;

    /// Does the work.
    fn run(&self, worker: &mut Self::Worker, context: &WorkerContext) -> Self::Report;
}

/// An item with its id.
#[derive(Debug)]
pub struct Job<T> {
    /// Unique within the pool, for the log.
    pub id: u64,
    /// The item.
    pub item: T,
    pub(crate) queued_at: Instant,
}

impl<T> Job<T> {
    pub(crate) fn new(id: u64, item: T) -> Self {
        Self {
            id,
            item,
            queued_at: Instant::now(),
        }
    }
}

/// An item that was run to its end or panicked.
#[derive(Debug)]
pub struct Done<T: WorkItem> {
    /// The item.
    pub job: Job<T>,
    /// What came of it.
    pub result: Result<T::Report, Panicked>,
}

/// A worker without a sign of life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stalled {
    /// The worker's number.
    pub worker: usize,
    /// The item it has.
    pub job_id: u64,
    /// The kind of that item.
    pub label: &'static str,
    /// Time since the last sign of life.
    pub idle: Duration,
    /// The path it is at; empty if it named none.
    pub path: PathBuf,
}

/// An item that was taken away from a stuck worker.
#[derive(Debug)]
pub struct Abandoned<T> {
    /// The number of the abandoned worker.
    pub worker: usize,
    /// The item; shared, because the stuck thread still holds it.
    pub job: Arc<Job<T>>,
    /// Time since the last sign of life.
    pub idle: Duration,
    /// The path it was at; empty if it named none.
    pub path: PathBuf,
    /// The part of the item it was at, if it named one.
    pub part: Option<usize>,
}
