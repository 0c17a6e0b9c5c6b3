//! Reading open files: in chunks, as a sample, and compared with each other. A
//! file that changes under the reader gives no answer.

use std::io;

use super::holes::{Holes, is_surely_sparse};
use super::state::is_unchanged;
use crate::hash::{ContentHasher, probe};
use crate::model::sampling::{ZERO_BLOCK, is_short, sample_length, stretches};
use crate::model::{Algorithm, Digest, Probe};
use crate::platform::{AlignedBuffer, OpenFile};

/// Bytes read from a file at a time. Larger chunks are not faster, not even for
/// BLAKE3.
pub(crate) const CHUNK: usize = 64 * 1024;

// Chunks are what sparse digests are made of.
const _: () = assert!(CHUNK as u64 == ZERO_BLOCK);

/// The chunks from an offset to the end of a file, each as offset and length.
/// Further ones begin at multiples of [`CHUNK`]: what an earlier run saved may
/// end anywhere.
pub(crate) fn chunks(start: u64, size: u64) -> impl Iterator<Item = (u64, usize)> {
    let chunk = CHUNK as u64;
    let mut offset = start;
    std::iter::from_fn(move || {
        let length = (chunk - offset % chunk).min(size.checked_sub(offset)?);
        offset += length;
        let length = usize::try_from(length).unwrap_or(CHUNK);
        (length > 0).then(|| (offset - length as u64, length))
    })
}

/// The digest of a file whose chunks are read by `read`, which says how many
/// bytes there were, or `None` to stop; of a hole it is asked to read nothing. `None`
/// when the file changed meanwhile, or on a stop.
pub(crate) fn digest_with(
    file: &OpenFile,
    algorithm: Algorithm,
    buffer: &mut [u8],
    mut read: impl FnMut(&mut [u8], u64) -> io::Result<Option<usize>>,
) -> io::Result<Option<Digest>> {
    file.advise_sequential();
    let size = file.opened_as().meta.size;
    let mut hasher = ContentHasher::new(algorithm, size);
    if is_surely_sparse(file) {
        hasher.expect_sparse();
    }
    let mut holes = Holes::of(file);
    let mut done = 0;
    while let Some((offset, length)) = chunks(done, size).next() {
        let zeros = holes.blocks_from(file, offset);
        let chunk = &mut buffer[..length];
        let wanted = match zeros > offset {
            true => 0,
            false => length,
        };
        if read(&mut chunk[..wanted], offset)?.is_none_or(|read| read < wanted) {
            return Ok(None);
        }
        if zeros > offset && hasher.skips_zeros() {
            hasher.skip_zeros(zeros - offset);
            done = zeros;
            continue;
        }
        chunk[wanted..].fill(0);
        hasher.update(offset, chunk);
        done = offset + length as u64;
    }
    Ok(match is_unchanged(file)? {
        true => hasher.finish(),
        false => None,
    })
}

/// The digest of a file; `None` when it changed meanwhile.
pub(crate) fn digest_of(file: &OpenFile, algorithm: Algorithm) -> io::Result<Option<Digest>> {
    // A file of a pseudo filesystem may hold more than its size says.
    if file.read_at(&mut [0], file.opened_as().meta.size)? > 0 {
        return Ok(None);
    }
    let mut buffer = AlignedBuffer::new(CHUNK);
    digest_with(file, algorithm, &mut buffer, |chunk, offset| {
        file.read_at(chunk, offset).map(Some)
    })
}

/// Reads what a sample needs with `read`, as [`digest_with`] does; `false` when
/// the file became shorter.
pub(crate) fn read_sample(
    file: &OpenFile,
    buffer: &mut [u8],
    mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
) -> io::Result<bool> {
    let [(_, head), (tail_at, tail)] = stretches(file.opened_as().meta.size);
    let (first, second) = buffer[..head + tail].split_at_mut(head);
    if tail > 0 {
        file.advise_random();
    }
    Ok(read(first, 0)? == head && (tail == 0 || read(second, tail_at)? == tail))
}

/// The probe of a file; `None` for one too short to have a probe.
pub(crate) fn probe_of(file: &OpenFile) -> io::Result<Option<Probe>> {
    let size = file.opened_as().meta.size;
    if is_short(size) {
        return Ok(None);
    }
    let length = sample_length(size);
    let mut buffer = AlignedBuffer::new(length);
    read_sample(file, &mut buffer, |chunk, offset| {
        file.read_at(chunk, offset)
    })?;
    Ok(Some(probe(size, &buffer[..length])))
}

/// Bytes that are read of one file before the other one's turn comes: on a disk
/// with a moving head every turn is a seek.
const TURN: usize = 1 << 20;

