//! The classes to read whole, those first that would free most: bundled where
//! they are small, sifted first where they are too large to be read in step.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::compare::{AT_ONCE_FROM_DISK, copies_in_step};
use super::probe::result;
use crate::catalog::{Candidates, FileOutcome, HashClass, Record, WorkCopy};
use crate::hash::Hasher;
use crate::model::Limits;
use crate::scan::context::Shared;
use crate::scan::engine::{Held, Item, ItemResult, SiftItem, Sifted, Source};
use crate::scan::error::ScanError;
use crate::scan::observe::Metrics;

/// Bytes of classes in one item, beyond those that are read at once.
const SMALL_CLASSES: u64 = 32 << 20;
/// Largest files of a class that is sifted, and most bytes in them. Files that
/// turn out equal are read twice, and the second time should find them in the
/// page cache; a kill loses what was sifted.
const SIFTED_SIZE: u64 = 1 << 20;
const SIFTED_BYTES: u64 = 2 << 30;
/// Files in one sifting item, and in one record of what it settled.
const SIFT_BATCH: usize = 64;

/// The classes of a scan, those first that would free most.
pub(crate) struct Classes {
    keeper: Keeper,
    /// Number of copies in all.
    pub(crate) files: u64,
    /// Bytes in them.
    pub(crate) bytes: u64,
}

/// Where the classes are kept.
enum Keeper {
    Catalog(Box<Candidates>),
    Memory(std::vec::IntoIter<HashClass>),
}

/// Classes to read in step, or to sift first.
pub(crate) struct HashSource {
    classes: Classes,
    shared: Arc<Shared>,
    metrics: Arc<Metrics>,
    /// Copies of one class that are read in step.
    in_step: usize,
    limits: Limits,
    /// Bytes of classes that were not handed out.
    left: u64,
    waiting: VecDeque<HashClass>,
    sifting: Option<Sifting>,
}

impl Classes {
    /// Classes that a first scan remembered.
    pub(crate) fn of(classes: Vec<HashClass>) -> Self {
        Self {
            files: classes.iter().map(|class| class.copies.len() as u64).sum(),
            bytes: classes.iter().map(total_size).sum(),
            keeper: Keeper::Memory(classes.into_iter()),
        }
    }

    fn next(&mut self) -> Result<Option<HashClass>, ScanError> {
        match &mut self.keeper {
            Keeper::Catalog(candidates) => Ok(candidates.next_class()?),
            Keeper::Memory(classes) => Ok(classes.next()),
        }
    }
}

impl From<Candidates> for Classes {
    fn from(candidates: Candidates) -> Self {
        Self {
            files: candidates.files,
            bytes: candidates.bytes,
            keeper: Keeper::Catalog(Box::new(candidates)),
        }
    }
}

impl HashSource {
    /// A source for workers within these limits.
    pub(crate) fn new(
        classes: Classes,
        shared: Arc<Shared>,
        metrics: Arc<Metrics>,
        limits: &Limits,
    ) -> Self {
        Self {
            left: classes.bytes,
            classes,
            in_step: copies_in_step(&shared),
            shared,
            metrics,
            limits: limits.clone(),
            waiting: VecDeque::new(),
            sifting: None,
        }
    }

    /// Makes the next class ready, if there is one; one that has to be sifted
    /// is not waiting afterwards.
    fn fetch(&mut self) -> Result<(), ScanError> {
        if !self.waiting.is_empty() {
            return Ok(());
        }
        let Some(class) = self.classes.next()? else {
            return Ok(());
        };
        if self.is_to_be_sifted(&class) {
            self.sifting = Some(Sifting::new(class));
        } else {
            let in_step = self.in_step_of(&class);
            self.waiting = class.split(in_step).into();
        }
        Ok(())
    }

    /// Copies of a class that are read in step: one where a head would move
    /// between them.
    fn in_step_of(&self, class: &HashClass) -> usize {
        let mut copies = class.copies.iter();
        match copies.any(|copy| self.shared.disks.seeks(copy.volume)) {
            true => 1,
            false => self.in_step,
        }
    }

    fn is_to_be_sifted(&self, class: &HashClass) -> bool {
        class.copies.len() > self.in_step
            && !class.must_digest
            && class.size <= SIFTED_SIZE
            && total_size(class) <= SIFTED_BYTES
            && !self.is_slow()
            && self.in_step_of(class) > 1
    }

    /// Under `--bwlimit` the processor has time to spare, and results should
    /// come one by one.
    fn is_slow(&self) -> bool {
        self.shared.throttle.is_some()
    }

