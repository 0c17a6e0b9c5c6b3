//! Reading single open files outside a scan: their digest, their probe, and
//! whether two are the same. A file that changes under the reader gives no
//! answer.

use std::io;

use crate::hash::{Hasher, probe};
use crate::model::sampling::{is_short, sample_length};
use crate::model::{Algorithm, Digest, Probe};
use crate::platform::{AlignedBuffer, OpenFile};
use crate::scan::{CHUNK, is_same, read_sample};

/// The digest of a file; `None` when it changed meanwhile.
pub fn digest_of(file: &OpenFile, algorithm: Algorithm) -> io::Result<Option<Digest>> {
    file.advise_sequential();
    let mut hasher = Hasher::new(algorithm);
    let mut buffer = AlignedBuffer::new(CHUNK);
    let mut offset = 0;
    loop {
        let length = file.read_at(&mut buffer, offset)?;
        hasher.update(&buffer[..length]);
        offset += length as u64;
        if length < buffer.len() {
            break;
        }
    }
    let is_whole = offset == file.opened_as().meta.size && is_same(file.opened_as(), &file.stat()?);
    Ok(is_whole.then(|| hasher.finish()))
}

/// The probe of a file; `None` for one too short to have a probe.
pub fn probe_of(file: &OpenFile) -> io::Result<Option<Probe>> {
    let size = file.opened_as().meta.size;
    if is_short(size) {
        return Ok(None);
    }
    let mut buffer = AlignedBuffer::new(sample_length(size));
    read_sample(file, size, &mut buffer)?;
    Ok(Some(probe(size, &buffer[..sample_length(size)])))
}

/// Whether two files hold the same bytes; `None` when one changed meanwhile.
pub fn are_equal(one: &OpenFile, other: &OpenFile) -> io::Result<Option<bool>> {
    let mut buffers = [AlignedBuffer::new(CHUNK), AlignedBuffer::new(CHUNK)];
    let mut offset = 0;
    let is_equal = loop {
        let [a, b] = &mut buffers;
        let (here, there) = (one.read_at(a, offset)?, other.read_at(b, offset)?);
        if a[..here] != b[..there] {
            break false;
        }
        offset += here as u64;
        if here < CHUNK {
            break true;
        }
    };
    let is_still =
        is_same(one.opened_as(), &one.stat()?) && is_same(other.opened_as(), &other.stat()?);
    Ok(is_still.then_some(is_equal))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
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
}
