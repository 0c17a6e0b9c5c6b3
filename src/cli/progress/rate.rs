//! How fast a counter grows: a moving average, so that it follows the present
//! without jumping at every look.

use std::time::Duration;

/// The speed of a counter.
#[derive(Debug)]
pub(crate) struct Rate {
    /// Seconds after which about two thirds of the past are forgotten.
    memory: f64,
    last: Option<(Duration, u64)>,
    /// The average, not yet divided by `weight`.
    sum: f64,
    /// How much of the average is known; 1 after a long time. Dividing by it
    /// makes the first looks count in full instead of pulling towards zero.
    weight: f64,
}

impl Rate {
    pub(crate) fn new(memory: Duration) -> Self {
        Self {
            memory: memory.as_secs_f64(),
            last: None,
            sum: 0.0,
            weight: 0.0,
        }
    }

    /// The counter stood at `count` after `elapsed`.
    pub(crate) fn note(&mut self, elapsed: Duration, count: u64) {
        if let Some((before, from)) = self.last {
            let time = elapsed.saturating_sub(before).as_secs_f64();
            if time <= 0.0 {
                return;
            }
            let kept = (-time / self.memory).exp();
            let speed = count.saturating_sub(from) as f64 / time;
            self.sum = self.sum * kept + speed * (1.0 - kept);
            self.weight = self.weight * kept + (1.0 - kept);
        }
        self.last = Some((elapsed, count));
    }

    /// Counts a second.
    pub(crate) fn per_second(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }
}

/// The time left as it is shown: in coarser steps the longer it is, so that it
/// does not flicker.
pub(crate) fn rounded(time: Duration) -> Duration {
    let seconds = time.as_secs_f64().ceil();
    let step = match seconds {
        s if s <= 10.0 => 1.0,
        s if s <= 60.0 => 5.0,
        s if s <= 600.0 => 15.0,
        s if s <= 3600.0 => 60.0,
        _ => 300.0,
    };
    Duration::from_secs_f64((seconds / step).ceil() * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(rate: &mut Rate, from: u64, looks: u64, count: impl Fn(u64) -> u64) -> f64 {
        for look in from..from + looks {
            rate.note(Duration::from_millis(100 * look), count(look));
        }
        rate.per_second().unwrap()
    }

    #[test]
    fn a_steady_pace_is_known_at_once() {
        let mut rate = Rate::new(Duration::from_secs(20));
        assert_eq!(rate.per_second(), None);
        let speed = after(&mut rate, 0, 2, |look| 50 * look);
        assert!((speed - 500.0).abs() < 1e-6, "{speed}");
    }

    #[test]
    fn jumps_are_smoothed_and_a_change_is_followed() {
        let mut rate = Rate::new(Duration::from_secs(3));
        // 1,000 every second, all in one look.
        let speed = after(&mut rate, 0, 300, |look| look / 10 * 1_000);
        assert!((800.0..1_200.0).contains(&speed), "{speed}");
        let speed = after(&mut rate, 300, 150, |_| 29_000);
        assert!(speed < 20.0, "{speed}");
    }

    #[test]
    fn a_look_without_time_changes_nothing() {
        let mut rate = Rate::new(Duration::from_secs(3));
        after(&mut rate, 0, 5, |look| look);
        let before = rate.per_second();
        rate.note(Duration::from_millis(400), 1_000_000);
        assert_eq!(rate.per_second(), before);
    }

    #[test]
    fn times_to_go_are_rounded_up_in_steps() {
        for (ms, seconds) in [
            (0, 0),
            (300, 1),
            (9_100, 10),
            (10_200, 15),
            (58_000, 60),
            (61_000, 75),
            (599_000, 600),
            (601_000, 660),
            (3_601_000, 3_900),
        ] {
            assert_eq!(
                rounded(Duration::from_millis(ms)).as_secs(),
                seconds,
                "{ms} ms"
            );
        }
    }
}
