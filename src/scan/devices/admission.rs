//! How many threads are admitted to a far filesystem: found by measuring. Calls to it
//! wait without using a processor, so that many at once help, until the server, its
//! line or its disk has enough.
//!
//! Twice as many are tried, and kept where they get more done; otherwise half as many,
//! and kept where they get as much done. After that it rests for a while.

use std::time::{Duration, Instant};

/// Threads at the beginning.
const FIRST: usize = 16;
/// The shortest time that says something, and calls for each thread in it.
const LEAST: (Duration, u64) = (Duration::from_millis(10), 4);
/// After this time, what was done is compared even where calls take very long.
const LONG_ENOUGH: Duration = Duration::from_secs(1);
/// Twice as many threads are kept from this on: what they get done of what the fewer
/// did.
const WORTH_MORE: f64 = 1.15;
/// Half as many are kept from this on.
const WORTH_LESS: f64 = 0.95;
/// The first rest; each one takes twice as long as the last.
const REST: Duration = Duration::from_millis(250);
const LONGEST_REST: Duration = Duration::from_secs(8);

/// The threads that are admitted, and what they get done.
#[derive(Debug)]
pub(crate) struct Admission {
    most: usize,
    now: usize,
    step: Step,
    /// Since when, and how many calls were answered then.
    since: (Instant, u64),
    /// Whether each thread has had time for a call since others were admitted.
    is_warm: bool,
    rest: Duration,
}

/// What the present span of time shows.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    /// How much is done with as many as now.
    Base,
    /// Whether twice as many get more done than this, in calls per second.
    More(f64),
    /// Whether half as many get as much done as this.
    Fewer(f64),
    /// Nothing, until then.
    Rest(Instant),
}

impl Admission {
    /// Nobody was admitted yet; `most` is what there is.
    pub(crate) fn new(most: usize, now: Instant) -> Self {
        Self {
            most,
            now: FIRST.min(most),
            step: Step::Base,
            since: (now, 0),
            is_warm: false,
            rest: REST,
        }
    }

    /// How many are admitted.
    pub(crate) fn threads(&self) -> usize {
        self.now
    }

    /// Starts measuring again: there was not enough to do for all, so what was done
    /// says nothing.
    pub(crate) fn idle(&mut self, now: Instant, calls: u64) {
        self.since = (now, calls);
    }

    /// Begins with other work, on as many threads.
    pub(crate) fn begin(&mut self, now: Instant, calls: u64) {
        self.step = Step::Base;
        self.rest = REST;
        self.idle(now, calls);
    }

    /// Looks at how many calls were answered so far.
    pub(crate) fn look(&mut self, now: Instant, calls: u64) {
        let (since, before) = self.since;
        let (span, done) = (now.saturating_duration_since(since), calls - before);
        if !self.is_warm && done >= self.now as u64 {
            self.is_warm = true;
            self.since = (now, calls);
            return;
        }
        let is_enough = span >= LEAST.0 && done >= LEAST.1 * self.now as u64;
        if !is_enough && span < LONG_ENOUGH {
            return;
        }
        #[allow(clippy::cast_precision_loss, reason = "a rate need not be exact")]
        let rate = done as f64 / span.as_secs_f64();
        let threads = self.now;
        self.step = self.next(rate, now);
        self.since = (now, calls);
        self.is_warm = threads == self.now;
    }

    fn next(&mut self, rate: f64, now: Instant) -> Step {
        match self.step {
            Step::Base => self.try_more(rate, now),
            Step::More(before) if rate >= before * WORTH_MORE => {
                self.rest = REST;
                self.try_more(rate, now)
            }
            Step::More(before) => {
                self.now = (self.now / 2).max(1);
                self.try_fewer(before, now)
            }
            Step::Fewer(before) if rate >= before * WORTH_LESS => self.try_fewer(rate, now),
            Step::Fewer(_) => {
                self.now = (2 * self.now).min(self.most);
                self.take_a_rest(now)
            }
            Step::Rest(until) if now < until => Step::Rest(until),
            Step::Rest(_) => Step::Base,
        }
    }

    fn try_more(&mut self, rate: f64, now: Instant) -> Step {
        if self.now >= self.most {
            return self.take_a_rest(now);
        }
        self.now = (2 * self.now).min(self.most);
        Step::More(rate)
    }

    fn try_fewer(&mut self, rate: f64, now: Instant) -> Step {
        if self.now == 1 {
            return self.take_a_rest(now);
        }
        self.now /= 2;
        Step::Fewer(rate)
    }

    fn take_a_rest(&mut self, now: Instant) -> Step {
        let until = now + self.rest;
        self.rest = (2 * self.rest).min(LONGEST_REST);
        Step::Rest(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets time pass on a volume on which so many threads get `rate` calls a second
    /// done; returns how many were admitted in the end, and most of the time.
    fn settled(seconds: u64, rate: impl Fn(usize) -> f64) -> (usize, usize) {
        let start = Instant::now();
        let mut admission = Admission::new(64, start);
        let (mut calls, mut times) = (0.0, [0; 65]);
        for millis in 1..seconds * 1_000 {
            calls += rate(admission.threads()) / 1_000.0;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            admission.look(start + Duration::from_millis(millis), calls as u64);
            times[admission.threads()] += 1;
        }
        let mostly = (0..=64).max_by_key(|threads| times[*threads]).unwrap();
        (admission.threads(), mostly)
    }

    #[test]
    fn a_server_that_answers_all_at_once_gets_all_threads() {
        for latency in [0.001, 0.01, 0.1] {
            #[allow(clippy::cast_precision_loss)]
            let rate = |threads: usize| threads as f64 / latency;
            assert_eq!(settled(20, rate).1, 64, "{latency}");
        }
    }

    #[test]
    fn where_more_get_no_more_done_few_are_admitted() {
        assert_eq!(settled(20, |_| 500.0).1, 1);
        #[allow(clippy::cast_precision_loss)]
        let up_to_four = |threads: usize| 300.0 * threads.min(4) as f64;
        assert_eq!(settled(20, up_to_four).1, 4);
    }

    #[test]
    fn a_head_that_is_disturbed_gets_one() {
        #[allow(clippy::cast_precision_loss)]
        let rate = |threads: usize| 400.0 / (1.0 + 0.3 * threads as f64);
        assert_eq!(settled(20, rate).1, 1);
    }

    #[test]
    fn what_changes_is_noticed() {
        let start = Instant::now();
        let mut admission = Admission::new(64, start);
        let mut calls = 0;
        for millis in 1..60_000_u64 {
            // One thread is enough for ten seconds; then all help.
            let each = match millis < 10_000 {
                true => 1,
                false => admission.threads() as u64,
            };
            calls += each;
            admission.look(start + Duration::from_millis(millis), calls);
        }
        assert!(admission.threads() >= 32, "{admission:?}");
    }

    #[test]
    fn time_without_enough_to_do_says_nothing() {
        let start = Instant::now();
        let mut admission = Admission::new(64, start);
        let mut calls = 0;
        for millis in 1..5_000 {
            calls += 1;
            let now = start + Duration::from_millis(millis);
            admission.idle(now, calls);
            admission.look(now, calls);
        }
        assert_eq!(admission.threads(), FIRST);
    }
}
