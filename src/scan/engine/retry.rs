//! Work that waits for another attempt. The pause doubles with each failure
//! and varies a little, so that a device that comes back is not hit by
//! everything at once. No worker sleeps for it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use super::item::Work;
use crate::model::now_ns;

/// Longest pause between two attempts.
const LONGEST: Duration = Duration::from_secs(30);

/// Failed work, by the moment it is due.
#[derive(Debug, Default)]
pub(crate) struct RetryQueue {
    waiting: BinaryHeap<Reverse<Due>>,
    added: u64,
}

#[derive(Debug)]
struct Due {
    at: Instant,
    /// Keeps the order of equal moments.
    number: u64,
    work: Work,
}

impl RetryQueue {
    /// Adds work that has failed `work.failed` times.
    pub(crate) fn add(&mut self, work: Work, backoff: Duration) {
        let after = spread(pause(backoff, work.failed));
        self.add_after(work, after);
    }

    /// Adds work that is due after a pause.
    pub(crate) fn add_after(&mut self, work: Work, after: Duration) {
        let at = Instant::now() + after;
        self.added += 1;
        self.waiting.push(Reverse(Due {
            at,
            number: self.added,
            work,
        }));
    }

    /// Work that is due now.
    pub(crate) fn pop_due(&mut self) -> Option<Work> {
        if !self.next_in()?.is_zero() {
            return None;
        }
        self.waiting.pop().map(|Reverse(due)| due.work)
    }

    /// How long until the next work is due.
    pub(crate) fn next_in(&self) -> Option<Duration> {
        let Reverse(due) = self.waiting.peek()?;
        Some(due.at.saturating_duration_since(Instant::now()))
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

fn pause(backoff: Duration, failed: u32) -> Duration {
    let doublings = failed.saturating_sub(1).min(16);
    backoff.saturating_mul(1 << doublings).min(LONGEST)
}

/// Between three quarters and five quarters of the pause.
fn spread(pause: Duration) -> Duration {
    let chance = u32::try_from(now_ns().rem_euclid(1024)).unwrap_or(512);
    pause * 3 / 4 + pause / 2 * chance / 1024
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::engine::item::Item;

    fn work(failed: u32) -> Work {
        Work {
            failed,
            ..Work::new(Item::probe(Vec::new()))
        }
    }

    #[test]
    fn pauses_double_up_to_a_limit() {
        let base = Duration::from_millis(200);
        let pauses: Vec<u128> = [1, 2, 3, 30]
            .map(|failed| pause(base, failed).as_millis())
            .into();
        assert_eq!(pauses, [200, 400, 800, LONGEST.as_millis()]);
    }

    #[test]
    fn the_spread_stays_within_a_quarter() {
        for _ in 0..1_000 {
            let spread = spread(Duration::from_millis(1_000)).as_millis();
            assert!((750..=1_250).contains(&spread), "{spread}");
        }
    }

    #[test]
    fn nothing_is_handed_out_before_it_is_due() {
        let mut queue = RetryQueue::default();
        queue.add(work(1), Duration::from_secs(60));
        assert!(queue.pop_due().is_none());
        queue.add(work(2), Duration::ZERO);
        assert_eq!(queue.pop_due().map(|work| work.failed), Some(2));
        assert!(queue.pop_due().is_none() && !queue.is_empty());
    }
}
