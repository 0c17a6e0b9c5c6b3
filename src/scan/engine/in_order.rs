//! Files to read one by one, each volume in its own manner: in the order of the disk
//! where a head moves, in batches for all workers elsewhere.

use std::collections::VecDeque;
use std::sync::Arc;

use super::disk_order::DiskOrder;
use super::item::{Item, Whole};
use super::report::ItemResult;
use super::sources::{Held, Source};
use super::trial::Trials;
use crate::catalog::{Candidates, WorkCopy};
use crate::scan::devices::{Disks, Manner};
use crate::scan::error::ScanError;

/// Files in one probe item.
const PROBE_BATCH: usize = 64;
/// Files in one item where calls wait for a server: so that all threads have some.
const FAR_BATCH: usize = 4;
/// Files that are looked at for a trial.
const FOR_A_TRIAL: usize = 2_048;

/// Where files to read come from, and what they are read by.
pub(crate) trait Feed {
    /// What is to be known of each.
    type What;

    /// Some more, sorted as `WorkCopy::read_order` says; none at the end.
    fn more(&mut self) -> Result<Vec<(Self::What, WorkCopy)>, ScanError>;

    /// Files and bytes of one item for any worker.
    fn limits(&self) -> (usize, u64);

    /// An item for any worker.
    fn item(&self, files: Vec<(Self::What, WorkCopy)>) -> Item;

    /// How an item is made where a head moves.
    fn visit(&self) -> fn(Vec<(Self::What, WorkCopy)>) -> Item;

    /// Takes in what a finished item found.
    fn accept(&mut self, _found: ItemResult) {}
}

/// The files of a feed.
pub(crate) struct InOrder<F: Feed> {
    pub(crate) feed: F,
    disks: Arc<Disks>,
    order: DiskOrder<F::What>,
    trials: Trials,
    /// What the feed gave and nobody took yet.
    waiting: VecDeque<(F::What, WorkCopy)>,
}

impl<F: Feed> InOrder<F> {
    pub(crate) fn new(feed: F, disks: &Arc<Disks>) -> Self {
        Self {
            order: DiskOrder::new(disks, feed.visit()),
            trials: Trials::new(disks),
            disks: Arc::clone(disks),
            feed,
            waiting: VecDeque::new(),
        }
    }

    /// Asks the feed; whether it had any more.
    fn fetch(&mut self) -> Result<bool, ScanError> {
        let more = self.feed.more()?;
        let has_more = !more.is_empty();
        self.waiting.extend(more);
        Ok(has_more)
    }

    /// A trial of the volume whose turn it is, if it is worth one.
    fn try_next(&mut self) -> Result<Option<Item>, ScanError> {
        while self.waiting.len() < FOR_A_TRIAL && self.fetch()? {}
        let copies = self.waiting.iter().map(|(_, copy)| copy);
        let volume = self.waiting.front().map(|(_, copy)| copy.volume);
        Ok(volume.and_then(|volume| self.trials.begin(volume, copies)))
    }

    /// The next files of the same volume for any worker.
    fn batch(&mut self) -> Item {
        let (mut most, most_bytes) = self.feed.limits();
        let is_far = |(_, copy): &(_, WorkCopy)| self.disks.is_far(copy.volume);
        if self.waiting.front().is_some_and(is_far) {
            most = most.min(FAR_BATCH);
        }
        let (mut files, mut bytes) = (Vec::new(), 0_u64);
        while files.len() < most
            && bytes < most_bytes
            && let Some((_, next)) = self.waiting.front()
            && self.disks.manner(next.volume) != Manner::Seeks
            && !self.trials.wants(next.volume)
        {
            bytes = bytes.saturating_add(next.to_read);
            files.extend(self.waiting.pop_front());
        }
        self.feed.item(files)
    }
}

impl<F: Feed> Source for InOrder<F> {
    fn next(&mut self) -> Result<Option<Item>, ScanError> {
        loop {
            if let Some(item) = self.order.next() {
                return Ok(Some(item));
            }
            if self.trials.is_under_way() {
                return Ok(None);
            }
            if self.waiting.is_empty() && !self.fetch()? {
                match self.order.complete() {
                    true => continue,
                    false => return Ok(None),
                }
            }
            let Some((_, next)) = self.waiting.front() else {
                continue;
            };
            if self.trials.wants(next.volume) {
                match self.try_next()? {
                    Some(trial) => return Ok(Some(trial)),
                    None => continue,
                }
            }
            if self.disks.manner(next.volume) != Manner::Seeks {
                return Ok(Some(self.batch()));
            }
            if !self.order.is_gathering() {
                return Ok(None);
            }
            if let Some((what, copy)) = self.waiting.pop_front() {
                self.order.add(what, copy);
            }
        }
    }

    fn accept(&mut self, found: ItemResult) {
        match found {
            ItemResult::Located(places) => self.order.located(places),
            found => self.feed.accept(found),
        }
    }

    fn ended(&mut self, item: &Item) {
        self.order.ended(item);
        self.trials.ended(item);
    }

    fn refill(&mut self, _held: Held) -> Result<bool, ScanError> {
        self.trials.reset();
        Ok(self.order.is_left() || !self.waiting.is_empty())
    }
}

/// Files to probe.
pub(crate) struct Probes {
    from: From,
    whole: Whole,
}

/// Where they come from.
enum From {
    Catalog(Box<Candidates>),
    /// Those that were put off while they were listed.
    Memory(VecDeque<WorkCopy>),
}

impl Probes {
    /// Those that the catalog knows.
    pub(crate) fn of_catalog(candidates: Candidates, whole: Whole) -> Self {
        let from = From::Catalog(Box::new(candidates));
        Self { from, whole }
    }

    /// Those that were put off while they were listed.
    pub(crate) fn deferred(copies: Vec<WorkCopy>, whole: Whole) -> Self {
        let from = From::Memory(copies.into());
        Self { from, whole }
    }
}

impl Feed for Probes {
    type What = ();

    fn more(&mut self) -> Result<Vec<((), WorkCopy)>, ScanError> {
        let copies = match &mut self.from {
            From::Catalog(candidates) => candidates.next_batch(PROBE_BATCH)?,
            From::Memory(copies) => copies.drain(..PROBE_BATCH.min(copies.len())).collect(),
        };
        Ok(copies.into_iter().map(|copy| ((), copy)).collect())
    }

    fn limits(&self) -> (usize, u64) {
        (PROBE_BATCH, u64::MAX)
    }

    fn item(&self, files: Vec<((), WorkCopy)>) -> Item {
        Item::probe(copies(files))
    }

    fn visit(&self) -> fn(Vec<((), WorkCopy)>) -> Item {
        match self.whole {
            Whole::Short => |files| Item::visit(copies(files), Whole::Short),
            Whole::All => |files| Item::visit(copies(files), Whole::All),
        }
    }
}

fn copies(files: Vec<((), WorkCopy)>) -> Vec<WorkCopy> {
    files.into_iter().map(|(_, copy)| copy).collect()
}
