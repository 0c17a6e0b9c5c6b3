//! A worker thread as the pool sees it: its context and the item it has.
//! Exactly one of the thread and the pool gets to end an item.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::context::{LastSign, WorkerContext};
use super::errand::Errands;
use super::item::{Abandoned, Job, Stalled, WorkItem};
use super::metrics::PoolMetrics;
use super::panics::lock;
use super::stop::Shutdown;

/// One worker thread.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    pub(crate) context: WorkerContext,
    metrics: Arc<PoolMetrics>,
    /// Locked before the context's own lock, and while its phase changes.
    job: Mutex<Option<Arc<Job<T>>>>,
}

impl<T: WorkItem> Slot<T> {
    pub(crate) fn new(
        worker: usize,
        shutdown: Shutdown,
        metrics: Arc<PoolMetrics>,
        errands: Errands,
    ) -> Self {
        Self {
            context: WorkerContext::new(worker, shutdown, Arc::clone(&metrics), errands),
            metrics,
            job: Mutex::new(None),
        }
    }

    /// The thread takes an item; `false` if it was abandoned.
    pub(crate) fn begin(&self, job: &Arc<Job<T>>) -> bool {
        let mut held = lock(&self.job);
        let in_time = self.context.begin();
        *held = in_time.then(|| Arc::clone(job));
        in_time
    }

    /// The thread is done with its item and gives its share in it back; `false`
    /// if the item was taken away in the meantime.
    pub(crate) fn finish(&self) -> bool {
        let mut held = lock(&self.job);
        let in_time = self.context.finish();
        *held = None;
        in_time
    }

    /// The item, if there was no sign of life for at least this long.
    pub(crate) fn stalled(&self, longer_than: Duration) -> Option<Stalled> {
        let held = lock(&self.job);
        let job = held.as_ref()?;
        let last = self.context.stalled(longer_than)?;
        Some(Stalled {
            worker: self.context.worker(),
            job_id: job.id,
            label: job.item.label(),
            idle: last.idle,
            path: last.path,
        })
    }

    /// Abandons the thread if it is at this item, whose outcome is still open,
    /// and still without a sign of life for at least this long.
    pub(crate) fn abandon(&self, job_id: u64, longer_than: Duration) -> Option<Abandoned<T>> {
        let mut held = lock(&self.job);
        held.as_ref().filter(|job| job.id == job_id)?;
        let last = self.context.abandon(longer_than)?;
        Some(self.abandoned(held.take()?, last))
    }

    /// Abandons the thread, with the item that it may have.
    pub(crate) fn retire(&self) -> Option<Abandoned<T>> {
        let mut held = lock(&self.job);
        let last = self.context.retire();
        Some(self.abandoned(held.take()?, last))
    }

    fn abandoned(&self, job: Arc<Job<T>>, last: LastSign) -> Abandoned<T> {
        self.metrics.item_abandoned();
        Abandoned {
            worker: self.context.worker(),
            job,
            idle: last.idle,
            path: last.path,
            part: last.part,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Instant;

    use super::*;

    /// An item that does nothing.
    struct Nothing;

    impl WorkItem for Nothing {
        type Worker = ();
        type Report = ();

        fn label(&self) -> &'static str {
            "nothing"
        }

        fn run(&self, (): &mut (), _: &WorkerContext) {}
    }

    fn job(id: u64) -> Arc<Job<Nothing>> {
        Arc::new(Job::new(id, Nothing))
    }

    fn busy_slot() -> (Slot<Nothing>, Arc<PoolMetrics>) {
        let metrics = Arc::new(PoolMetrics::default());
        let slot = Slot::new(1, Shutdown::token(), Arc::clone(&metrics), Errands::new());
        assert!(slot.begin(&job(7)));
        (slot, metrics)
    }

    #[test]
    fn either_the_thread_or_abandon_gets_the_item() {
        let (slot, _) = busy_slot();
        assert!(slot.abandon(8, Duration::ZERO).is_none(), "another item");
        assert!(slot.abandon(7, Duration::ZERO).is_some());
        assert!(slot.abandon(7, Duration::ZERO).is_none(), "twice");
        assert!(slot.context.is_abandoned());
        assert!(!slot.finish());

        let (slot, _) = busy_slot();
        assert!(slot.finish());
        assert!(slot.abandon(7, Duration::ZERO).is_none());
    }

    #[test]
    fn a_sign_of_life_at_the_last_moment_saves_the_item() {
        let (slot, _) = busy_slot();
        let hour = Duration::from_secs(3600);
        slot.context.age(hour);
        assert!(slot.stalled(hour).is_some());
        slot.context.progress(1);
        assert!(slot.abandon(7, hour).is_none());
        assert!(slot.finish());
    }

    #[test]
    fn a_retired_thread_takes_no_more_items() {
        let (slot, metrics) = busy_slot();
        assert!(slot.context.settle() && slot.finish());
        assert!(slot.retire().is_none(), "it had no item");
        assert!(!slot.begin(&job(8)));
        assert_eq!(metrics.snapshot().abandoned, 0);

        let (slot, metrics) = busy_slot();
        assert!(slot.context.settle());
        assert_eq!(slot.retire().unwrap().job.id, 7);
        assert!(!slot.finish());
        assert_eq!(metrics.snapshot().abandoned, 1);
    }

    #[test]
    fn a_settled_item_stays_with_its_thread() {
        let (slot, _) = busy_slot();
        assert!(slot.context.settle());
        assert!(slot.abandon(7, Duration::ZERO).is_none());
        assert!(slot.finish());

        let (slot, _) = busy_slot();
        assert!(slot.abandon(7, Duration::ZERO).is_some());
        assert!(!slot.context.settle());
    }

    #[test]
    fn an_abandoned_thread_counts_no_more() {
        let (slot, metrics) = busy_slot();
        slot.context.progress(10);
        slot.context.set_path(Path::new("/mnt/slow/file"));
        let abandoned = slot.abandon(7, Duration::ZERO).unwrap();
        slot.context.progress(100);
        slot.context.set_path(Path::new("/mnt/slow/next"));
        assert_eq!(abandoned.path, Path::new("/mnt/slow/file"));
        let seen = metrics.snapshot();
        assert_eq!((seen.progress, seen.active, seen.abandoned), (10, 0, 1));
    }

    #[test]
    fn time_in_which_nobody_could_work_does_not_count() {
        let (slot, _) = busy_slot();
        let seconds = Duration::from_secs;
        slot.context.age(seconds(60));
        assert!(slot.stalled(seconds(60)).is_some());
        slot.context.forgive(seconds(50));
        assert!(slot.stalled(seconds(10)).is_some(), "its own time counts");
        assert!(slot.stalled(seconds(50)).is_none());
        // One that gave a sign since owes nothing, and has nothing to its credit.
        slot.context.progress(1);
        slot.context.forgive(seconds(50));
        assert!(slot.context.age(Duration::ZERO) <= Instant::now());
    }

    #[test]
    fn a_sign_of_life_ends_a_stall() {
        let (slot, _) = busy_slot();
        let begun = slot.context.age(Duration::ZERO);
        assert!(slot.stalled(Duration::ZERO).is_some());
        assert!(slot.stalled(Duration::from_secs(3600)).is_none());
        slot.context.progress(1);
        assert!(slot.context.age(Duration::ZERO) > begun);
        slot.finish();
        assert!(slot.stalled(Duration::ZERO).is_none());
    }
}
