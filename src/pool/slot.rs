//! What the pool knows about one worker thread: the item it has, the file it
//! is at, and when it last gave a sign of life. Every thread has its own slot
//! for good, so a thread that was given up can never be taken for its
//! replacement.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::stop::Shutdown;
use super::{Abandoned, Job, Stalled, lock};
use crate::scan::Metrics;

/// What a worker function gets beside its item.
#[derive(Debug)]
pub struct WorkerContext {
    worker: usize,
    shutdown: Shutdown,
    metrics: Arc<Metrics>,
    track: Mutex<Track>,
}

#[derive(Debug)]
struct Track {
    phase: Phase,
    last_sign: Instant,
    what: PathBuf,
    part: Option<usize>,
}

impl Track {
    fn set_path(&mut self, path: &Path) {
        // Reuses the allocation: this is called once for every file.
        self.what.as_mut_os_string().clear();
        self.what.push(path);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No item.
    Idle,
    /// At work on an item, which may be taken away.
    Running,
    /// At work on an item whose outcome is certain.
    Settled,
    /// Given up, item and thread, for good.
    Abandoned,
}

impl WorkerContext {
    /// A context outside any pool, for calling a worker function directly.
    pub fn new(worker: usize, shutdown: Shutdown, metrics: Arc<Metrics>) -> Self {
        Self {
            worker,
            shutdown,
            metrics,
            track: Mutex::new(Track {
                phase: Phase::Idle,
                last_sign: Instant::now(),
                what: PathBuf::new(),
                part: None,
            }),
        }
    }

    /// The worker's number; they count from 1, and replacements count on.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// The token to look at between chunks; it stops with the pool.
    pub fn shutdown(&self) -> &Shutdown {
        &self.shutdown
    }

    /// The counters of the scan.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// A sign of life between chunks, with the bytes read since the last one.
    pub fn progress(&self, bytes: u64) {
        if self.sign_of_life(|_| ()) {
            self.metrics.bytes_read.add(bytes);
        }
    }

    /// A sign of life: work on this path begins. Stall warnings name it.
    pub fn set_path(&self, path: &Path) {
        self.sign_of_life(|track| {
            track.set_path(path);
            self.metrics.at_path(path);
        });
    }

    /// A sign of life: work on this part of an item, which is that path, begins.
    pub fn begin_part(&self, part: usize, path: &Path) {
        self.sign_of_life(|track| {
            track.part = Some(part);
            track.set_path(path);
            self.metrics.at_path(path);
        });
    }

    /// Says which part of an item of several files is worked on from now on,
    /// so that the others do not fail with it.
    pub fn set_part(&self, part: usize) {
        lock(&self.track).part = Some(part);
    }

    /// Whether the item was taken away: nobody waits for its result, and
    /// nothing about it may be recorded any more.
    pub fn is_abandoned(&self) -> bool {
        lock(&self.track).phase == Phase::Abandoned
    }

    /// Makes the outcome certain: `true` means that the item cannot be
    /// abandoned any more and its records may be sent, `false` that it was.
    #[must_use]
    pub fn settle(&self) -> bool {
        let mut track = lock(&self.track);
        if track.phase == Phase::Running {
            track.phase = Phase::Settled;
        }
        track.phase != Phase::Abandoned
    }

    /// Counts the time since the last sign as work, unless abandoned.
    fn sign_of_life(&self, note: impl FnOnce(&mut Track)) -> bool {
        let mut track = lock(&self.track);
        if track.phase == Phase::Abandoned {
            return false;
        }
        let now = Instant::now();
        self.metrics.worked(now.duration_since(track.last_sign));
        track.last_sign = now;
        note(&mut track);
        true
    }

    fn begin(&self) -> bool {
        let mut track = lock(&self.track);
        if track.phase == Phase::Abandoned {
            return false;
        }
        track.phase = Phase::Running;
        track.last_sign = Instant::now();
        track.what.as_mut_os_string().clear();
        track.part = None;
        self.metrics.item_started();
        true
    }
}

/// A worker thread as the pool sees it.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    pub(crate) context: WorkerContext,
    /// Locked before `context.track`, and as long as the phase changes.
    job: Mutex<Option<Arc<Job<T>>>>,
}

impl<T> Slot<T> {
    pub(crate) fn new(context: WorkerContext) -> Self {
        Self {
            context,
            job: Mutex::new(None),
        }
    }

