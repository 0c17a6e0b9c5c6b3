//! Whether reads come from memory or wait for a disk, and for what kind.

use std::time::Duration;

use crate::model::VolumeId;

/// How many of the last reads, about thirty, took how long: microseconds from
/// memory, a hundred and more from any disk. Measured, because what a disk says
/// about itself is not reliable. Counted rather than averaged: on a busy machine
/// a read takes a hundred milliseconds now and then because its thread has to
/// wait for a processor, and must not look like a disk.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    volume: Option<VolumeId>,
    slow: Share,
    seeking: Share,
    /// Reads so far, and slow ones among them.
    so_far: u64,
    slow_so_far: u64,
    /// Slow reads since memory gave the last answers, and how many of them were as
    /// slow as a rotational disk.
    far_from_memory: (u32, u32),
}

impl Pace {
    /// Far above a read from memory, far below one from a disk.
    pub(crate) const SLOW: Duration = Duration::from_micros(60);
    /// Less than a seek of a rotational disk takes, far more than a read of a busy
    /// solid-state or virtual disk.
    pub(crate) const SEEK: Duration = Duration::from_millis(3);
    /// Slow reads that are no accident, and of how many reads one must have been
    /// slow: a few files that are no longer cached are no reason for more workers.
    const ENOUGH: u64 = 100;
    const ONE_IN: u64 = 64;
    /// Reads from a disk, one after the other, that say whether it has a head.
    const EVIDENCE: u32 = 16;

    /// Starts over where the next reads are from another volume: those before say
    /// nothing about it.
    pub(crate) fn turn_to(&mut self, volume: VolumeId) {
        if self.volume != Some(volume) {
            *self = Self {
                volume: Some(volume),
                ..Self::default()
            };
        }
    }

    /// Notes one read.
    pub(crate) fn note(&mut self, read: Duration) {
        let is_slow = read > Self::SLOW;
        self.slow.note(is_slow);
        self.seeking.note(read > Self::SEEK);
        self.so_far += 1;
        self.slow_so_far += u64::from(is_slow);
        self.far_from_memory = match (self.is_slow(), self.far_from_memory) {
            (false, _) => (0, 0),
            (true, (slow, seeking)) => (
                slow + u32::from(is_slow),
                seeking + u32::from(read > Self::SEEK),
            ),
        };
    }

    /// Whether the last reads came from a disk, and enough of them to tell whether it
    /// is a rotational one: `Some` of the answer then. Only where nothing was asked
    /// for ahead of being read.
    pub(crate) fn verdict(&self) -> Option<bool> {
        let is_seeking = self.far_from_memory.1 * 3 >= self.far_from_memory.0;
        (self.far_from_memory.0 >= Self::EVIDENCE).then_some(is_seeking)
    }

    /// Slower than memory, for long enough to tell.
    pub(crate) fn waits(&self) -> bool {
        let enough = Self::ENOUGH.max(self.so_far / Self::ONE_IN);
        self.slow_so_far >= enough && self.is_slow()
    }

    /// Faster than any rotational disk.
    pub(crate) fn is_below_seek_time(&self) -> bool {
        !self.seeking.is_above(Share::EIGHTH)
    }

    /// As slow as a rotational disk.
    pub(crate) fn is_seeking(&self) -> bool {
        self.seeking.is_above(2 * Share::EIGHTH)
    }

    /// Slower than memory.
    pub(crate) fn is_slow(&self) -> bool {
        self.slow.is_above(Share::EIGHTH)
    }
}

/// The share of the last answers that were yes.
#[derive(Debug, Default)]
pub(crate) struct Share(i32);

impl Share {
    const WHOLE: i32 = 1 << 16;
    pub(crate) const EIGHTH: i32 = Self::WHOLE / 8;

    pub(crate) fn note(&mut self, is_so: bool) {
        let latest = if is_so { Self::WHOLE } else { 0 };
        self.0 += (latest - self.0) / 32;
    }

    pub(crate) fn is_above(&self, share: i32) -> bool {
        self.0 > share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_follows_the_reads() {
        let mut pace = Pace::default();
        for _ in 0..1_000 {
            pace.note(Duration::from_micros(3));
        }
        assert!(!pace.is_slow());
        for _ in 0..20 {
            pace.note(Duration::from_millis(500));
            for _ in 0..30 {
                pace.note(Duration::from_micros(3));
            }
            assert!(!pace.is_slow(), "a thread that waited is no disk");
            assert!(!pace.is_seeking());
        }
        for _ in 0..40 {
            pace.note(Duration::from_micros(200));
        }
        assert!(pace.is_slow());
        assert_eq!(pace.verdict(), Some(false));
        assert!(!pace.waits(), "a few files are no reason");
        for _ in 0..Pace::ENOUGH {
            pace.note(Duration::from_micros(200));
        }
        assert!(pace.waits() && pace.is_below_seek_time(), "{pace:?}");
        for _ in 0..100 {
            pace.note(Duration::from_micros(3));
        }
        assert!(!pace.is_slow(), "cached again");
        assert_eq!(pace.verdict(), None);
        assert!(!pace.is_seeking());
        for _ in 0..100 {
            pace.note(Duration::from_millis(8));
        }
        assert!(pace.is_seeking() && !pace.is_below_seek_time());
        assert_eq!(pace.verdict(), Some(true));
        let mut warm = Pace::default();
        for _ in 0..100_000 {
            warm.note(Duration::from_micros(3));
        }
        for _ in 0..1_000 {
            warm.note(Duration::from_micros(200));
            assert!(!warm.waits(), "what memory has lost of a tree");
        }
        for _ in 0..1_000 {
            warm.note(Duration::from_micros(200));
        }
        assert!(warm.waits(), "the rest of the tree is on the disk");
    }
}
