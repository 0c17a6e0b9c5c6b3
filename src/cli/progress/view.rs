//! A snapshot of a run, independent of how it is shown: counts, speed, time
//! left, and the path being read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::rate::{Rate, rounded};
use crate::model::{MetricsSnapshot, Stage, escape};
use crate::pool::Shutdown;
use crate::scan::Metrics;

/// How far back the bytes per second look.
const SPEED_MEMORY: Duration = Duration::from_secs(3);
/// How far back the time left looks.
const ETA_MEMORY: Duration = Duration::from_secs(30);
/// A stage must run this long before its time left is estimated.
const ETA_AFTER: Duration = Duration::from_secs(2);

/// One moment of a run.
pub(crate) struct View {
    pub(crate) now: MetricsSnapshot,
    /// Bytes read per second, lately.
    pub(crate) bytes_per_second: u64,
    /// Estimated time until the stage ends, if known.
    pub(crate) eta: Option<Duration>,
    /// A path being read; empty if none is known.
    pub(crate) path: PathBuf,
    /// Whether the run was asked to stop.
    pub(crate) stopping: bool,
}

/// Looks at a run again and again.
pub(crate) struct Watch {
    metrics: Arc<Metrics>,
    shutdown: Shutdown,
    speed: Rate,
    /// When the stage began whose speed is shown.
    began: Option<Duration>,
    stage: Option<(Stage, Duration)>,
    stage_rate: Rate,
}

impl Watch {
    pub(crate) fn new(metrics: Arc<Metrics>, shutdown: Shutdown) -> Self {
        // Ask once, so that the answer is ready by the first look.
        metrics.current_path();
        Self {
            metrics,
            shutdown,
            speed: Rate::new(SPEED_MEMORY),
            began: None,
            stage: None,
            stage_rate: Rate::new(ETA_MEMORY),
        }
    }

    /// The present moment.
    pub(crate) fn look(&mut self) -> View {
        let now = self.metrics.snapshot();
        View {
            bytes_per_second: whole(self.speed(&now)),
            eta: self.eta(&now),
            path: self.metrics.current_path(),
            stopping: self.shutdown.is_stopped(),
            now,
        }
    }

    /// Bytes per second since the stage began: earlier stages say nothing about
    /// it, and the first look has a value to show.
    fn speed(&mut self, now: &MetricsSnapshot) -> f64 {
        let (began, read) = now.stage_began;
        if self.began.replace(began) != Some(began) {
            self.speed = Rate::new(SPEED_MEMORY);
            self.speed.note(began, read);
        }
        self.speed.note(now.elapsed, now.bytes_read);
        self.speed.per_second().unwrap_or(0.0)
    }

    fn eta(&mut self, now: &MetricsSnapshot) -> Option<Duration> {
        let since = match self.stage {
            Some((stage, since)) if stage == now.stage => since,
            _ => {
                self.stage_rate = Rate::new(ETA_MEMORY);
                now.elapsed
            }
        };
        self.stage = Some((now.stage, since));
        let (done, total) = share(now, now.stage)?;
        self.stage_rate.note(now.elapsed, done);
        let speed = self.stage_rate.per_second().filter(|speed| *speed > 0.0)?;
        let left = total.saturating_sub(done) as f64 / speed;
        let time = Duration::try_from_secs_f64(left).ok()?;
        (now.elapsed.saturating_sub(since) >= ETA_AFTER).then(|| rounded(time))
    }
}

/// How far a stage is: done, and the known total. `None` if the total is not
/// known before the end.
pub(crate) fn share(now: &MetricsSnapshot, stage: Stage) -> Option<(u64, u64)> {
    let (done, total) = match stage {
        Stage::Probe => (now.files_probed, now.candidates),
        Stage::Hash => {
            let before = now.bytes_hashed_before;
            (now.bytes_hashed + before, now.bytes_to_hash + before)
        }
        Stage::List | Stage::Settle => return None,
    };
    // Files that grew, or were read again, must not exceed the total.
    (total > 0).then_some((done.min(total), total))
}

/// Percent, rounded down, so that 100 means all.
pub(crate) fn percent((done, total): (u64, u64)) -> u64 {
    let share = u128::from(done) * 100 / u128::from(total.max(1));
    u64::try_from(share).unwrap_or(100)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float too large or below zero becomes the nearest number"
)]
fn whole(number: f64) -> u64 {
    number as u64
}

