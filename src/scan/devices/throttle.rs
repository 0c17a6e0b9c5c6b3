//! `--bwlimit`: keeps the bytes read by all workers below a rate.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::pool::Shutdown;

/// The longest nap between two looks at the shutdown token.
const NAP: Duration = Duration::from_millis(50);

/// A shared allowance of bytes per second.
#[derive(Debug)]
pub(crate) struct Throttle {
    /// Bytes per second.
    rate: u64,
    /// When the bytes granted so far will all have been earned.
    earned_at: Mutex<Instant>,
}

impl Throttle {
    /// An allowance of `rate` bytes per second, at least one.
    pub(crate) fn new(rate: u64) -> Self {
        Self {
            rate: rate.max(1),
            earned_at: Mutex::new(Instant::now()),
        }
    }

    /// Waits until `bytes` more may be read, or until shutdown. Calls `alive`
    /// on the way: waiting here is not a stall.
    pub(crate) fn take(&self, bytes: u64, shutdown: &Shutdown, alive: impl Fn()) {
        let until = self.reserve(bytes);
        while !shutdown.is_stopped() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(NAP));
            alive();
        }
    }

    /// Books the bytes and returns when the previous ones are earned.
    fn reserve(&self, bytes: u64) -> Instant {
        #[allow(clippy::cast_precision_loss, reason = "a rate need not be exact")]
        let cost = Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        let mut earned_at = self
            .earned_at
            .lock()
            .expect("no panic is possible while the lock is held");
        let start = (*earned_at).max(Instant::now());
        *earned_at = start + cost;
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_over_several_takes() {
        let throttle = Throttle::new(1_000_000);
        let shutdown = Shutdown::token();
        let start = Instant::now();
        for _ in 0..5 {
            throttle.take(40_000, &shutdown, || ());
        }
        // The last 40 kB are on credit: 160 ms for the four before.
        assert!(start.elapsed() >= Duration::from_millis(155));
    }

    #[test]
    fn shutdown_ends_the_wait() {
        let throttle = Throttle::new(1);
        let shutdown = Shutdown::token();
        throttle.take(1_000_000, &shutdown, || ());
        shutdown.stop();
        let start = Instant::now();
        throttle.take(1, &shutdown, || ());
        assert!(start.elapsed() < Duration::from_secs(1));
    }
}