    /// The thread takes an item; `false` when it has been given up.
    pub(crate) fn begin(&self, job: &Arc<Job<T>>) -> bool {
        let mut held = lock(&self.job);
        let in_time = self.context.begin();
        *held = in_time.then(|| Arc::clone(job));
        in_time
    }

    /// The thread is done with its item and gives the share in it back;
    /// `false` when the item was taken away in the meantime.
    pub(crate) fn finish(&self) -> bool {
        let mut held = lock(&self.job);
        let in_time = self.context.sign_of_life(|track| track.phase = Phase::Idle);
        *held = None;
        in_time
    }

    /// The item, if there has been no sign of life for at least this long.
    pub(crate) fn stalled(&self, longer_than: Duration) -> Option<Stalled> {
        let held = lock(&self.job);
        let job = held.as_ref()?;
        let track = lock(&self.context.track);
        let idle = track.last_sign.elapsed();
        (idle >= longer_than).then(|| Stalled {
            worker: self.context.worker,
            job_id: job.id,
            kind: job.kind,
            idle,
            what: track.what.clone(),
        })
    }

    /// Takes a span in which no thread could work off the time since the last
    /// sign of life; one that came since then owes nothing.
    pub(crate) fn forgive(&self, span: Duration) {
        let mut track = lock(&self.context.track);
        track.last_sign = (track.last_sign + span).min(Instant::now());
    }

    /// Gives the thread up if it is at this item, whose outcome is still open,
    /// and still without a sign of life for at least this long.
    pub(crate) fn abandon(&self, job_id: u64, longer_than: Duration) -> Option<Abandoned<T>> {
        let mut held = lock(&self.job);
        let mut track = lock(&self.context.track);
        let open = track.phase == Phase::Running && track.last_sign.elapsed() >= longer_than;
        let job = held.take_if(|job| open && job.id == job_id)?;
        Some(self.give_up(job, &mut track))
    }

    /// Gives the thread up, with the item that it may have.
    pub(crate) fn retire(&self) -> Option<Abandoned<T>> {
        let mut held = lock(&self.job);
        let mut track = lock(&self.context.track);
        track.phase = Phase::Abandoned;
        Some(self.give_up(held.take()?, &mut track))
    }

    fn give_up(&self, job: Arc<Job<T>>, track: &mut Track) -> Abandoned<T> {
        track.phase = Phase::Abandoned;
        self.context.metrics.item_abandoned();
        Abandoned {
            worker: self.context.worker,
            job,
            idle: track.last_sign.elapsed(),
            what: track.what.clone(),
            part: track.part,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::ItemKind;

    fn busy_slot() -> (Slot<()>, Arc<Metrics>) {
        let metrics = Arc::new(Metrics::new());
        let context = WorkerContext::new(1, Shutdown::token(), Arc::clone(&metrics));
        let slot = Slot::new(context);
        assert!(slot.begin(&Arc::new(Job::new(7, ItemKind::Hash, ()))));
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
        lock(&slot.context.track).last_sign -= hour;
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
        assert!(!slot.begin(&Arc::new(Job::new(8, ItemKind::Hash, ()))));
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
        assert_eq!(abandoned.what, Path::new("/mnt/slow/file"));
        let seen = metrics.snapshot();
        assert_eq!((seen.bytes_read, seen.active, seen.abandoned), (10, 0, 1));
    }

    #[test]
    fn time_in_which_nobody_could_work_does_not_count() {
        let (slot, _) = busy_slot();
        let seconds = Duration::from_secs;
        lock(&slot.context.track).last_sign -= seconds(60);
        assert!(slot.stalled(seconds(60)).is_some());
        slot.forgive(seconds(50));
        assert!(slot.stalled(seconds(10)).is_some(), "its own time counts");
        assert!(slot.stalled(seconds(50)).is_none());
        // One that gave a sign since owes nothing, and has nothing to its credit.
        slot.context.progress(1);
        slot.forgive(seconds(50));
        assert!(lock(&slot.context.track).last_sign <= Instant::now());
    }

    #[test]
    fn a_sign_of_life_ends_a_stall() {
        let (slot, _) = busy_slot();
        let begun = lock(&slot.context.track).last_sign;
        assert!(slot.stalled(Duration::ZERO).is_some());
        assert!(slot.stalled(Duration::from_secs(3600)).is_none());
        slot.context.progress(1);
        assert!(lock(&slot.context.track).last_sign > begun);
        slot.finish();
        assert!(slot.stalled(Duration::ZERO).is_none());
    }
}
