//! What an item gets beside its worker: the stop token, and signs of life,
//! which say that it is getting on and where it is.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::errand::{Errand, Errands};
use super::metrics::PoolMetrics;
use super::panics::lock;
use super::stop::Shutdown;

/// One worker thread's own view of the pool. Each thread has its own for good,
/// so an abandoned thread can never be taken for its replacement.
#[derive(Debug)]
pub struct WorkerContext {
    worker: usize,
    shutdown: Shutdown,
    metrics: Arc<PoolMetrics>,
    errands: Errands,
    track: Mutex<Track>,
}

#[derive(Debug)]
struct Track {
    phase: Phase,
    last_sign: Instant,
    path: PathBuf,
    part: Option<usize>,
}

impl Track {
    fn set_path(&mut self, path: &Path) {
        // Reuses the allocation: this is called once for every file.
        self.path.as_mut_os_string().clear();
        self.path.push(path);
    }

    fn last(&self) -> LastSign {
        LastSign {
            idle: self.last_sign.elapsed(),
            path: self.path.clone(),
            part: self.part,
        }
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
    /// Item and thread are abandoned for good.
    Abandoned,
}

/// The last that was heard of a worker.
#[derive(Debug)]
pub(crate) struct LastSign {
    pub(crate) idle: Duration,
    pub(crate) path: PathBuf,
    pub(crate) part: Option<usize>,
}

impl WorkerContext {
    pub(crate) fn new(
        worker: usize,
        shutdown: Shutdown,
        metrics: Arc<PoolMetrics>,
        errands: Errands,
    ) -> Self {
        Self {
            worker,
            shutdown,
            metrics,
            errands,
            track: Mutex::new(Track {
                phase: Phase::Idle,
                last_sign: Instant::now(),
                path: PathBuf::new(),
                part: None,
            }),
        }
    }

    /// The context of a thread that is in no pool, and that nobody helps.
    #[cfg(test)]
    pub(crate) fn alone(shutdown: Shutdown, metrics: Arc<PoolMetrics>) -> Self {
        Self::new(1, shutdown, metrics, Errands::new())
    }

    /// The worker's number: they count from 1, and replacements continue.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// The token to check between chunks; it stops with the pool.
    pub fn shutdown(&self) -> &Shutdown {
        &self.shutdown
    }

    /// A sign of life between chunks, with the progress since the last one in
    /// the item's own unit.
    pub fn progress(&self, amount: u64) {
        if self.sign_of_life(|_| ()) {
            self.metrics.progress.add(amount);
        }
    }

    /// A sign of life: work on this path begins. Stall warnings name it.
    pub fn set_path(&self, path: &Path) {
        self.sign_of_life(|track| self.is_at(track, path));
    }

    fn is_at(&self, track: &mut Track, path: &Path) {
        track.set_path(path);
        self.metrics.current_path.offer(path);
    }

    /// A sign of life: work on this part of an item, which is that path, begins.
    pub fn begin_part(&self, part: usize, path: &Path) {
        self.sign_of_life(|track| {
            track.part = Some(part);
            self.is_at(track, path);
        });
    }

    /// Says which part of an item of several files is worked on from now on,
    /// so that the others do not fail with it.
    pub fn set_part(&self, part: usize) {
        lock(&self.track).part = Some(part);
    }

    /// Offers a part of the item to as many threads that have none. Whoever asks goes
    /// on with it, and does not wait for help to come.
    pub fn ask_for_help(&self, errand: &Errand, helpers: usize) {
        self.errands.offer(errand, helpers);
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
}

/// For the thread that runs items, and those that watch it.
impl WorkerContext {
    /// An item begins; `false` if the thread was abandoned.
    pub(crate) fn begin(&self) -> bool {
        let mut track = lock(&self.track);
        if track.phase == Phase::Abandoned {
            return false;
        }
        track.phase = Phase::Running;
        track.last_sign = Instant::now();
        track.path.as_mut_os_string().clear();
        track.part = None;
        self.metrics.active.add(1);
        true
    }

    /// The item ended; `false` if it was taken away meanwhile.
    pub(crate) fn finish(&self) -> bool {
        self.sign_of_life(|track| track.phase = Phase::Idle)
    }

    /// The last sign of life, if it is at least this long ago.
    pub(crate) fn stalled(&self, longer_than: Duration) -> Option<LastSign> {
        let last = lock(&self.track).last();
        (last.idle >= longer_than).then_some(last)
    }

    /// Subtracts a span in which no thread could work from the time since the
    /// last sign of life. A later sign gains nothing by it.
    pub(crate) fn forgive(&self, span: Duration) {
        let mut track = lock(&self.track);
        track.last_sign = (track.last_sign + span).min(Instant::now());
    }

    /// Abandons the thread if its item's outcome is still open and there was no
    /// sign of life for at least this long.
    pub(crate) fn abandon(&self, longer_than: Duration) -> Option<LastSign> {
        let mut track = lock(&self.track);
        let last = track.last();
        if track.phase != Phase::Running || last.idle < longer_than {
            return None;
        }
        track.phase = Phase::Abandoned;
        Some(last)
    }

    /// Abandons the thread, whatever it does.
    pub(crate) fn retire(&self) -> LastSign {
        let mut track = lock(&self.track);
        track.phase = Phase::Abandoned;
        track.last()
    }

    /// Makes the last sign of life older, and says when it was.
    #[cfg(test)]
    pub(crate) fn age(&self, span: Duration) -> Instant {
        let mut track = lock(&self.track);
        track.last_sign -= span;
        track.last_sign
    }
}
