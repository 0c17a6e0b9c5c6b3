//! How the disks of a run are read. A rotational disk is read by one worker at a
//! time and file after file: two readers would make it seek between them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::pace::Pace;
use crate::model::{IoMode, VolumeId};
use crate::platform;
use crate::pool::WorkerContext;

/// The longest nap between two looks at a disk that is in use.
const NAP: Duration = Duration::from_millis(2);
/// Bytes that the system reads ahead of each file by itself, which keep a disk
/// busy where several files are read at a time. Advice doubles them, and what is
/// read ahead of a file that turns out to differ is read in vain.
const FAR_AHEAD: u64 = 512 * 1024;

/// The disks met in a run, by volume.
#[derive(Debug)]
pub(crate) struct Disks {
    mode: IoMode,
    known: Mutex<HashMap<VolumeId, Arc<Disk>>>,
    /// Whether reads wait for a disk that could answer more of them at once.
    has_room: AtomicBool,
}

#[derive(Debug, Default)]
struct Disk {
    kind: DiskKind,
    /// Whether the system reads much of a file before it is asked for.
    reads_far_ahead: bool,
    /// Whether reads take as long as on a rotational disk.
    is_slow: AtomicBool,
    /// Whether it could answer more reads at once.
    has_room: AtomicBool,
    is_in_use: AtomicBool,
}

/// What the system says about a disk. Virtual disks claim to be rotational though
/// they are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum DiskKind {
    Rotational,
    /// Or behind a server, which is nearly the same: the server knows better in
    /// which order to read.
    SolidState,
    /// Several disks, or no block device at all.
    #[default]
    Unknown,
}

impl DiskKind {
    fn of(dev: u64, is_network: bool) -> Self {
        match platform::is_rotational(dev) {
            _ if is_network => Self::SolidState,
            Some(true) => Self::Rotational,
            Some(false) => Self::SolidState,
            None => Self::Unknown,
        }
    }
}

/// The right to read from some disks; given back when dropped.
#[derive(Debug, Default)]
pub(crate) struct Turn(Vec<Arc<Disk>>);

impl Drop for Turn {
    fn drop(&mut self) {
        for disk in &self.0 {
            disk.is_in_use.store(false, Ordering::Release);
        }
    }
}

impl Disks {
    pub(crate) fn new(mode: IoMode) -> Self {
        Self {
            mode,
            known: Mutex::default(),
            has_room: AtomicBool::new(false),
        }
    }

    /// Gets to know the disk of a volume by its device number.
    pub(crate) fn meet(&self, volume: VolumeId, dev: u64, is_network: bool) {
        self.add(
            volume,
            Disk {
                kind: DiskKind::of(dev, is_network),
                reads_far_ahead: is_far_ahead(platform::read_ahead(dev)),
                ..Disk::default()
            },
        );
    }

    fn add(&self, volume: VolumeId, disk: Disk) {
        self.lock().entry(volume).or_insert_with(|| Arc::new(disk));
    }

    /// Notes what the reads of a worker tell about the disk of a volume.
    pub(crate) fn note_pace(&self, pace: &Pace, volume: VolumeId) {
        if !pace.is_slow() || self.mode == IoMode::Hdd {
            return;
        }
        let disk = self.lock().get(&volume).cloned().unwrap_or_default();
        // Where many ask at once, each waits for the others.
        if disk.has_room.load(Ordering::Relaxed) {
            return;
        }
        let kind = match self.mode {
            IoMode::Ssd => DiskKind::SolidState,
            IoMode::Auto | IoMode::Hdd => disk.kind,
        };
        // A disk that claims to be rotational is believed only where reads take
        // as long.
        if kind == DiskKind::Rotational && pace.is_seeking() {
            disk.is_slow.store(true, Ordering::Relaxed);
        } else if pace.waits() && (kind == DiskKind::SolidState || pace.is_below_seek_time()) {
            disk.has_room.store(true, Ordering::Relaxed);
            self.has_room.store(true, Ordering::Relaxed);
        }
    }

    /// Whether more workers than cores have something to do.
    pub(crate) fn has_room(&self) -> bool {
        self.has_room.load(Ordering::Relaxed)
    }

    /// Whether a volume is to be read as a rotational disk.
    pub(crate) fn seeks(&self, volume: VolumeId) -> bool {
        match self.mode {
            IoMode::Ssd => false,
            IoMode::Hdd => true,
            IoMode::Auto => self
                .lock()
                .get(&volume)
                .is_some_and(|disk| disk.is_slow.load(Ordering::Relaxed)),
        }
    }

    /// Whether the system already reads far ahead, so that asking for more would
    /// do harm.
    pub(crate) fn reads_far_ahead(&self, volume: VolumeId) -> bool {
        let known = self.lock();
        known.get(&volume).is_some_and(|disk| disk.reads_far_ahead)
    }