    /// How many workers there are, and how many classes each reads at a time.
    /// Where reads wait for a disk, more workers with fewer classes each.
    fn readers(&self) -> (usize, usize) {
        match self.shared.disks.has_room() {
            true => (self.limits.most_workers(), AT_ONCE_FROM_DISK),
            false => (
                self.limits.workers,
                Hasher::at_once(self.shared.algorithm).max(AT_ONCE_FROM_DISK),
            ),
        }
    }

    /// As many classes as are hashed at once, and more where they are small; but
    /// no item is larger than a worker's share of what is left, so that all have
    /// something to do to the end.
    fn bundle(&mut self) -> Result<Vec<HashClass>, ScanError> {
        let (workers, at_once) = self.readers();
        let share = self.left / workers as u64;
        let mut bytes = 0;
        let mut classes = Vec::new();
        loop {
            self.fetch()?;
            let Some(class) = self.waiting.front() else {
                return Ok(classes);
            };
            bytes += total_size(class);
            let is_enough = self.is_slow() || classes.len() >= at_once && bytes > SMALL_CLASSES;
            let is_too_much = bytes > share;
            if !classes.is_empty() && (is_enough || is_too_much) {
                return Ok(classes);
            }
            self.left = self.left.saturating_sub(total_size(class));
            classes.extend(self.waiting.pop_front());
        }
    }

    /// Copies that no other agrees with are done; the others are read in step.
    fn end_sifting(&mut self, sifting: Sifting) -> Result<(), ScanError> {
        let size = sifting.class.size;
        let (alone, classes) = sifting.end();
        self.metrics.files_hashed.add(alone.len() as u64);
        self.metrics.bytes_hashed.add(size * alone.len() as u64);
        self.left = self.left.saturating_sub(size * alone.len() as u64);
        for batch in alone.chunks(SIFT_BATCH) {
            let settle =
                |(copy, racy): &(_, bool)| result(copy, FileOutcome::Settled { racy: *racy });
            self.shared.writer.send(Record::Files {
                scan: self.shared.lead,
                bytes_read: 0,
                results: batch.iter().map(settle).collect(),
            })?;
        }
        let parts = classes.into_iter().map(|class| class.split(self.in_step));
        self.waiting.extend(parts.flatten());
        Ok(())
    }
}

impl Source for HashSource {
    fn next(&mut self) -> Result<Option<Item>, ScanError> {
        if let Some(over) = self.sifting.take_if(|sifting| sifting.is_over()) {
            self.end_sifting(over)?;
        }
        // Nothing else meanwhile: what is kept of one class is enough.
        if let Some(sifting) = &mut self.sifting {
            return Ok(sifting.next_batch());
        }
        let classes = self.bundle()?;
        if classes.is_empty() {
            return Ok(self.sifting.as_mut().and_then(Sifting::next_batch));
        }
        Ok(Some(Item::Hash(classes)))
    }

    fn accept(&mut self, found: ItemResult) {
        if let (Some(sifting), ItemResult::Sifted(mut sifted)) = (&mut self.sifting, found) {
            sifting.take_in(&mut sifted);
        }
    }

    /// Copies that failed or changed never report: a sifting is over when
    /// nothing is under way.
    fn refill(&mut self, _: Held) -> Result<bool, ScanError> {
        Ok(self.sifting.as_mut().is_some_and(Sifting::give_up_waiting))
    }
}

/// A class whose copies are read one by one.
struct Sifting {
    class: HashClass,
    found: Vec<Option<Sifted>>,
    /// Copies handed out, and copies that were reported.
    handed_out: usize,
    reported: usize,
    is_given_up: bool,
}

impl Sifting {
    fn new(class: HashClass) -> Self {
        Self {
            found: vec![None; class.copies.len()],
            class,
            handed_out: 0,
            reported: 0,
            is_given_up: false,
        }
    }

    fn next_batch(&mut self) -> Option<Item> {
        let copies = self.class.copies.iter().enumerate();
        let batch = copies.skip(self.handed_out).take(SIFT_BATCH);
        let copies: Vec<_> = batch.map(|(at, copy)| (at, copy.clone())).collect();
        self.handed_out += copies.len();
        let size = self.class.size;
        (!copies.is_empty()).then_some(Item::Sift(SiftItem { size, copies }))
    }

    fn take_in(&mut self, sifted: &mut Vec<Sifted>) {
        for sifted in sifted.drain(..) {
            let found = &mut self.found[sifted.at];
            self.reported += usize::from(found.is_none());
            *found = Some(sifted);
        }
    }

