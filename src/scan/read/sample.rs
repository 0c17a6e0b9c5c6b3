//! Samples: what is read of a file before it is known whether it must be read
//! whole. Short files that are sampled together are hashed together.

use std::io;
use std::ops::Range;

use crate::access::content::read_sample;
use crate::access::{can_change_unseen, is_unchanged};
use crate::catalog::{Sample, SampleHash};
use crate::hash::{digest_all, probe};
use crate::model::sampling::{is_short, sample_length, stretches};
use crate::model::{Algorithm, FileState, Probe, now_ns};
use crate::platform::{AlignedBuffer, OpenFile};
use crate::scan::devices::Share;

/// Files that are asked for ahead of being read, where reads wait for a disk.
pub(super) const WINDOW: usize = 64;
/// Room for files that are hashed together: for many, so that several are hashed
/// at once for long, but no more than the processor's cache holds. Each of them
/// begins on a page of its own.
const ROOM: usize = 512 * 1024;

/// What a worker keeps from one batch to the next.
pub(crate) struct Sampler {
    buffer: AlignedBuffer,
    /// Files that were read among those listed lately.
    wanted: Share,
}

impl Sampler {
    pub(crate) fn new() -> Self {
        Self {
            buffer: AlignedBuffer::new(ROOM),
            wanted: Share::default(),
        }
    }

    /// Notes whether a file that was listed is to be read.
    pub(super) fn note_wanted(&mut self, is_wanted: bool) {
        self.wanted.note(is_wanted);
    }

    /// Whether by far the most files are read.
    pub(crate) fn reads_most(&self) -> bool {
        self.wanted.is_above(6 * Share::EIGHTH)
    }

    /// An empty batch.
    pub(super) fn batch<T>(&mut self) -> SampleBatch<'_, T> {
        SampleBatch {
            buffer: &mut self.buffer,
            used: 0,
            files: Vec::new(),
        }
    }
}

/// Files that were read, each with whoever wants its sample.
pub(super) struct SampleBatch<'b, T> {
    buffer: &'b mut AlignedBuffer,
    used: usize,
    files: Vec<Sampled<T>>,
}

struct Sampled<T> {
    owner: T,
    content: Content,
    racy: bool,
}

enum Content {
    /// Of a short file, in the buffer.
    Waiting(Range<usize>),
    /// Of any other.
    Probed(Probe),
}

impl<T> SampleBatch<'_, T> {
    /// Whether a file of this size fits into what is left; always into an empty
    /// batch.
    pub(super) fn has_room_for(&self, size: u64) -> bool {
        self.used + sample_length(size) <= ROOM
    }

    /// Reads what a sample needs with `read`; `false` when the file changed under
    /// the reader.
    pub(super) fn add(
        &mut self,
        owner: T,
        file: &OpenFile,
        state: &FileState,
        read: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
    ) -> io::Result<bool> {
        let racy = can_change_unseen(file, state, now_ns());
        let place = self.used..self.used + sample_length(state.size);
        let buffer = &mut self.buffer[place.clone()];
        if !read_sample(file, buffer, read)? || !is_unchanged(file)? {
            return Ok(false);
        }
        let content = match is_short(state.size) {
            true => {
                self.used = place.end.next_multiple_of(AlignedBuffer::PAGE);
                Content::Waiting(place)
            }
            false => Content::Probed(probe(state.size, buffer)),
        };
        self.files.push(Sampled {
            owner,
            content,
            racy,
        });
        Ok(true)
    }

    /// The samples of all files in the batch, which is empty afterwards.
    pub(super) fn finish(&mut self, algorithm: Algorithm) -> Vec<(T, Sample)> {
        let short = self.files.iter().filter_map(|file| match &file.content {
            Content::Waiting(place) => Some(&self.buffer[place.clone()]),
            Content::Probed(_) => None,
        });
        let mut digests = digest_all(algorithm, &short.collect::<Vec<_>>()).into_iter();
        self.used = 0;
        let samples = self.files.drain(..).map(|file| {
            let hash = match file.content {
                Content::Probed(probe) => SampleHash::Probe(probe),
                Content::Waiting(_) => {
                    let digest = digests.next();
                    SampleHash::Digest(digest.expect("there is one for each short file"))
                }
            };
            let racy = file.racy;
            (file.owner, Sample { hash, racy })
        });
        samples.collect()
    }
}

/// Asks the system to read what a sample will need.
pub(super) fn ask_for(file: &OpenFile, size: u64) {
    for (offset, length) in stretches(size) {
        file.advise_will_need(offset, length as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::hash::Hasher;
    use crate::model::sampling::{HEAD, SHORT, TAIL, WHOLE};
    use crate::platform::{Dir, Links};

    /// The hash that a sample of this content should give.
    fn expected(content: &[u8]) -> SampleHash {
        let size = content.len() as u64;
        if size <= SHORT {
            return SampleHash::Digest(Hasher::digest(Algorithm::Sha256, content));
        }
        if size <= WHOLE {
            return SampleHash::Probe(probe(size, content));
        }
        let tail = &content[content.len() - TAIL..];
        SampleHash::Probe(probe(size, &[&content[..HEAD], tail].concat()))
    }

    #[test]
    fn files_that_are_sampled_together_keep_to_themselves() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_root(folder.path()).unwrap();
        let mut sampler = Sampler::new();
        let mut batch = sampler.batch();
        let page = AlignedBuffer::PAGE;
        let sizes = [
            1,
            page - 1,
            page,
            60_000,
            page + 1,
            40_000,
            90_000,
            49_152,
            2,
        ];
        for round in 0..2_u8 {
            let mut hashes = Vec::new();
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
                assert!(batch.has_room_for(state.size));
                let read = |chunk: &mut [u8], at| file.read_at(chunk, at);
                assert!(batch.add(number, &file, &state, read).unwrap());
                hashes.push((number, expected(&content)));
            }
            let samples = batch.finish(Algorithm::Sha256).into_iter();
            let samples: Vec<_> = samples
                .map(|(number, sample)| (number, sample.hash))
                .collect();
            assert_eq!(samples, hashes);
        }
    }

    #[test]
    fn a_batch_ends_where_there_is_no_room() {
        let mut sampler = Sampler::new();
        let mut batch: SampleBatch<'_, ()> = sampler.batch();
        assert!(batch.has_room_for(u64::MAX));
        batch.used = ROOM - AlignedBuffer::PAGE;
        let page = AlignedBuffer::PAGE as u64;
        assert!(batch.has_room_for(page) && !batch.has_room_for(page + 1));
    }
}
