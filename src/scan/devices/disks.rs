//! How the disks of a run are read. A disk with a moving head is read by one worker
//! at a time, file after file in the order in which they lie on it: two readers
//! would make it seek between them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::pace::Pace;
use crate::model::{IoMode, VolumeId};
use crate::platform::{self, Spindles, Volume};
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
    /// Whether any is far away.
    has_far: AtomicBool,
    /// Calls to far filesystems that were answered.
    far_calls: AtomicU64,
}

/// The disk of a volume, or its disks.
#[derive(Debug, Default)]
struct Disk {
    /// Whether the system was asked about it.
    is_met: bool,
    /// Whether calls to it wait for a server.
    is_far: bool,
    kind: DiskKind,
    /// Whether the system reads much of a file before it is asked for.
    reads_far_ahead: bool,
    /// What its reads showed: a [`Manner`].
    shown: AtomicU8,
    /// Whether it could answer more reads at once.
    has_room: AtomicBool,
    spindle: Arc<Spindle>,
}

/// What volumes on the same disks share.
#[derive(Debug, Default)]
struct Spindle {
    below: Spindles,
    /// Who reads now.
    readers: AtomicUsize,
}

/// What the system says about a disk. Virtual disks claim to be rotational though
/// they are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum DiskKind {
    Rotational,
    /// Or behind a server, which is nearly the same: the server knows better in
    /// which order to read.
    SolidState,
    /// No block device at all, or one that says nothing.
    #[default]
    Unknown,
}

/// How a volume is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Nothing was read of it yet, and it claims to be rotational.
    Untried,
    /// In any order, by all workers.
    Steady,
    /// In the order of its blocks: it has a head that moves.
    Seeks,
}

impl Manner {
    fn of(shown: u8) -> Self {
        match shown {
            0 => Self::Untried,
            1 => Self::Steady,
            _ => Self::Seeks,
        }
    }
}

impl DiskKind {
    fn of(spindles: &Spindles, is_network: bool) -> Self {
        match spindles.are_rotational {
            _ if is_network => Self::SolidState,
            Some(true) => Self::Rotational,
            Some(false) => Self::SolidState,
            None => Self::Unknown,
        }
    }
}

impl Disk {
    fn show(&self, manner: Manner) {
        self.shown.store(manner as u8, Ordering::Relaxed);
    }
}

impl Disk {
    /// Whether reads have just shown that it has a head; notes what else they show.
    fn is_found(&self, pace: &Pace) -> bool {
        let is_untried = self.shown.load(Ordering::Relaxed) == Manner::Untried as u8;
        match pace.verdict() {
            Some(seeks) if is_untried => {
                self.show(Manner::Steady);
                seeks
            }
            _ => false,
        }
    }
}

impl Spindle {
    /// How many may read at once: as many as there are disks.
    fn most_readers(&self) -> usize {
        self.below.disks.len().max(1)
    }

    fn try_enter(&self) -> bool {
        let enter = |readers| (readers < self.most_readers()).then_some(readers + 1);
        let entered = self
            .readers
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, enter);
        entered.is_ok()
    }
}

/// The right to read from some disks; given back when dropped.
#[derive(Debug, Default)]
pub(crate) struct Turn(Vec<Arc<Spindle>>);

impl Drop for Turn {
    fn drop(&mut self) {
        for spindle in &self.0 {
            spindle.readers.fetch_sub(1, Ordering::Release);
        }
    }
}

impl Disks {
    pub(crate) fn new(mode: IoMode) -> Self {
        Self {
            mode,
            known: Mutex::default(),
            has_room: AtomicBool::new(false),
            has_far: AtomicBool::new(false),
            far_calls: AtomicU64::new(0),
        }
    }

    /// Gets to know the disk of a volume.
    pub(crate) fn meet(&self, id: VolumeId, volume: &Volume) {
        let below = Spindles::of(volume);
        let kind = DiskKind::of(&below, volume.network);
        self.has_far.fetch_or(volume.network, Ordering::Relaxed);
        let mut known = self.lock();
        let mut others = known.values().map(|disk| &disk.spindle);
        let shared = others.find(|other| !below.disks.is_empty() && other.below == below);
        let spindle = shared.cloned().unwrap_or_else(|| {
            Arc::new(Spindle {
                below,
                ..Spindle::default()
            })
        });
        if !known.get(&id).is_some_and(|disk| disk.is_met) {
            let disk = Disk {
                is_met: true,
                is_far: volume.network,
                kind,
                reads_far_ahead: is_far_ahead(platform::read_ahead(volume.dev)),
                spindle,
                ..Disk::default()
            };
            known.insert(id, Arc::new(disk));
        }
    }

