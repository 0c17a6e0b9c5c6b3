//! Reading the head and the tail of files, and reading ahead where they come
//! from a disk rather than from memory.

use std::io;
use std::time::{Duration, Instant};

use super::access::{is_racy, is_same};
use super::hasher::{HEAD, Hasher, TAIL, probe};
use crate::catalog::{FileState, PROBE_SPAN, Sample, SampleHash};
use crate::model::{Algorithm, now_ns};
use crate::platform::{AlignedBuffer, OpenFile};

/// Files that are asked for ahead of being read.
pub(super) const WINDOW: usize = 64;

/// One worker's means to take samples.
pub(super) struct SampleReader {
    buffer: AlignedBuffer,
    pace: Pace,
}

impl SampleReader {
    pub(super) fn new() -> Self {
        Self {
            buffer: AlignedBuffer::new(HEAD + TAIL),
            pace: Pace::default(),
        }
    }

    /// Whether it pays to ask for files ahead of reading them.
    pub(super) fn waits_for_disk(&self) -> bool {
        self.pace.is_slow()
    }

    /// Whether reads take as long as a head needs to move.
    pub(super) fn waits_for_a_head(&self) -> bool {
        self.pace.is_seeking()
    }

    /// Asks the system to read what a sample will need.
    pub(super) fn ask_for(file: &OpenFile, size: u64) {
        if size <= PROBE_SPAN {
            file.advise_will_need(0, size);
        } else {
            file.advise_will_need(0, HEAD as u64);
            file.advise_will_need(size - TAIL as u64, TAIL as u64);
        }
    }

    /// Reads head and tail; `None` when the file changed under the reader.
    pub(super) fn read(
        &mut self,
        file: &OpenFile,
        state: &FileState,
        algorithm: Algorithm,
    ) -> io::Result<Option<Sample>> {
        let began = now_ns();
        let size = state.size;
        let clock = Instant::now();
        let hash = if size <= PROBE_SPAN {
            let length = usize::try_from(size).unwrap_or(self.buffer.len());
            let whole = &mut self.buffer[..length];
            if file.read_at(whole, 0)? < length {
                return Ok(None);
            }
            self.pace.note(clock.elapsed());
            SampleHash::Digest(Hasher::digest(algorithm, &self.buffer[..length]))
        } else {
            file.advise_random();
            let (head, tail) = self.buffer.split_at_mut(HEAD);
            let is_short =
                file.read_at(head, 0)? < HEAD || file.read_at(tail, size - TAIL as u64)? < TAIL;
            if is_short {
                return Ok(None);
            }
            self.pace.note(clock.elapsed());
            SampleHash::Probe(probe(head, tail))
        };
        let is_unchanged = is_same(file.opened_as(), &file.stat()?);
        Ok(is_unchanged.then_some(Sample {
            hash,
            racy: is_racy(state, began),
        }))
    }
}

/// How long reads took lately: microseconds from memory, a hundred and more
/// from any disk. Measured, because what a disk calls itself says little.
#[derive(Debug, Default)]
struct Pace {
    average: Duration,
    /// The average over all reads, however long they took.
    unbounded: Duration,
}

impl Pace {
    /// Far above a read from memory, far below one from a disk.
    const SLOW: Duration = Duration::from_micros(60);
    /// Below what a seek and half a turn take, far above a busy solid-state or
    /// virtual disk.
    const SEEK: Duration = Duration::from_millis(3);
    /// A thread that had to wait for a processor must not count as a disk.
    const MOST: Duration = Duration::from_millis(1);

    fn note(&mut self, read: Duration) {
        self.average = (self.average * 31 + read.min(Self::MOST)) / 32;
        self.unbounded = (self.unbounded * 31 + read) / 32;
    }

    fn is_seeking(&self) -> bool {
        self.unbounded > Self::SEEK
    }

    fn is_slow(&self) -> bool {
        self.average > Self::SLOW
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
        pace.note(Duration::from_millis(50));
        assert!(!pace.is_slow(), "one slow read is no disk");
        for _ in 0..40 {
            pace.note(Duration::from_micros(200));
        }
        assert!(pace.is_slow());
        for _ in 0..100 {
            pace.note(Duration::from_micros(3));
        }
        assert!(!pace.is_slow(), "cached again");
        assert!(!pace.is_seeking());
        for _ in 0..100 {
            pace.note(Duration::from_millis(8));
        }
        assert!(pace.is_seeking());
    }
}
