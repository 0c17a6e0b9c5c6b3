//! How many threads take items: one per core while everything comes from memory, more
//! where reads wait for a disk that answers several, and as many as help where calls
//! wait for a far filesystem.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::model::Limits;
use crate::scan::devices::{Admission, Disks};

/// A far filesystem that was not asked anything for so long is no longer what the
/// threads wait for.
const LEFT_BEHIND: Duration = Duration::from_secs(1);

/// The threads of a run.
pub(crate) struct Crew {
    disks: Arc<Disks>,
    /// Workers, and those that join them.
    near: (usize, usize),
    far: Admission,
    /// Calls to far filesystems so far, and when there was one last.
    calls: u64,
    called: Instant,
    admitted: usize,
}

impl Crew {
    pub(crate) fn new(limits: &Limits, threads: usize, disks: &Arc<Disks>) -> Self {
        let now = Instant::now();
        Self {
            disks: Arc::clone(disks),
            near: (limits.workers, limits.reserve),
            far: Admission::new(threads, now),
            calls: 0,
            called: now,
            admitted: limits.workers,
        }
    }

    /// Notes that other work begins: what was measured says nothing about it.
    pub(crate) fn begin_stage(&mut self) {
        self.far.begin(Instant::now(), self.disks.far_calls());
    }

    /// Whether there are calls to a far filesystem to be counted.
    pub(crate) fn is_measuring(&self) -> bool {
        self.disks.has_far()
    }

    /// How many threads are to take items from now on, where that is another number.
    /// `to_do` is what is under way or waits for a thread.
    pub(crate) fn look(&mut self, to_do: impl Fn() -> usize) -> Option<usize> {
        let threads = match self.disks.has_far() {
            false => self.of_near(),
            true => self.of_far(self.disks.far_calls(), to_do()),
        };
        (std::mem::replace(&mut self.admitted, threads) != threads).then_some(threads)
    }

    fn of_near(&self) -> usize {
        let (workers, reserve) = self.near;
        match self.disks.has_room() {
            true => workers + reserve,
            false => workers,
        }
    }

    fn of_far(&mut self, calls: u64, to_do: usize) -> usize {
        let now = Instant::now();
        if calls != self.calls {
            (self.calls, self.called) = (calls, now);
        }
        if now.duration_since(self.called) > LEFT_BEHIND {
            return self.of_near();
        }
        match to_do > self.admitted {
            true => self.far.look(now, calls),
            false => self.far.idle(now, calls),
        }
        match self.disks.are_all_far() {
            true => self.far.threads(),
            // The others are not to wait for a server.
            false => self.far.threads().max(self.near.0),
        }
    }
}