    /// Whether anything is known of the disk of a volume.
    pub(crate) fn has_met(&self, volume: VolumeId) -> bool {
        self.lock().get(&volume).is_some_and(|disk| disk.is_met)
    }

    /// Whether calls to a volume wait for a server.
    pub(crate) fn is_far(&self, volume: VolumeId) -> bool {
        self.lock().get(&volume).is_some_and(|disk| disk.is_far)
    }

    /// Whether that is so for any that was met.
    pub(crate) fn has_far(&self) -> bool {
        self.has_far.load(Ordering::Relaxed)
    }

    /// Whether that is so for all that were met.
    pub(crate) fn are_all_far(&self) -> bool {
        self.lock().values().all(|disk| disk.is_far)
    }

    /// Counts calls to far filesystems that were answered.
    pub(crate) fn count_far(&self, calls: u64) {
        self.far_calls.fetch_add(calls, Ordering::Relaxed);
    }

    /// How many there were.
    pub(crate) fn far_calls(&self) -> u64 {
        self.far_calls.load(Ordering::Relaxed)
    }

    /// Notes what the reads of a worker tell about the disk of a volume.
    pub(crate) fn note_pace(&self, pace: &Pace, volume: VolumeId) {
        if !pace.is_slow() || self.mode == IoMode::Hdd {
            return;
        }
        let disk = self.disk(volume);
        if disk.is_far {
            return;
        }
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
        if kind == DiskKind::Rotational && (pace.is_seeking() || disk.is_found(pace)) {
            disk.show(Manner::Seeks);
        } else if pace.waits() && (kind == DiskKind::SolidState || pace.is_below_seek_time()) {
            disk.has_room.store(true, Ordering::Relaxed);
            self.has_room.store(true, Ordering::Relaxed);
        }
    }

    /// Notes what reads far apart showed: nothing, where they came from memory.
    pub(crate) fn note_trial(&self, volume: VolumeId, seeks: Option<bool>) {
        match seeks {
            Some(true) => self.disk(volume).show(Manner::Seeks),
            Some(false) => self.disk(volume).show(Manner::Steady),
            None => {}
        }
    }

    /// Whether to ask for files ahead of reading them. Not before it is known whether
    /// a head moves: that would hide it.
    pub(crate) fn may_ask_ahead(&self, volume: VolumeId) -> bool {
        self.manner(volume) == Manner::Steady
    }

    /// Whether more workers than cores have something to do.
    pub(crate) fn has_room(&self) -> bool {
        self.has_room.load(Ordering::Relaxed)
    }

    /// How a volume is to be read. One that was not met yet is to be tried.
    pub(crate) fn manner(&self, volume: VolumeId) -> Manner {
        match self.mode {
            IoMode::Ssd => Manner::Steady,
            IoMode::Hdd => Manner::Seeks,
            IoMode::Auto => match self.lock().get(&volume) {
                Some(disk) if disk.is_met && disk.kind != DiskKind::Rotational => Manner::Steady,
                Some(disk) => Manner::of(disk.shown.load(Ordering::Relaxed)),
                None => Manner::Untried,
            },
        }
    }

    /// Whether a volume is to be read as a rotational disk.
    pub(crate) fn seeks(&self, volume: VolumeId) -> bool {
        self.manner(volume) == Manner::Seeks
    }

    /// Whether two volumes are on the same disks.
    pub(crate) fn share_a_head(&self, one: VolumeId, other: VolumeId) -> bool {
        one == other || Arc::ptr_eq(&self.disk(one).spindle, &self.disk(other).spindle)
    }

