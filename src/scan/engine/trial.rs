//! Disks that claim to have a head are tried before much is planned for them: a few
//! files that lie far from each other are read, one after the other.

use std::collections::HashSet;
use std::sync::Arc;

use super::item::Item;
use crate::catalog::WorkCopy;
use crate::model::{VolumeId, total};
use crate::scan::devices::{Disks, Manner};

/// Files that are read: a tenth of a second where a head moves.
const FILES: usize = 12;
/// Fewer files than this are read in any order, unless they are long: where two are
/// read in turn, every chunk is a seek.
const FEW: usize = 4 * FILES;
const MANY_BYTES: u64 = 64 << 20;

/// The trials of a stage, one at a time.
pub(crate) struct Trials {
    disks: Arc<Disks>,
    /// No volume is tried twice, whatever came of it.
    tried: HashSet<VolumeId>,
    is_under_way: bool,
}

impl Trials {
    pub(crate) fn new(disks: &Arc<Disks>) -> Self {
        Self {
            disks: Arc::clone(disks),
            tried: HashSet::new(),
            is_under_way: false,
        }
    }

    /// Whether to wait for what a trial shows.
    pub(crate) fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    /// Whether a volume is to be tried before more of it is read.
    pub(crate) fn wants(&self, volume: VolumeId) -> bool {
        self.disks.manner(volume) == Manner::Untried && !self.tried.contains(&volume)
    }

    /// A trial with some of these copies, in the order of their inodes; `None` where
    /// there are so few that it makes no difference how they are read.
    pub(crate) fn begin<'c>(
        &mut self,
        volume: VolumeId,
        copies: impl Iterator<Item = &'c WorkCopy>,
    ) -> Option<Item> {
        let copies: Vec<_> = copies.filter(|copy| copy.volume == volume).collect();
        self.tried.insert(volume);
        let bytes = total(copies.iter().map(|copy| copy.to_read));
        self.is_under_way = is_worth_it(copies.len(), bytes);
        let some = far_apart(copies.len()).map(|at| copies[at].clone());
        (self.is_under_way).then(|| Item::trial(some.collect()))
    }

    /// Notes that an item ended.
    pub(crate) fn ended(&mut self, item: &Item) {
        if item.is_trial() {
            self.is_under_way = false;
        }
    }

    /// Notes that nothing is under way any more.
    pub(crate) fn reset(&mut self) {
        self.is_under_way = false;
    }
}

/// Whether so many files, and bytes in them, are worth a trial.
fn is_worth_it(files: usize, bytes: u64) -> bool {
    files >= FEW || files > 1 && bytes >= MANY_BYTES
}

/// Some of so many files, from both ends in turn: never two neighbours, unless there
/// are few.
fn far_apart(count: usize) -> impl Iterator<Item = usize> {
    let most = count.min(FILES);
    (0..most).map(move |number| {
        let spread = number / 2 * count / most.max(1);
        match number % 2 {
            0 => spread,
            _ => count - 1 - spread,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_files_are_tried_only_if_they_are_long() {
        assert!(is_worth_it(FEW, 0) && !is_worth_it(FEW - 1, MANY_BYTES - 1));
        assert!(is_worth_it(17, MANY_BYTES) && !is_worth_it(1, u64::MAX));
    }

    #[test]
    fn files_of_a_trial_lie_far_apart() {
        for count in [0, 1, 2, 5, 12, 13, 2_000] {
            let files: Vec<_> = far_apart(count).collect();
            let unique: HashSet<_> = files.iter().collect();
            assert_eq!(unique.len(), count.min(FILES), "{files:?}");
            assert!(files.iter().all(|file| *file < count));
        }
        let files: Vec<_> = far_apart(2_000).collect();
        let mut ways = files.windows(2).map(|pair| pair[0].abs_diff(pair[1]));
        assert!(ways.all(|way| way > 150), "{files:?}");
    }
}
