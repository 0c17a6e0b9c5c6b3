//! The classes to read whole, those first that would save most, bundled where
//! they are small.

use std::collections::VecDeque;
use std::sync::Arc;
use std::vec::IntoIter;

use super::compare::{classes_at_once, copies_in_step};
use crate::catalog::{Candidates, HashClass};
use crate::model::{Limits, total};
use crate::scan::context::RunContext;
use crate::scan::engine::{Item, Source};
use crate::scan::error::ScanError;

/// Bytes of classes in one item, beyond those that are read at once.
const SMALL_CLASSES: u64 = 32 << 20;

/// The classes of a scan, those first that would save most.
pub(crate) struct Classes {
    source: ClassSource,
    /// Number of copies in all.
    pub(crate) files: u64,
    /// Bytes to read of them.
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
            bytes: total(classes.iter().map(HashClass::to_read)),
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

    /// Makes the next class ready, if there is one. One that is too large to be
    /// read in step is split into parts that are compared by digest.
    fn fetch(&mut self) -> Result<(), ScanError> {
        if self.waiting.is_empty()
            && let Some(class) = self.classes.next()?
        {
            let in_step = self.in_step(&class);
            self.waiting.extend(class.split(in_step));
        }
        Ok(())
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
            bytes = class.to_read().saturating_add(bytes);
            let is_enough =
                self.run.throttle.is_some() || classes.len() >= at_once && bytes > SMALL_CLASSES;
            if !classes.is_empty() && (is_enough || bytes > share) {
                return Ok(classes);
            }
            self.left = self.left.saturating_sub(class.to_read());
            classes.extend(self.waiting.pop_front());
        }
    }
}

impl Source for HashSource {
    fn next(&mut self) -> Result<Option<Item>, ScanError> {
        let classes = self.bundle()?;
        Ok((!classes.is_empty()).then_some(Item::hash(classes)))
    }
}
