//! Sifting a class that is too large to be read in step. Each copy is read by
//! itself and gets a fingerprint of its whole content; only copies of equal
//! fingerprint are then read in step. A fingerprint that no other copy has proves
//! that its file differs from all others, without a digest.

use std::collections::BTreeMap;
use std::io;

use super::class::Class;
use super::equal_so_far::Buffers;
use crate::access::content::{CHUNK, chunks};
use crate::access::{is_racy, is_unchanged};
use crate::catalog::{FileOutcome, HashClass, WorkCopy};
use crate::hash::fingerprint;
use crate::model::now_ns;
use crate::platform::OpenFile;
use crate::scan::context::{ItemContext, Opening};
use crate::scan::engine::Item;

/// Reads the copies of a class one by one, notes those that equal no other, and
/// returns the classes that remain. A stop settles nothing.
pub(super) fn sift(
    item: &mut ItemContext<'_>,
    class: &Class<'_>,
    buffers: &mut Buffers,
) -> Vec<HashClass> {
    let mut sifting = Sifting {
        kinds: BTreeMap::new(),
        must_digest: class.must_digest,
    };
    let mut chunk = buffers.take(CHUNK);
    for (part, copy) in class.copies.iter().enumerate() {
        item.worker.set_part(part);
        let racy = is_racy(&copy.state, now_ns());
        sifting.add(copy, racy, read(item, copy, &mut chunk));
        if item.is_stopped() {
            return Vec::new();
        }
    }
    buffers.give_back(chunk);
    let (alone, classes) = sifting.finish(class.size);
    for (copy, racy) in alone {
        item.run.metrics.files_hashed.add(1);
        item.run.metrics.bytes_hashed.add(class.size);
        item.learned(copy, FileOutcome::Settled { racy });
    }
    classes
}

/// The copies read so far.
struct Sifting<'c> {
    /// By fingerprint; each with whether it is too fresh to trust its times.
    kinds: BTreeMap<u64, Vec<(&'c WorkCopy, bool)>>,
    must_digest: bool,
}

impl<'c> Sifting<'c> {
    fn add(&mut self, copy: &'c WorkCopy, racy: bool, fingerprint: Option<u64>) {
        match fingerprint {
            Some(fingerprint) => {
                let same = self.kinds.entry(fingerprint).or_default();
                same.push((copy, racy));
            }
            // One that is missing may equal any other.
            None => self.must_digest = true,
        }
    }

    /// The copies that equal no other, and the classes that remain.
    fn finish(self, size: u64) -> (Vec<(&'c WorkCopy, bool)>, Vec<HashClass>) {
        let must_digest = self.must_digest;
        let (mut alone, mut classes) = (Vec::new(), Vec::new());
        for mut same in self.kinds.into_values() {
            if same.len() == 1 && !must_digest {
                alone.append(&mut same);
                continue;
            }
            classes.push(HashClass {
                size,
                must_digest,
                copies: same.into_iter().map(|(copy, _)| copy.clone()).collect(),
            });
        }
        (alone, classes)
    }
}

/// The fingerprint of a copy; `None` when there is none, which was noted.
fn read(item: &mut ItemContext<'_>, copy: &WorkCopy, chunk: &mut [u8]) -> Option<u64> {
    let again = || Item::hash_alone(copy);
    let Opening::Opened(file, _) = item.open(copy, again) else {
        return None;
    };
    match fingerprint_of(item, &file, chunk) {
        Ok(Some(fingerprint)) => return Some(fingerprint),
        Ok(None) => item.changed(copy, &file),
        Err(error) => item.failed(copy, &error, again),
    }
    None
}

/// The fingerprint of the whole file; `None` if it changed.
fn fingerprint_of(
    item: &mut ItemContext<'_>,
    file: &OpenFile,
    buffer: &mut [u8],
) -> io::Result<Option<u64>> {
    file.advise_sequential();
    let mut all = 0;
    for (offset, length) in chunks(0, file.opened_as().meta.size) {
        let chunk = &mut buffer[..length];
        if item.read(file, chunk, offset)? < length {
            return Ok(None);
        }
        all = fingerprint(all, chunk);
    }
    Ok(is_unchanged(file)?.then_some(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FileState, FolderId, VolumeId};

    fn copies(count: u64) -> Vec<WorkCopy> {
        let copy = |number: u64| WorkCopy {
            names: vec![(FolderId(1), number.to_string().into())],
            state: FileState {
                ino: Some(number),
                size: 100_000,
                ..FileState::default()
            },
            volume: VolumeId(1),
        };
        (0..count).map(copy).collect()
    }

    /// Copies that are alone, with whether they are racy.
    type Alone = Vec<(u64, bool)>;
    /// The members of classes, with whether they must get a digest.
    type Classes = Vec<(Vec<u64>, bool)>;

    /// Copies of these fingerprints, the first of them racy.
    fn sifted(fingerprints: &[Option<u64>]) -> (Alone, Classes) {
        let copies = copies(fingerprints.len() as u64);
        let mut sifting = Sifting {
            kinds: BTreeMap::new(),
            must_digest: false,
        };
        for (number, (copy, fingerprint)) in copies.iter().zip(fingerprints).enumerate() {
            sifting.add(copy, number == 0, *fingerprint);
        }
        let (alone, classes) = sifting.finish(100_000);
        let number = |copy: &WorkCopy| copy.state.ino.unwrap();
        let alone = alone.iter().map(|(copy, racy)| (number(copy), *racy));
        let classes = classes.iter().map(|class| {
            let members = class.copies.iter().map(number).collect();
            (members, class.must_digest)
        });
        (alone.collect(), classes.collect())
    }

    #[test]
    fn copies_of_one_fingerprint_stay_together_and_others_are_done() {
        let (alone, classes) = sifted(&[5, 7, 6, 7, 9, 6].map(Some));
        assert_eq!(alone, [(0, true), (4, false)]);
        assert_eq!(classes, [(vec![2, 5], false), (vec![1, 3], false)]);
    }

    #[test]
    fn a_missing_fingerprint_leaves_nobody_alone() {
        let (alone, classes) = sifted(&[Some(1), None, Some(2), Some(1)]);
        assert!(alone.is_empty());
        assert_eq!(classes, [(vec![0, 3], true), (vec![2], true)]);
    }
}