    fn is_over(&self) -> bool {
        self.is_given_up || self.reported == self.found.len()
    }

    fn give_up_waiting(&mut self) -> bool {
        self.is_given_up = true;
        true
    }

    /// The copies that no other agrees with, each with whether it is racy, and
    /// the classes that remain. Without a fingerprint of every copy nothing is
    /// known to be alone: then all must be compared by digest.
    fn end(self) -> (Vec<(WorkCopy, bool)>, Vec<HashClass>) {
        let is_complete = self.reported == self.found.len();
        // In the order of the copies, which is that of their inodes.
        let mut kinds: Vec<Vec<(WorkCopy, bool)>> = Vec::new();
        let mut kind_of: HashMap<u64, usize> = HashMap::new();
        for (copy, found) in self.class.copies.into_iter().zip(self.found) {
            let Some(found) = found else { continue };
            let kind = *kind_of.entry(found.fingerprint).or_insert(kinds.len());
            if kind == kinds.len() {
                kinds.push(Vec::new());
            }
            kinds[kind].push((copy, found.racy));
        }
        let (mut alone, mut classes) = (Vec::new(), Vec::new());
        for mut same in kinds {
            if is_complete && same.len() == 1 {
                alone.append(&mut same);
            } else {
                classes.push(HashClass {
                    size: self.class.size,
                    must_digest: !is_complete,
                    copies: same.into_iter().map(|(copy, _)| copy).collect(),
                });
            }
        }
        (alone, classes)
    }
}

fn total_size(class: &HashClass) -> u64 {
    class.size * class.copies.len() as u64
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::model::{FileState, FolderId, VolumeId};

    fn class(copies: usize) -> HashClass {
        let copy = |number: usize| WorkCopy {
            names: vec![(FolderId(1), OsString::from(number.to_string()))],
            state: FileState {
                ino: Some(number as u64),
                size: 100_000,
                mtime_ns: 0,
                ctime_ns: 0,
            },
            volume: VolumeId(1),
        };
        HashClass {
            size: 100_000,
            must_digest: false,
            copies: (0..copies).map(copy).collect(),
        }
    }

    fn numbers<'c>(copies: impl IntoIterator<Item = &'c WorkCopy>) -> Vec<u64> {
        let inodes = copies.into_iter().map(|copy| copy.state.ino.unwrap());
        inodes.collect()
    }

    /// Reports a fingerprint for each copy that has one.
    fn report(sifting: &mut Sifting, fingerprints: &[Option<u64>]) {
        let found = |(at, fingerprint): (usize, &Option<u64>)| {
            Some(Sifted {
                at,
                fingerprint: (*fingerprint)?,
                racy: at == 0,
            })
        };
        let mut sifted = fingerprints.iter().enumerate().filter_map(found).collect();
        sifting.take_in(&mut sifted);
    }

    #[test]
    fn copies_of_one_fingerprint_stay_together_and_others_are_done() {
        let mut sifting = Sifting::new(class(6));
        report(&mut sifting, &[5, 7, 6, 7, 9, 6].map(Some));
        assert!(sifting.is_over());
        let (alone, classes) = sifting.end();
        assert_eq!(numbers(alone.iter().map(|(copy, _)| copy)), [0, 4]);
        assert_eq!([alone[0].1, alone[1].1], [true, false]);
        let together: Vec<_> = classes.iter().map(|class| numbers(&class.copies)).collect();
        assert_eq!(together, [[1, 3], [2, 5]]);
        assert!(classes.iter().all(|class| !class.must_digest));
    }

    #[test]
    fn a_missing_fingerprint_leaves_nobody_alone() {
        let mut sifting = Sifting::new(class(4));
        report(&mut sifting, &[Some(1), None, Some(2), Some(1)]);
        assert!(!sifting.is_over(), "the missing one may still come");
        assert!(sifting.give_up_waiting() && sifting.is_over());
        let (alone, classes) = sifting.end();
        assert!(alone.is_empty());
        let together: Vec<_> = classes.iter().map(|class| numbers(&class.copies)).collect();
        assert_eq!(together, [vec![0, 3], vec![2]]);
        assert!(classes.iter().all(|class| class.must_digest));
    }

    #[test]
    fn every_copy_is_handed_out_once() {
        let mut sifting = Sifting::new(class(150));
        let mut seen = Vec::new();
        while let Some(Item::Sift(item)) = sifting.next_batch() {
            seen.extend(item.copies.iter().map(|(at, _)| *at));
        }
        assert_eq!(seen, (0..150).collect::<Vec<_>>());
    }
}
