//! Reading files whole up to a size and of others the head and the tail, and
//! reading ahead where they come from a disk rather than from memory.

use std::io;
use std::time::Instant;

use crate::access::content::read_sample;
use crate::access::{is_racy, is_unchanged};
use crate::catalog::{Sample, SampleHash};
use crate::hash::{digest_all, probe};
use crate::model::sampling::{LONGEST_SAMPLE, is_short, sample_length, stretches};
use crate::model::{Algorithm, FileState, VolumeId};
use crate::platform::{AlignedBuffer, OpenFile};
use crate::scan::devices::{Pace, Share};

/// Files that are asked for ahead of being read.
pub(crate) const WINDOW: usize = 64;
/// Room for short files that are hashed together: for many, so that several are
/// hashed at once for long, but no more than the processor has at hand. Each of them
/// begins on a page of its own.
const ROOM: usize = 512 * 1024;
const PAGE: usize = AlignedBuffer::PAGE;

/// One worker's means to take samples.
pub(crate) struct SampleReader {
    /// For short files, and how much of it they use.
    short: AlignedBuffer,
    used: usize,
    /// For any other file.
    long: AlignedBuffer,
    pace: Pace,
    volume: Option<VolumeId>,
    /// Files that were read among those listed lately.
    wanted: Share,
}

/// What was read of a file that was found unchanged.
pub(crate) struct Taken {
    /// Where it is, if the file is short.
    start: usize,
    size: u64,
    racy: bool,
}

impl SampleReader {
    pub(crate) fn new() -> Self {
        Self {
            short: AlignedBuffer::new(ROOM),
            used: 0,
            long: AlignedBuffer::new(LONGEST_SAMPLE),
            pace: Pace::default(),
            volume: None,
            wanted: Share::default(),
        }
    }

    /// Notes whether a file that was listed is to be read.
    pub(crate) fn note_wanted(&mut self, is_wanted: bool) {
        self.wanted.note(is_wanted);
    }

    /// Whether by far the most files are read.
    pub(crate) fn reads_most(&self) -> bool {
        self.wanted.is_above(6 * Share::EIGHTH)
    }

    /// Whether it pays to ask for files ahead of reading them.
    pub(crate) fn waits_for_disk(&self) -> bool {
        self.pace.is_slow()
    }

    /// How long its reads take.
    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// The next reads are from this volume: those from another say nothing about
    /// it.
    pub(crate) fn turn_to(&mut self, volume: VolumeId) {
        if self.volume.replace(volume) != Some(volume) {
            self.pace = Pace::default();
        }
    }

    /// Asks the system to read what a sample will need.
    pub(crate) fn ask_for(file: &OpenFile, size: u64) {
        for (offset, length) in stretches(size) {
            file.advise_will_need(offset, length as u64);
        }
    }

    /// How many of these files can be taken together: several short ones, or one.
    pub(crate) fn fitting(sizes: impl IntoIterator<Item = u64>) -> usize {
        let mut used = 0;
        let fits = |size: &u64| {
            used += room_of(*size);
            used <= ROOM
        };
        sizes.into_iter().take_while(fits).count().max(1)
    }

    /// Whether a file can be taken together with those that were not hashed yet.
    pub(crate) fn has_room_for(&self, size: u64) -> bool {
        self.used + room_of(size) <= ROOM
    }

    /// Reads what a sample needs, since the moment `began` or later; `None` when
    /// the file changed under the reader. A short file keeps its place until it is
    /// hashed.
    pub(crate) fn take(
        &mut self,
        file: &OpenFile,
        state: &FileState,
        began: i64,
    ) -> io::Result<Option<Taken>> {
        let clock = Instant::now();
        let size = state.size;
        let start = self.used;
        let buffer = match is_short(size) {
            true => &mut self.short[start..],
            false => &mut self.long[..],
        };
        let is_whole = read_sample(file, buffer, |chunk, offset| file.read_at(chunk, offset))?;
        self.pace.note(clock.elapsed());
        let is_unchanged = is_whole && is_unchanged(file)?;
        if is_unchanged && is_short(size) {
            self.used += room_of(size);
        }
        Ok(is_unchanged.then_some(Taken {
            start,
            size,
            racy: is_racy(state, began),
        }))
    }

    /// The hashes of what was taken: of one file, or of several short ones.
    pub(crate) fn hash(&mut self, taken: &[Taken], algorithm: Algorithm) -> Vec<Sample> {
        if let [taken] = taken
            && !is_short(taken.size)
        {
            let content = &self.long[..sample_length(taken.size)];
            return vec![taken.sample(SampleHash::Probe(probe(taken.size, content)))];
        }
        self.used = 0;
        let content = |taken: &Taken| &self.short[taken.start..][..sample_length(taken.size)];
        let contents: Vec<_> = taken.iter().map(content).collect();
        let digests = digest_all(algorithm, &contents).into_iter();
        let samples = digests.zip(taken);
        samples
            .map(|(digest, taken)| taken.sample(SampleHash::Digest(digest)))
            .collect()
    }
}

impl Taken {
    fn sample(&self, hash: SampleHash) -> Sample {
        Sample {
            hash,
            racy: self.racy,
        }
    }
}

/// The room that a short file takes.
fn room_of(size: u64) -> usize {
    sample_length(size).next_multiple_of(PAGE)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::hash::Hasher;
    use crate::model::now_ns;
    use crate::model::sampling::SHORT;
    use crate::platform::{Dir, Links};

    #[test]
    fn short_files_that_are_taken_together_keep_to_themselves() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_root(folder.path()).unwrap();
        let mut reader = SampleReader::new();
        let sizes = [1, PAGE - 1, PAGE, PAGE + 1, 40_000, 49_152, 2];
        for round in 0..2_u8 {
            let (mut taken, mut expected) = (Vec::new(), Vec::new());
            for (number, size) in (1..).zip(sizes) {
                let content = vec![number + 100 * round; size];
                fs::write(folder.path().join("file"), &content).unwrap();
                let file = dir.open_file("file".as_ref(), Links::Refuse).unwrap();
                let meta = &file.opened_as().meta;
                let state = FileState {
                    size: meta.size,
                    mtime_ns: meta.mtime_ns,
                    ctime_ns: meta.ctime_ns,
                    ino: None,
                };
                assert!(reader.has_room_for(state.size));
                taken.extend(reader.take(&file, &state, now_ns()).unwrap());
                expected.push(Hasher::digest(Algorithm::Sha256, &content));
            }
            let samples = reader.hash(&taken, Algorithm::Sha256);
            let hashes: Vec<_> = samples.iter().map(|sample| sample.hash).collect();
            let expected: Vec<_> = expected.into_iter().map(SampleHash::Digest).collect();
            assert_eq!(hashes, expected);
        }
    }

    #[test]
    fn as_many_are_taken_together_as_there_is_room_for() {
        assert_eq!(SampleReader::fitting([SHORT; 100]), 10);
        assert_eq!(SampleReader::fitting([1; 1_000]), ROOM / PAGE);
        assert_eq!(SampleReader::fitting([1, 2, 3]), 3);
        let mut reader = SampleReader::new();
        reader.used = ROOM - PAGE;
        assert!(reader.has_room_for(PAGE as u64) && !reader.has_room_for(PAGE as u64 + 1));
    }
}