    /// How many may read a volume at once where a head moves.
    pub(crate) fn most_readers(&self, volume: VolumeId) -> usize {
        self.disk(volume).spindle.most_readers()
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
        let mut spindles: Vec<_> = volumes
            .iter()
            .filter(|volume| self.seeks(**volume))
            .map(|volume| Arc::clone(&self.disk(*volume).spindle))
            .collect();
        spindles.sort_by_key(Arc::as_ptr);
        spindles.dedup_by(|one, other| Arc::ptr_eq(one, other));
        let mut turn = Turn::default();
        for spindle in spindles {
            while !spindle.try_enter() {
                if context.shutdown().is_stopped() || context.is_abandoned() {
                    return turn;
                }
                std::thread::sleep(NAP);
                // Waiting here is not a stall.
                context.progress(0);
            }
            turn.0.push(spindle);
        }
        turn
    }

    fn disk(&self, volume: VolumeId) -> Arc<Disk> {
        Arc::clone(self.lock().entry(volume).or_default())
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
            is_met: true,
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
        disks.lock().insert(DISK, Arc::new(with(kind)));
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
        for (volume, kind) in [(DISK, DiskKind::Rotational), (OTHER, DiskKind::SolidState)] {
            disks.lock().insert(volume, Arc::new(with(kind)));
        }
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
        let says = |are_rotational| Spindles {
            are_rotational,
            ..Spindles::default()
        };
        assert_eq!(DiskKind::of(&says(Some(true)), true), DiskKind::SolidState);
        assert_eq!(DiskKind::of(&says(Some(true)), false), DiskKind::Rotational);
        assert_eq!(DiskKind::of(&says(None), false), DiskKind::Unknown);
    }

    #[test]
    fn what_claims_a_head_is_tried_before_it_is_believed() {
        let disks = Disks::new(IoMode::Auto);
        assert_eq!(disks.manner(DISK), Manner::Untried, "not met");
        disks
            .lock()
            .insert(DISK, Arc::new(with(DiskKind::Rotational)));
        assert_eq!(disks.manner(DISK), Manner::Untried);
        disks.note_trial(DISK, None);
        assert_eq!(disks.manner(DISK), Manner::Untried, "from memory");
        disks.note_trial(DISK, Some(false));
        assert_eq!(disks.manner(DISK), Manner::Steady);
        disks.note_pace(&pace(1), DISK);
        assert_eq!(disks.manner(DISK), Manner::Seeks, "cached ones came first");
        disks
            .lock()
            .insert(OTHER, Arc::new(with(DiskKind::SolidState)));
        assert_eq!(disks.manner(OTHER), Manner::Steady);
        for (late, expected) in [(1, Manner::Seeks), (3, Manner::Seeks), (5, Manner::Steady)] {
            let mut pace = Pace::default();
            for number in 0..25 {
                pace.note(if number % late == 0 { LATE } else { SOON });
            }
            disks
                .lock()
                .insert(OTHER, Arc::new(with(DiskKind::Rotational)));
            disks.note_pace(&pace, OTHER);
            assert_eq!(disks.manner(OTHER), expected, "one in {late}");
        }
    }

    #[test]
    fn volumes_on_the_same_disks_share_a_head() {
        let disks = Disks::new(IoMode::Hdd);
        let spindle = |names: &[&str]| {
            let below = Spindles {
                disks: names.iter().map(Into::into).collect(),
                are_rotational: Some(true),
            };
            let spindle = Spindle {
                below,
                ..Spindle::default()
            };
            Arc::new(spindle)
        };
        let add = |volume, spindle: &Arc<Spindle>| {
            let spindle = Arc::clone(spindle);
            let disk = Disk {
                spindle,
                ..with(DiskKind::Rotational)
            };
            disks.lock().insert(volume, Arc::new(disk));
        };
        let (one, array) = (spindle(&["sda"]), spindle(&["sda", "sdb"]));
        add(DISK, &one);
        add(OTHER, &one);
        add(VolumeId(3), &array);
        assert!(disks.share_a_head(DISK, OTHER));
        assert!(!disks.share_a_head(DISK, VolumeId(3)));
        let readers = [DISK, VolumeId(3)].map(|volume| disks.most_readers(volume));
        assert_eq!(readers, [1, 2]);
        assert!(one.try_enter() && !one.try_enter());
        assert!(array.try_enter() && array.try_enter() && !array.try_enter());
        drop(Turn(vec![Arc::clone(&one)]));
        assert!(one.try_enter(), "given back");
    }
}
