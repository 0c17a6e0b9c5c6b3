//! How the disks of a run are read. A disk with a moving head is read by one
//! worker at a time and file after file: two readers would make it seek
//! between them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::options::IoMode;
use super::pace::Pace;
use super::pool::WorkerContext;
use crate::model::VolumeId;
use crate::platform;

/// The longest nap between two looks at a disk that is in use.
const NAP: Duration = Duration::from_millis(2);
/// Bytes read ahead of each file that keep a disk busy where several files are
/// read at a time. What is read ahead of a file that turns out to differ is read
/// in vain, and advice to the system doubles it.
const FAR_AHEAD: u64 = 512 * 1024;

/// The disks met in a run, by volume.
#[derive(Debug)]
pub(super) struct Disks {
    mode: IoMode,
    known: Mutex<HashMap<VolumeId, Arc<Disk>>>,
    /// Whether reads wait for a disk that could answer more of them at once.
    has_room: AtomicBool,
}

#[derive(Debug, Default)]
struct Disk {
    /// Whether it says that it turns.
    says_it_turns: bool,
    /// Whether the system reads much of a file before it is asked for.
    reads_far_ahead: bool,
    /// Whether reads take as long as on one that does.
    is_slow: AtomicBool,
    is_in_use: AtomicBool,
}

/// The right to read from some disks; given back when dropped.
#[derive(Debug, Default)]
pub(super) struct Turn(Vec<Arc<Disk>>);

impl Drop for Turn {
    fn drop(&mut self) {
        for disk in &self.0 {
            disk.is_in_use.store(false, Ordering::Release);
        }
    }
}

impl Disks {
    pub(super) fn new(mode: IoMode) -> Self {
        Self {
            mode,
            known: Mutex::default(),
            has_room: AtomicBool::new(false),
        }
    }

    /// Gets to know the disk of a volume by its device number.
    pub(super) fn meet(&self, volume: VolumeId, dev: u64) {
        self.add(
            volume,
            Disk {
                says_it_turns: platform::says_it_turns(dev).unwrap_or(false),
                reads_far_ahead: platform::read_ahead(dev).is_some_and(|bytes| bytes >= FAR_AHEAD),
                ..Disk::default()
            },
        );
    }

    fn add(&self, volume: VolumeId, disk: Disk) {
        self.lock().entry(volume).or_insert_with(|| Arc::new(disk));
    }

    /// Notes what the reads of a worker tell about the disk of a volume.
    pub(super) fn note_pace(&self, pace: &Pace, volume: VolumeId) {
        // Where many ask at once, each waits for the others.
        if !pace.is_slow() || self.mode == IoMode::Hdd || self.has_room() {
            return;
        }
        let says_it_turns = self.mode == IoMode::Auto && self.says_it_turns(volume);
        if says_it_turns && pace.is_seeking() {
            self.note_slow(volume);
        } else if pace.waits() && (!says_it_turns || pace.is_without_a_head()) {
            self.has_room.store(true, Ordering::Relaxed);
        }
    }

    fn says_it_turns(&self, volume: VolumeId) -> bool {
        let known = self.lock();
        known.get(&volume).is_some_and(|disk| disk.says_it_turns)
    }

    /// Notes that reads from a volume take milliseconds. Only then is a disk
    /// believed that says it turns: virtual ones say so too.
    fn note_slow(&self, volume: VolumeId) {
        if let Some(disk) = self.lock().get(&volume) {
            disk.is_slow.store(true, Ordering::Relaxed);
        }
    }

    /// Whether more workers than cores have something to do.
    pub(super) fn has_room(&self) -> bool {
        self.has_room.load(Ordering::Relaxed)
    }

    /// Whether a volume is to be read as one with a moving head.
    pub(super) fn seeks(&self, volume: VolumeId) -> bool {
        match self.mode {
            IoMode::Ssd => false,
            IoMode::Hdd => true,
            IoMode::Auto => self
                .lock()
                .get(&volume)
                .is_some_and(|disk| disk.says_it_turns && disk.is_slow.load(Ordering::Relaxed)),
        }
    }

    /// Whether the system is better not asked to read further ahead than it does
    /// anyway.
    pub(super) fn reads_far_ahead(&self, volume: VolumeId) -> bool {
        let known = self.lock();
        known.get(&volume).is_some_and(|disk| disk.reads_far_ahead)
    }

    /// Waits until the disks of these volumes (sorted, so that nobody waits in
    /// a circle) may be read; at once for disks that do not seek. On shutdown
    /// it comes back with what it has.
    pub(super) fn turn(&self, volumes: &[VolumeId], context: &WorkerContext) -> Turn {
        let mut turn = Turn::default();
        for volume in volumes.iter().filter(|volume| self.seeks(**volume)) {
            let disk = Arc::clone(self.lock().entry(*volume).or_default());
            while disk.is_in_use.swap(true, Ordering::Acquire) {
                if context.shutdown().is_stopped() || context.is_abandoned() {
                    return turn;
                }
                std::thread::sleep(NAP);
                // Waiting here is no standstill.
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

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: VolumeId = VolumeId(1);
    const OTHER: VolumeId = VolumeId(2);

    fn turning() -> Disk {
        Disk {
            says_it_turns: true,
            ..Disk::default()
        }
    }

    /// Reads that took so long, each of them.
    fn pace(read: Duration, times: usize) -> Pace {
        let mut pace = Pace::default();
        (0..times).for_each(|_| pace.note(read));
        pace
    }

    #[test]
    fn more_workers_are_called_where_a_disk_answers_several() {
        let (soon, late) = (Duration::from_micros(300), Duration::from_millis(8));
        let called = |mode, disk: Disk, pace: Pace| {
            let disks = Disks::new(mode);
            disks.add(DISK, disk);
            disks.note_pace(&pace, DISK);
            (disks.has_room(), disks.seeks(DISK))
        };
        let often = 1_000;
        assert_eq!(
            called(IoMode::Auto, Disk::default(), pace(soon, 9)),
            (false, false)
        );
        assert_eq!(
            called(IoMode::Auto, Disk::default(), pace(soon, often)),
            (true, false)
        );
        assert_eq!(
            called(IoMode::Auto, turning(), pace(soon, often)),
            (true, false)
        );
        // A server at the other end of the world has no head either.
        assert_eq!(
            called(IoMode::Auto, Disk::default(), pace(late, often)),
            (true, false)
        );
        assert_eq!(
            called(IoMode::Auto, turning(), pace(late, often)),
            (false, true)
        );
        assert_eq!(
            called(IoMode::Ssd, turning(), pace(late, often)),
            (true, false)
        );
        assert_eq!(
            called(IoMode::Hdd, Disk::default(), pace(soon, often)),
            (false, true)
        );
    }

    #[test]
    fn a_disk_is_believed_to_turn_only_when_it_is_slow() {
        let disks = Disks::new(IoMode::Auto);
        disks.add(DISK, turning());
        disks.add(OTHER, Disk::default());
        assert!(!disks.seeks(DISK));
        disks.note_slow(DISK);
        disks.note_slow(OTHER);
        assert!(disks.seeks(DISK));
        assert!(!disks.seeks(OTHER), "a slow disk that does not turn");
        assert!(!disks.seeks(VolumeId(3)), "unknown");
    }

    #[test]
    fn the_user_decides() {
        for (mode, seeks) in [(IoMode::Ssd, false), (IoMode::Hdd, true)] {
            let disks = Disks::new(mode);
            disks.add(DISK, if seeks { Disk::default() } else { turning() });
            disks.note_slow(DISK);
            assert_eq!(disks.seeks(DISK), seeks);
        }
    }
}
