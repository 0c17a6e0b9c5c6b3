//! Wakes whoever feeds a queue once half of it was taken, not for every item.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, select};

use super::stop::Shutdown;

/// Joins those who take from a queue with the one who feeds it.
#[derive(Debug)]
pub(crate) struct RefillSignal {
    /// The length at which more is wanted.
    low: usize,
    is_awaited: AtomicBool,
    wake: Sender<()>,
    woken: Receiver<()>,
}

impl RefillSignal {
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
            // One is enough; a stale one only wakes the feeder too early.
            self.wake.try_send(()).ok();
        }
    }

    /// Waits until the queue is short, but only so long, and not once stopped.
    pub(crate) fn wait(&self, length: impl Fn() -> usize, longest: Duration, shutdown: &Shutdown) {
        self.is_awaited.store(true, Ordering::SeqCst);
        // Asked again: what was taken before the flag was set woke nobody.
        if length() > self.low {
            select! {
                recv(self.woken) -> _ => {}
                recv(shutdown.signal()) -> _ => {}
                default(longest) => {}
            }
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
        RefillSignal::new(5).wait(|| 5, LONG, &Shutdown::token());
        assert!(began.elapsed() < LONG);
    }

    #[test]
    fn the_feeder_is_woken_when_the_queue_is_short() {
        let signal = RefillSignal::new(5);
        let began = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| signal.wait(|| 10, LONG, &Shutdown::token()));
            while !signal.is_awaited.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            signal.note(6);
            assert!(signal.is_awaited.load(Ordering::SeqCst), "not yet");
            signal.note(5);
        });
        assert!(began.elapsed() < LONG);
    }

    #[test]
    fn a_queue_that_stays_full_is_waited_for_only_so_long() {
        RefillSignal::new(5).wait(|| 10, Duration::from_millis(1), &Shutdown::token());
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let stopped = Shutdown::token();
        stopped.stop();
        let began = Instant::now();
        RefillSignal::new(5).wait(|| 10, LONG, &stopped);
        assert!(began.elapsed() < LONG);
    }
}
