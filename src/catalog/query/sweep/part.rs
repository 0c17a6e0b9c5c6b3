//! Doing in parts what does not fit into memory at once: a range of keys, and
//! the place where several threads put what belongs to it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Most parts that are planned; there are more only if room runs out.
const MOST_PARTS: u64 = 256;

/// Keys that are looked at to find the middle.
const SAMPLE: usize = 1024;

/// The first eight bytes of a digest. Keys sort as digests do, so ties come in
/// the order of their digests. Two digests with one key and size count as one
/// group until their members are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(pub(crate) u64);

impl Key {
    /// The key of a digest; a shorter one was not written by dupescan.
    pub(crate) fn of(digest: &[u8]) -> Self {
        let mut bytes = [0; 8];
        let length = digest.len().min(8);
        bytes[..length].copy_from_slice(&digest[..length]);
        Self(u64::from_be_bytes(bytes))
    }
}

/// A range of keys, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) first: Key,
    pub(crate) last: Key,
}

/// How keys are divided, if all of them are expected to need these bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    expected: usize,
}

impl Parts {
    pub(crate) fn new(expected: usize) -> Self {
        Self { expected }
    }

    /// The part to begin with.
    pub(crate) fn first(&self, room: usize) -> Part {
        Part {
            first: Key(0),
            last: Key(self.width(room)),
        }
    }

    /// The part after one that needed `bytes`. It is as wide as the expectation
    /// allows even if that one was narrow: one crowded key must not make all later
    /// parts narrow.
    pub(crate) fn next(&self, done: Part, bytes: usize, room: usize) -> Option<Part> {
        let first = done.last.0.checked_add(1)?;
        let width = fitting(done.last.0 - done.first.0, bytes, room);
        Some(Part {
            first: Key(first),
            last: Key(first.saturating_add(width.max(self.width(room)))),
        })
    }

    fn width(&self, room: usize) -> u64 {
        fitting(u64::MAX, self.expected, room).max(u64::MAX / MOST_PARTS)
    }
}

/// The width that fits into `room`, if `width` needs `bytes`. A tenth stays free,
/// since keys are not spread evenly.
fn fitting(width: u64, bytes: usize, room: usize) -> u64 {
    let bytes = bytes.saturating_add(bytes / 10).max(1);
    let scaled = u128::from(width) * (room as u128) / (bytes as u128);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Things that take memory and have a key.
pub(crate) trait Keyed {
    /// How many there are.
    fn len(&self) -> usize;
    /// Bytes in use.
    fn bytes(&self) -> usize;
    /// Moves everything over from `other`.
    fn append(&mut self, other: &mut Self);
    /// The keys, in any order and as often as they occur.
    fn keys(&self) -> impl Iterator<Item = Key>;
    /// Drops what has a larger key.
    fn keep_up_to(&mut self, last: Key);
}

/// Collects what threads gather. When room runs out it drops the larger half of
/// its keys, which a later part reads again.
pub(crate) struct Sink<T> {
    first: Key,
    last: AtomicU64,
    room: usize,
    gathered: Mutex<T>,
}

impl<T: Keyed> Sink<T> {
    /// Fills `gathered`, which is empty but may have memory reserved.
    pub(crate) fn new(part: Part, room: usize, gathered: T) -> Self {
        Self {
            first: part.first,
            last: AtomicU64::new(part.last.0),
            room,
            gathered: Mutex::new(gathered),
        }
    }

    /// Whether a key still belongs to the part.
    pub(crate) fn takes(&self, key: Key) -> bool {
        key >= self.first && key.0 <= self.last.load(Ordering::Relaxed)
    }

    /// Moves a batch over.
    pub(crate) fn add(&self, batch: &mut T) {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        // Threads take a while to notice that the part shrank.
        batch.keep_up_to(Key(self.last.load(Ordering::Relaxed)));
        gathered.append(batch);
        while gathered.bytes() > self.room
            && let Some(last) = lower_half(&*gathered)
        {
            self.last.store(last.0, Ordering::Relaxed);
            gathered.keep_up_to(last);
        }
    }

    /// What was gathered, and the part it belongs to.
    pub(crate) fn finish(self) -> (T, Part) {
        let last = Key(self.last.into_inner());
        let gathered = self
            .gathered
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let first = self.first;
        (gathered, Part { first, last })
    }
}

/// A key with about half of all keys on each side, and at least one larger.
/// `None` if all keys are the same: that one is never divided.
fn lower_half(gathered: &impl Keyed) -> Option<Key> {
    let largest = gathered.keys().max()?;
    let step = (gathered.keys().count() / SAMPLE).max(1);
    let mut sample: Vec<Key> = gathered.keys().step_by(step).collect();
    let middle = sample.len() / 2;
    let (_, middle, _) = sample.select_nth_unstable(middle);
    match *middle < largest {
        true => Some(*middle),
        false => gathered.keys().filter(|key| *key < largest).max(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Keyed for Vec<Key> {
        fn len(&self) -> usize {
            self.len()
        }

        fn bytes(&self) -> usize {
            self.len() * 8
        }

        fn append(&mut self, other: &mut Self) {
            Vec::append(self, other);
        }

        fn keys(&self) -> impl Iterator<Item = Key> {
            self.iter().copied()
        }

        fn keep_up_to(&mut self, last: Key) {
            self.retain(|key| *key <= last);
        }
    }

    /// Runs through all parts; every key must come up exactly once.
    fn in_parts(keys: &[u64], expected: usize, room: usize) -> usize {
        let mut seen = Vec::new();
        let division = Parts::new(expected);
        let mut next = Some(division.first(room));
        let mut parts = 0;
        while let Some(part) = next {
            let sink = Sink::new(part, room, Vec::new());
            for batch in keys.chunks(10) {
                let taken = batch.iter().map(|key| Key(*key));
                sink.add(&mut taken.filter(|key| sink.takes(*key)).collect());
            }
            let (gathered, done) = sink.finish();
            parts += 1;
            assert!(parts <= 1_000, "{done:?}");
            seen.extend(gathered.iter().map(|key| key.0));
            next = division.next(done, gathered.len() * 8, room);
        }
        let mut sorted = keys.to_vec();
        sorted.sort_unstable();
        seen.sort_unstable();
        assert_eq!(seen, sorted);
        parts
    }

    #[test]
    fn every_key_comes_up_once_whatever_was_expected() {
        let spread: Vec<u64> = (0..1000).map(|i| i * (u64::MAX / 999)).collect();
        assert_eq!(in_parts(&spread, 8_000, usize::MAX), 1);
        for expected in [0, 8_000, 80_000, usize::MAX / 2] {
            for room in [800, 4_000, 7_999] {
                in_parts(&spread, expected, room);
            }
        }
    }

    #[test]
    fn estimates_make_about_as_many_parts_as_are_needed() {
        let spread: Vec<u64> = (0..1000).map(|i| i * (u64::MAX / 999)).collect();
        assert!(in_parts(&spread, 8_000, 800) <= 14);
    }

    #[test]
    fn one_key_that_has_no_room_is_taken_whole() {
        let mut keys = vec![1 << 40; 500];
        keys.extend([0, 1, u64::MAX, u64::MAX]);
        assert!(in_parts(&keys, 4_000, 80) < 20);
        assert_eq!(in_parts(&keys, 0, 1), 4);
        in_parts(&[], 0, 80);
    }
}