/// A path for people; `None` if there is none.
pub(crate) fn shown_path(path: &Path) -> Option<String> {
    (!path.as_os_str().is_empty()).then(|| escape(path))
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A view of a scan that reads, with round numbers.
    pub(crate) fn reading() -> View {
        let metrics = Metrics::new();
        metrics.folders_listed.add(1_234);
        metrics.files_seen.add(56_789);
        metrics.files_unchanged.add(50_000);
        metrics.candidates.add(3_000);
        metrics.files_probed.add(3_000);
        metrics.bytes_to_hash.add(12 << 30);
        metrics.bytes_hashed.add(3 << 30);
        metrics.faults.add(3);
        metrics.reclaimable.add(1 << 30);
        let mut now = metrics.snapshot();
        now.stage = Stage::Hash;
        now.bytes_read = 3 << 30;
        now.elapsed = Duration::from_secs(83);
        (now.workers, now.active) = (4, 3);
        View {
            now,
            bytes_per_second: 112 << 20,
            eta: Some(Duration::from_secs(135)),
            path: "/home/you/Pictures/2024/Norway/raw/IMG_0001.CR2".into(),
            stopping: false,
        }
    }

    /// A view of an audit.
    pub(crate) fn auditing() -> View {
        let mut view = reading();
        let now = &mut view.now;
        now.is_audit = true;
        (now.folders_listed, now.files_seen, now.files_unchanged) = (0, 0, 0);
        (now.candidates, now.files_probed, now.reclaimable) = (0, 0, 0);
        (now.files_to_audit, now.files_audited, now.files_corrupted) = (4_800, 1_200, 1);
        view
    }

    /// The same in another stage.
    pub(crate) fn in_stage(stage: Stage) -> View {
        let mut view = reading();
        view.now.stage = stage;
        view.eta = view.eta.filter(|_| share(&view.now, stage).is_some());
        if matches!(stage, Stage::List | Stage::Probe) {
            (view.now.bytes_to_hash, view.now.bytes_hashed) = (0, 0);
            view.now.files_probed = 750;
        }
        view
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_has_no_share_before_its_whole_is_known() {
        let metrics = Metrics::new();
        assert_eq!(share(&metrics.snapshot(), Stage::Hash), None);
        metrics.bytes_to_hash.add(10);
        metrics.bytes_hashed.add(12);
        assert_eq!(share(&metrics.snapshot(), Stage::Hash), Some((10, 10)));
        assert_eq!(share(&metrics.snapshot(), Stage::List), None);
        assert_eq!(percent((999, 1_000)), 99);
        assert_eq!(percent((u64::MAX, u64::MAX)), 100);
    }

    #[test]
    fn the_time_to_go_settles_on_what_is_left() {
        let metrics = Arc::new(Metrics::new());
        let mut watch = Watch::new(Arc::clone(&metrics), Shutdown::token());
        let mut now = metrics.snapshot();
        now.stage = Stage::Hash;
        now.bytes_to_hash = 100_000;
        let mut etas = Vec::new();
        for look in 0..200_u64 {
            now.elapsed = Duration::from_millis(100 * look);
            // 1,000 a second, in jumps of 500.
            now.bytes_hashed = look / 5 * 500;
            etas.push(watch.eta(&now).map(|eta| eta.as_secs()));
        }
        assert_eq!(etas[..20], [None; 20], "too early to tell");
        // 80,000 are left.
        let last = etas[199].unwrap();
        assert!((75..=90).contains(&last), "{last}");
        now.stage = Stage::Settle;
        assert_eq!(watch.eta(&now), None);
    }

    #[test]
    fn the_first_look_at_a_stage_knows_its_speed() {
        let metrics = Arc::new(Metrics::new());
        let mut watch = Watch::new(Arc::clone(&metrics), Shutdown::token());
        let mut now = metrics.snapshot();
        // Nine seconds of listing, then one in which 1,000 bytes were read.
        now.stage = Stage::Hash;
        now.stage_began = (Duration::from_secs(9), 50);
        (now.elapsed, now.bytes_read) = (Duration::from_secs(10), 1_050);
        assert_eq!(whole(watch.speed(&now)), 1_000);
        (now.elapsed, now.bytes_read) = (Duration::from_secs(20), 11_050);
        assert_eq!(whole(watch.speed(&now)), 1_000);
        // The next stage has read nothing yet.
        now.stage_began = (Duration::from_secs(20), 11_050);
        now.elapsed = Duration::from_secs(21);
        assert_eq!(whole(watch.speed(&now)), 0);
    }

    #[test]
    fn a_look_finds_the_path_and_the_wish_to_stop() {
        let metrics = Arc::new(Metrics::new());
        let shutdown = Shutdown::token();
        let mut watch = Watch::new(Arc::clone(&metrics), shutdown.clone());
        let view = watch.look();
        assert!(view.path.as_os_str().is_empty() && !view.stopping);
        shutdown.stop();
        assert!(watch.look().stopping);
    }
}
