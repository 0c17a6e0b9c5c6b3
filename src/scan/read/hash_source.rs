//! The classes to read whole, those first that would save most, bundled where
//! they are small.

use std::collections::VecDeque;
use std::sync::Arc;
use std::vec::IntoIter;

use super::compare::{classes_at_once, copies_in_step};
use crate::catalog::{Candidates, HashClass, WorkCopy};
use crate::model::{Limits, VolumeId, total};
use crate::scan::context::RunContext;
use crate::scan::engine::{DiskOrder, Held, Item, ItemResult, Source, Trials};
use crate::scan::error::ScanError;

/// Bytes of classes in one item, beyond those that are read at once.
const SMALL_CLASSES: u64 = 32 << 20;

/// Classes that are looked at for a trial.
const CLASSES_FOR_A_TRIAL: usize = 1_000;

/// The classes of a scan, those first that would save most.
pub(crate) struct Classes {
    source: ClassSource,
    /// Number of copies in all.
    pub(crate) files: u64,
    /// Bytes to read of them.
    pub(crate) bytes: u64,
}

/// Who reads the next classes, and how many of them and how many bytes are one item.
struct Readers {
    workers: usize,
    classes: usize,
    bytes: u64,
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
    /// Classes that are still to be looked at.
    fetched: VecDeque<HashClass>,
    /// Classes for any worker.
    waiting: VecDeque<HashClass>,
    /// Copies where a head moves: each is hashed by itself.
    order: DiskOrder<()>,
    trials: Trials,
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
            order: DiskOrder::new(&run.disks, each),
            trials: Trials::new(&run.disks),
            run,
            limits: limits.clone(),
            fetched: VecDeque::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Makes the next class ready, if there is one. One that is too large to be
    /// read in step is split into parts that are compared by digest.
    fn fetch(&mut self) -> Result<(), ScanError> {
        while self.waiting.is_empty() {
            if self.fetched.is_empty() {
                self.fetched.extend(self.classes.next()?);
            }
            let Some(class) = self.fetched.front() else {
                return Ok(());
            };
            let disks = &self.run.disks;
            let mut copies = class.copies.iter();
            let seeks = copies.any(|copy| disks.seeks(copy.volume));
            if self.untried().is_some() || seeks && !self.order.is_gathering() {
                return Ok(());
            }
            let class = self.fetched.pop_front();
            if let Some(class) = class.and_then(|class| self.set_apart(class)) {
                self.waiting.extend(class.split(copies_in_step(&self.run)));
            }
        }
        Ok(())
    }

    /// A volume of the next class that is to be tried before.
    fn untried(&self) -> Option<VolumeId> {
        let mut copies = self.fetched.front()?.copies.iter();
        let untried = copies.find(|copy| self.trials.wants(copy.volume))?;
        Some(untried.volume)
    }

    /// Hands the copies of a class over that are read where a head moves; returns
    /// the others, which are compared with those by digest.
    fn set_apart(&mut self, mut class: HashClass) -> Option<HashClass> {
        let disks = Arc::clone(&self.run.disks);
        let seeking = class.copies.extract_if(.., |copy| disks.seeks(copy.volume));
        for copy in seeking {
            self.left = self.left.saturating_sub(copy.to_read);
            class.must_digest = true;
            self.order.add((), copy);
        }
        (!class.copies.is_empty()).then_some(class)
    }

    /// A trial of a volume, with the files of many classes, if it is worth one.
    fn try_disk(&mut self, volume: VolumeId) -> Result<Option<Item>, ScanError> {
        while self.fetched.len() < CLASSES_FOR_A_TRIAL
            && let Some(class) = self.classes.next()?
        {
            self.fetched.push_back(class);
        }
        let mut copies: Vec<_> = self
            .fetched
            .iter()
            .flat_map(|class| &class.copies)
            .collect();
        copies.sort_by_key(|copy| copy.read_order());
        Ok(self.trials.begin(volume, copies.into_iter()))
    }

    /// How many workers there are, and how many classes each reads at a time.
    /// Where reads wait for a disk, more workers with fewer classes each.
    fn readers(&self) -> Readers {
        let mut next = self.waiting.iter().flat_map(|class| &class.copies);
        if next.any(|copy| self.run.disks.is_far(copy.volume)) {
            return Readers {
                // Several items for each, because the largest come first.
                workers: 4 * self.limits.threads,
                classes: 1,
                bytes: 0,
            };
        }
        let is_slow = self.run.disks.has_room();
        Readers {
            workers: match is_slow {
                true => self.limits.most_workers(),
                false => self.limits.workers,
            },
            classes: classes_at_once(&self.run, is_slow),
            bytes: SMALL_CLASSES,
        }
    }

    /// As many classes as are hashed at once, and more where they are small; but
    /// no item is larger than a worker's share of what is left, so that all have
    /// something to do to the end. Under `--bwlimit`, results should come one by
    /// one.
    fn bundle(&mut self) -> Result<Vec<HashClass>, ScanError> {
        self.fetch()?;
        let readers = self.readers();
        let share = self.left / readers.workers as u64;
        let mut bytes = 0;
        let mut classes = Vec::new();
        loop {
            self.fetch()?;
            let Some(class) = self.waiting.front() else {
                return Ok(classes);
            };
            bytes = class.to_read().saturating_add(bytes);
            let is_enough = self.run.throttle.is_some()
                || classes.len() >= readers.classes && bytes > readers.bytes;
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
        loop {
            if let Some(item) = self.order.next() {
                return Ok(Some(item));
            }
            if self.trials.is_under_way() {
                return Ok(None);
            }
            let classes = self.bundle()?;
            if !classes.is_empty() {
                return Ok(Some(Item::hash(classes)));
            }
            if let Some(volume) = self.untried() {
                match self.try_disk(volume)? {
                    Some(trial) => return Ok(Some(trial)),
                    None => continue,
                }
            }
            if !self.fetched.is_empty() || !self.order.complete() {
                return Ok(None);
            }
        }
    }

    fn accept(&mut self, found: ItemResult) {
        if let ItemResult::Located(places) = found {
            self.order.located(places);
        }
    }

    fn ended(&mut self, item: &Item) {
        self.order.ended(item);
        self.trials.ended(item);
    }

    fn refill(&mut self, _held: Held) -> Result<bool, ScanError> {
        self.trials.reset();
        Ok(self.order.is_left() || !self.fetched.is_empty())
    }
}

/// An item of copies that are each hashed by itself.
fn each(copies: Vec<((), WorkCopy)>) -> Item {
    Item::hash_each(copies.into_iter().map(|(_, copy)| copy).collect())
}