/// What comparing two files showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// They hold the same bytes.
    Equal,
    /// They do not.
    Different,
    /// One of them changed meanwhile.
    Changed,
    /// It was stopped before the end.
    Stopped,
}

/// Compares two files byte for byte, as long as `may_continue`, which is told how far
/// it is.
pub(crate) fn compare(
    one: &OpenFile,
    other: &OpenFile,
    may_continue: impl Fn(u64) -> bool,
) -> io::Result<Comparison> {
    let size = one.opened_as().meta.size;
    let mut found = Comparison::Different;
    if size == other.opened_as().meta.size {
        found = compare_chunks(one, other, size, may_continue)?;
    }
    match found {
        Comparison::Equal | Comparison::Different
            if !(is_unchanged(one)? && is_unchanged(other)?) =>
        {
            Ok(Comparison::Changed)
        }
        found => Ok(found),
    }
}

fn compare_chunks(
    one: &OpenFile,
    other: &OpenFile,
    size: u64,
    may_continue: impl Fn(u64) -> bool,
) -> io::Result<Comparison> {
    let most = usize::try_from(size).map_or(TURN, |size| size.clamp(1, TURN));
    let [mut here, mut there] = [AlignedBuffer::new(most), AlignedBuffer::new(most)];
    let [mut our_holes, mut their_holes] = [Holes::of(one), Holes::of(other)];
    let mut offset = 0;
    while offset < size {
        if !may_continue(offset) {
            return Ok(Comparison::Stopped);
        }
        let ours = our_holes.blocks_from(one, offset);
        let both = ours.min(their_holes.blocks_from(other, offset));
        if both > offset {
            offset = both;
            continue;
        }
        let length = usize::try_from(size - offset).map_or(most, |left| left.min(most));
        let (here, there) = (&mut here[..length], &mut there[..length]);
        if one.read_at(here, offset)? < length || other.read_at(there, offset)? < length {
            return Ok(Comparison::Changed);
        }
        if here != there {
            return Ok(Comparison::Different);
        }
        offset += length as u64;
    }
    Ok(Comparison::Equal)
}

/// Whether two files hold the same bytes; `None` when one changed meanwhile.
pub(crate) fn are_equal(one: &OpenFile, other: &OpenFile) -> io::Result<Option<bool>> {
    Ok(match compare(one, other, |_| true)? {
        Comparison::Equal => Some(true),
        Comparison::Different => Some(false),
        Comparison::Changed | Comparison::Stopped => None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::hash::Hasher;
    use crate::platform::{Dir, Links};

    fn open(folder: &std::path::Path, name: &str, content: &[u8]) -> OpenFile {
        fs::write(folder.join(name), content).unwrap();
        let dir = Dir::open_root(folder).unwrap();
        dir.open_file(name.as_ref(), Links::Refuse).unwrap()
    }

    #[test]
    fn files_of_every_length_are_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
            let content = vec![7; length];
            let one = open(folder.path(), "one", &content);
            let other = open(folder.path(), "other", &content);
            let digest = digest_of(&one, Algorithm::Sha256).unwrap();
            assert_eq!(digest, Some(Hasher::digest(Algorithm::Sha256, &content)));
            assert_eq!(are_equal(&one, &other).unwrap(), Some(true), "{length}");
            if length > 0 {
                let mut changed = content.clone();
                changed[length - 1] = 8;
                let other = open(folder.path(), "third", &changed);
                assert_eq!(are_equal(&one, &other).unwrap(), Some(false), "{length}");
            }
            let shorter = open(
                folder.path(),
                "fourth",
                &content[..length.saturating_sub(1)],
            );
            let expected = length == 0;
            assert_eq!(are_equal(&one, &shorter).unwrap(), Some(expected));
        }
    }

    #[test]
    fn a_file_that_changes_gives_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let one = open(folder.path(), "one", b"before");
        let other = open(folder.path(), "other", b"before");
        fs::write(folder.path().join("one"), "after!").unwrap();
        assert_eq!(digest_of(&one, Algorithm::Blake3).unwrap(), None);
        assert_eq!(are_equal(&one, &other).unwrap(), None);
    }

    #[test]
    fn chunks_follow_each_other_to_the_end_wherever_the_first_begins() {
        let chunk = CHUNK as u64;
        for size in [1, chunk - 1, chunk, chunk + 1, 5 * chunk + 77] {
            for start in [0, 64, chunk - 64, chunk, chunk + 128] {
                let mut end = start;
                for (offset, length) in chunks(start, size) {
                    assert_eq!(offset, end);
                    assert!((1..=CHUNK).contains(&length), "{offset} of {size}");
                    end += length as u64;
                    assert!(end == size || end % chunk == 0, "{offset} of {size}");
                }
                assert_eq!(end, size.max(start));
            }
        }
    }
}
