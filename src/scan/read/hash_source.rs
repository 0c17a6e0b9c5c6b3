//! The classes to read whole, those first that would save most, bundled where
//! they are small.

use std::collections::VecDeque;
use std::sync::Arc;
use std::vec::IntoIter;

use super::compare::{classes_at_once, copies_in_step};
use crate::catalog::{Candidates, HashClass};
use crate::model::Limits;
use crate::scan::context::RunContext;
use crate::scan::engine::{Item, ItemResult, Source};
use crate::scan::error::ScanError;

/// Bytes of classes in one item, beyond those that are read at once.
const SMALL_CLASSES: u64 = 32 << 20;
/// Largest files of a class that is sifted, and most bytes in them: one worker
/// reads all of them, and those that turn out equal are read again, which should
/// find them in memory.
const SIFTED_SIZE: u64 = 1 << 20;
const SIFTED_BYTES: u64 = 256 << 20;

/// The classes of a scan, those first that would save most.
pub(crate) struct Classes {
    source: ClassSource,
    /// Number of copies in all.
    pub(crate) files: u64,
    /// Bytes in them.
    pub(crate) bytes: u64,
}

/// Where the classes come from.
enum ClassSource {
    Catalog(Box<Candidates>),
    Memory(IntoIter<HashClass>),
}

/// Classes to read in step.
pub(crate) struct HashSource {
    classes: Classes,
    run: Arc<RunContext>,
    limits: Limits,
    /// Bytes of classes that were not handed out.
    left: u64,
    waiting: VecDeque<HashClass>,
}

impl Classes {
    /// Classes that a first scan remembered.
    pub(crate) fn of(classes: Vec<HashClass>) -> Self {
        Self {
            files: classes.iter().map(|class| class.copies.len() as u64).sum(),
            bytes: classes.iter().map(total_size).sum(),
            source: ClassSource::Memory(classes.into_iter()),
        }
    }

    fn next(&mut self) -> Result<Option<HashClass>, ScanError> {
        match &mut self.source {
            ClassSource::Catalog(candidates) => Ok(candidates.next_class()?),
            ClassSource::Memory(classes) => Ok(classes.next()),
        }
    }
}

impl From<Candidates> for Classes {
    fn from(candidates: Candidates) -> Self {
        Self {
            files: candidates.files,
            bytes: candidates.bytes,
            source: ClassSource::Catalog(Box::new(candidates)),
        }
    }
}

impl HashSource {
    /// A source for workers within these limits.
    pub(crate) fn new(classes: Classes, run: Arc<RunContext>, limits: &Limits) -> Self {
        Self {
            left: classes.bytes,
            classes,
            run,
            limits: limits.clone(),
            waiting: VecDeque::new(),
        }
    }

    /// Makes the next class ready, if there is one.
    fn fetch(&mut self) -> Result<(), ScanError> {
        if self.waiting.is_empty()
            && let Some(class) = self.classes.next()?
        {
            self.wait_for(class);
        }
        Ok(())
    }

    /// A class that is too large to be read in step is sifted, or split into
    /// parts that are compared by digest.
    fn wait_for(&mut self, class: HashClass) {
        if self.is_to_be_sifted(&class) {
            self.waiting.push_back(class);
        } else {
            let in_step = self.in_step(&class);
            self.waiting.extend(class.split(in_step));
        }
    }

    fn is_to_be_sifted(&self, class: &HashClass) -> bool {
        self.is_too_large(class)
            && !class.must_digest
            && class.size <= SIFTED_SIZE
            && total_size(class) <= SIFTED_BYTES
            && self.run.throttle.is_none()
            && self.in_step(class) > 1
    }

    /// Whether a class cannot be read in step.
    fn is_too_large(&self, class: &HashClass) -> bool {
        class.copies.len() > copies_in_step(&self.run)
    }

    /// Copies of a class that are read in step: one where a head would move
    /// between them.
    fn in_step(&self, class: &HashClass) -> usize {
        let mut copies = class.copies.iter();
        match copies.any(|copy| self.run.disks.seeks(copy.volume)) {
            true => 1,
            false => copies_in_step(&self.run),
        }
    }

    /// How many workers there are, and how many classes each reads at a time.
    /// Where reads wait for a disk, more workers with fewer classes each.
    fn readers(&self) -> (usize, usize) {
        let is_slow = self.run.disks.has_room();
        let workers = match is_slow {
            true => self.limits.most_workers(),
            false => self.limits.workers,
        };
        (workers, classes_at_once(&self.run, is_slow))
    }

    /// As many classes as are hashed at once, and more where they are small; but
    /// no item is larger than a worker's share of what is left, so that all have
    /// something to do to the end. Under `--bwlimit`, results should come one by
    /// one.
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
            let is_enough =
                self.run.throttle.is_some() || classes.len() >= at_once && bytes > SMALL_CLASSES;
            let is_too_much = bytes > share || self.is_too_large(class);
            if !classes.is_empty() && (is_enough || is_too_much) {
                return Ok(classes);
            }
            let is_alone = self.is_too_large(class);
            self.left = self.left.saturating_sub(total_size(class));
            classes.extend(self.waiting.pop_front());
            if is_alone {
                return Ok(classes);
            }
        }
    }
}

impl Source for HashSource {
    fn next(&mut self) -> Result<Option<Item>, ScanError> {
        let classes = self.bundle()?;
        Ok((!classes.is_empty()).then_some(Item::hash(classes)))
    }

    fn accept(&mut self, found: ItemResult) {
        if let ItemResult::Classes(classes) = found {
            for class in classes {
                self.left += total_size(&class);
                let in_step = self.in_step(&class);
                self.waiting.extend(class.split(in_step));
            }
        }
    }
}

fn total_size(class: &HashClass) -> u64 {
    class.size * class.copies.len() as u64
}