    /// Waits until the disks of these volumes (sorted, so that nobody waits in
    /// a circle) may be read; at once for disks that do not seek. On shutdown
    /// it comes back with what it has.
    pub(crate) fn turn(&self, volumes: &[VolumeId], context: &WorkerContext) -> Turn {
        let mut turn = Turn::default();
        for volume in volumes.iter().filter(|volume| self.seeks(**volume)) {
            let disk = Arc::clone(self.lock().entry(*volume).or_default());
            while disk.is_in_use.swap(true, Ordering::Acquire) {
                if context.shutdown().is_stopped() || context.is_abandoned() {
                    return turn;
                }
                std::thread::sleep(NAP);
                // Waiting here is not a stall.
                context.progress(0);
            }
            turn.0.push(disk);
        }
        turn
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<VolumeId, Arc<Disk>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the system reads far ahead; not where it does not say.
fn is_far_ahead(bytes: Option<u64>) -> bool {
    bytes.is_some_and(|bytes| bytes >= FAR_AHEAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: VolumeId = VolumeId(1);
    const OTHER: VolumeId = VolumeId(2);
    const SOON: Duration = Duration::from_micros(300);
    const LATE: Duration = Duration::from_millis(8);

    fn with(kind: DiskKind) -> Disk {
        Disk {
            kind,
            ..Disk::default()
        }
    }

    /// Many reads, of which one in so many comes late.
    fn pace(one_late_in: usize) -> Pace {
        let mut pace = Pace::default();
        for number in 1..=1_000 {
            let is_late = number % one_late_in == 0;
            pace.note(if is_late { LATE } else { SOON });
        }
        pace
    }

    /// Whether more workers are called, and whether it is read by one.
    fn judged(mode: IoMode, kind: DiskKind, pace: &Pace) -> (bool, bool) {
        let disks = Disks::new(mode);
        disks.add(DISK, with(kind));
        disks.note_pace(pace, DISK);
        (disks.has_room(), disks.seeks(DISK))
    }

    #[test]
    fn more_workers_are_called_where_a_disk_answers_several() {
        let (soon, between, late) = (pace(usize::MAX), pace(5), pace(1));
        for (kind, pace, expected) in [
            (DiskKind::SolidState, &soon, (true, false)),
            (DiskKind::SolidState, &between, (true, false)),
            // A server at the other end of the world has no head either.
            (DiskKind::SolidState, &late, (true, false)),
            (DiskKind::Rotational, &soon, (true, false)),
            (DiskKind::Rotational, &between, (false, false)),
            (DiskKind::Rotational, &late, (false, true)),
            (DiskKind::Unknown, &soon, (true, false)),
            (DiskKind::Unknown, &between, (false, false)),
            (DiskKind::Unknown, &late, (false, false)),
        ] {
            assert_eq!(
                judged(IoMode::Auto, kind, pace),
                expected,
                "{kind:?} {pace:?}"
            );
        }
        let mut seldom = Pace::default();
        (0..9).for_each(|_| seldom.note(SOON));
        assert_eq!(
            judged(IoMode::Auto, DiskKind::SolidState, &seldom),
            (false, false)
        );
    }

    #[test]
    fn the_user_decides() {
        for pace in [pace(usize::MAX), pace(1)] {
            assert_eq!(
                judged(IoMode::Ssd, DiskKind::Rotational, &pace),
                (true, false)
            );
            assert_eq!(
                judged(IoMode::Hdd, DiskKind::SolidState, &pace),
                (false, true)
            );
        }
    }

    #[test]
    fn a_server_says_nothing_about_a_disk() {
        let disks = Disks::new(IoMode::Auto);
        disks.add(DISK, with(DiskKind::Rotational));
        disks.add(OTHER, with(DiskKind::SolidState));
        disks.note_pace(&pace(1), OTHER);
        assert!(disks.has_room());
        disks.note_pace(&pace(1), DISK);
        assert!(disks.seeks(DISK) && !disks.seeks(OTHER));
        assert!(!disks.seeks(VolumeId(3)), "unknown");
    }

    #[test]
    fn far_ahead_is_half_a_mebibyte() {
        let far = [None, Some(128 << 10), Some(512 << 10)].map(is_far_ahead);
        assert_eq!(far, [false, false, true]);
    }

    #[test]
    fn what_is_behind_a_server_has_no_head() {
        // Device number 0:0 belongs to nothing.
        assert_eq!(DiskKind::of(0, true), DiskKind::SolidState);
        assert_eq!(DiskKind::of(0, false), DiskKind::Unknown);
    }
}
