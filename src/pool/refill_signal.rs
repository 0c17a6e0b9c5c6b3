//! When the workers want more: whoever feeds the queue sleeps while it is full
//! and is woken once for half of it, not for every item.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

/// Joins those who take from a queue with the one who feeds it.
#[derive(Debug)]
pub(crate) struct Appetite {
    /// The length at which more is wanted.
    low: usize,
    is_awaited: AtomicBool,
    wake: Sender<()>,
    woken: Receiver<()>,
}

impl Appetite {
    pub(crate) fn new(low: usize) -> Self {
        let (wake, woken) = bounded(1);
        Self {
            low,
            is_awaited: AtomicBool::new(false),
            wake,
            woken,
        }
    }

    /// Notes how long the queue is after something was taken.
    pub(crate) fn note(&self, length: usize) {
        if length <= self.low && self.is_awaited.swap(false, Ordering::SeqCst) {
            // One is enough; an old one only wakes the feeder too early.
            self.wake.try_send(()).ok();
        }
    }

    /// Waits until the queue is short, but only so long.
    pub(crate) fn wait(&self, length: impl Fn() -> usize, longest: Duration) {
        self.is_awaited.store(true, Ordering::SeqCst);
        // Asked again: what was taken before is not told.
        if length() > self.low {
            self.woken.recv_timeout(longest).ok();
        }
        self.is_awaited.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_short_queue_needs_no_waiting() {
        let began = Instant::now();
        Appetite::new(5).wait(|| 5, LONG);
        assert!(began.elapsed() < LONG);
    }

    #[test]
    fn the_feeder_is_woken_when_the_queue_is_short() {
        let appetite = Appetite::new(5);
        let began = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| appetite.wait(|| 10, LONG));
            while !appetite.is_awaited.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            appetite.note(6);
            assert!(appetite.is_awaited.load(Ordering::SeqCst), "not yet");
            appetite.note(5);
        });
        assert!(began.elapsed() < LONG);
    }

    #[test]
    fn a_queue_that_stays_full_is_waited_for_only_so_long() {
        Appetite::new(5).wait(|| 10, Duration::from_millis(1));
    }
}
