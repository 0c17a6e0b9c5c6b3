//! The sizes met so far: a file whose size was met before can be read at once,
//! while its folder is still open. The first file of each size waits until a
//! second one comes.
//!
//! Small sizes of a tree that is not small do not wait: nearly all of them come
//! up again, and coming back to a file costs twice as much as reading it while
//! its folder is open. There are so few of them that little is read in vain.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::catalog::WorkCopy;
use crate::model::ScanOptions;
use crate::model::sampling::AT_SIGHT;

/// Sets, so that workers seldom wait for each other.
const SHARDS: usize = 61;
/// Most copies that are remembered, about 200 bytes each.
pub(super) const MOST_COPIES: usize = 100_000;
/// Copies remembered before a tree counts as not small.
const NOT_A_SMALL_TREE: usize = 500;

/// What to do with a file that a listing came across.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// Read it now: another file has its size, or presumably will have.
    ReadNow,
    /// Skip it: there is nothing to compare it with yet, or it is read later.
    Skip,
}

/// Who was met with a size.
enum Met {
    /// One copy, and what was said about it.
    One(Box<WorkCopy>, Meeting),
    /// Several; none waits.
    Several,
}

/// The sizes met by all workers.
pub(super) struct Sizes {
    shards: Vec<Mutex<HashMap<u64, Met>>>,
    candidates: Mutex<Vec<WorkCopy>>,
    remembered: AtomicUsize,
    most: usize,
    has_overflowed: AtomicBool,
    smallest: u64,
    largest: u64,
    all: bool,
}

impl Sizes {
    /// An empty set for files that `options` want hashed.
    pub(super) fn new(options: &ScanOptions) -> Self {
        Self::bounded(options, MOST_COPIES)
    }

    /// A set that knows the sizes of a scan that was stopped, but not which files
    /// have them: those still to be read are asked of the catalog.
    pub(super) fn resumed(options: &ScanOptions, known: Vec<u64>) -> Self {
        let mut sizes = Self::new(options);
        *sizes.remembered.get_mut() = known.len();
        *sizes.has_overflowed.get_mut() = true;
        for size in known {
            lock(sizes.shard(size)).insert(size, Met::Several);
        }
        sizes
    }

    fn bounded(options: &ScanOptions, most: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            candidates: Mutex::default(),
            remembered: AtomicUsize::new(0),
            most,
            has_overflowed: AtomicBool::new(false),
            smallest: options.min_size.unwrap_or(1).max(1),
            largest: options.max_size.unwrap_or(u64::MAX),
            all: options.hash_all,
        }
    }

    /// Notes a file. One that `is_linked` may have other names: they are gathered
    /// before it is read.
    pub(super) fn meet(
        &self,
        size: u64,
        is_linked: bool,
        copy: impl FnOnce() -> WorkCopy,
    ) -> Meeting {
        if size < self.smallest || size > self.largest {
            return Meeting::Skip;
        }
        if self.all {
            return self.meet_another(is_linked, copy);
        }
        let mut shard = lock(self.shard(size));
        match shard.entry(size) {
            Entry::Vacant(free) => {
                let meeting = self.meet_first(size, is_linked);
                if self.has_room() {
                    free.insert(Met::One(Box::new(copy()), meeting));
                }
                meeting
            }
            Entry::Occupied(mut met) => match met.get_mut() {
                Met::Several => self.meet_another(is_linked, copy),
                Met::One(first, meeting) => {
                    let copy = copy();
                    if first.is_same_file(&copy) {
                        // A name that is read now is not read later, too.
                        if *meeting == Meeting::Skip {
                            first.names.extend(copy.names);
                        }
                        return *meeting;
                    }
                    if let Met::One(first, Meeting::Skip) = met.insert(Met::Several) {
                        lock(&self.candidates).push(*first);
                    }
                    self.meet_another(is_linked, || copy)
                }
            },
        }
    }

    fn meet_first(&self, size: u64, is_linked: bool) -> Meeting {
        let is_small_tree = self.remembered.load(Ordering::Relaxed) < NOT_A_SMALL_TREE;
        match is_linked || is_small_tree || size > AT_SIGHT {
            true => Meeting::Skip,
            false => Meeting::ReadNow,
        }
    }

    fn meet_another(&self, is_linked: bool, copy: impl FnOnce() -> WorkCopy) -> Meeting {
        if is_linked {
            self.add_candidate(copy());
            return Meeting::Skip;
        }
        Meeting::ReadNow
    }

    /// Takes back a copy that was to be read now, which failed. One that is
    /// still alone need not be read at all: it waits again.
    pub(super) fn take_back(&self, copy: WorkCopy) {
        let size = copy.state.size;
        match lock(self.shard(size)).get_mut(&size) {
            Some(Met::One(first, meeting @ Meeting::ReadNow)) => {
                **first = copy;
                *meeting = Meeting::Skip;
            }
            Some(Met::One(first, _)) if first.is_same_file(&copy) => first.names.extend(copy.names),
            _ => self.add_candidate(copy),
        }
    }

    /// Keeps a copy for after the listing.
    fn add_candidate(&self, copy: WorkCopy) {
        if self.has_room() {
            lock(&self.candidates).push(copy);
        }
    }

    fn has_room(&self) -> bool {
        let has_room = self.remembered.fetch_add(1, Ordering::Relaxed) < self.most;
        if !has_room {
            self.has_overflowed.store(true, Ordering::Relaxed);
        }
        has_room
    }

    /// The copies that are still to be read, in the order in which they are read; `None`
    /// when there were more than could be remembered.
    pub(super) fn take_candidates(&self) -> Option<Vec<WorkCopy>> {
        let mut copies = std::mem::take(&mut *lock(&self.candidates));
        if self.has_overflowed.load(Ordering::Relaxed) {
            return None;
        }
        copies.sort_by_key(WorkCopy::read_order);
        copies.dedup_by(|later, kept| {
            let is_same = kept.is_same_file(later);
            if is_same {
                kept.names.append(&mut later.names);
            }
            is_same
        });
        Some(copies)
    }

    /// Forgets all sizes, once all is listed.
    pub(super) fn forget(&self) {
        for shard in &self.shards {
            *lock(shard) = HashMap::new();
        }
    }

    fn shard(&self, size: u64) -> &Mutex<HashMap<u64, Met>> {
        // Sizes are often multiples of a power of two.
        let shard = size % SHARDS as u64;
        &self.shards[usize::try_from(shard).unwrap_or(0)]
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::{FileState, FolderId, VolumeId};

    /// A copy of that name, size and inode.
    pub(crate) fn copy(name: &str, size: u64, ino: Option<u64>) -> WorkCopy {
        WorkCopy {
            names: vec![(FolderId(1), name.into())],
            state: FileState {
                size,
                mtime_ns: 1,
                ctime_ns: 1,
                ino,
            },
            to_read: size,
            volume: VolumeId(1),
        }
    }

    fn meet(sizes: &Sizes, name: &str, size: u64, ino: u64, is_linked: bool) -> Meeting {
        sizes.meet(size, is_linked, || copy(name, size, Some(ino)))
    }

    fn names(copies: Option<Vec<WorkCopy>>) -> Option<Vec<Vec<String>>> {
        let name = |name: &(FolderId, std::ffi::OsString)| name.1.to_string_lossy().into_owned();
        copies.map(|copies| {
            copies
                .iter()
                .map(|copy| copy.names.iter().map(name).collect())
                .collect()
        })
    }

    #[test]
    fn the_first_of_a_size_waits_for_the_second() {
        let sizes = Sizes::new(&ScanOptions::default());
        assert_eq!(meet(&sizes, "a", 10, 1, false), Meeting::Skip);
        assert_eq!(meet(&sizes, "alone", 11, 2, false), Meeting::Skip);
        assert_eq!(meet(&sizes, "b", 10, 3, false), Meeting::ReadNow);
        assert_eq!(meet(&sizes, "c", 10, 4, false), Meeting::ReadNow);
        let candidates = names(sizes.take_candidates());
        assert_eq!(candidates, Some(vec![vec!["a".to_owned()]]));
    }

    #[test]
    fn the_names_of_a_copy_are_gathered() {
        let sizes = Sizes::new(&ScanOptions::default());
        for (name, ino) in [("a1", 1), ("a2", 1)] {
            assert_eq!(meet(&sizes, name, 10, ino, true), Meeting::Skip);
        }
        assert_eq!(names(sizes.take_candidates()), Some(vec![]));
        for (name, ino) in [("b1", 2), ("a3", 1), ("b2", 2)] {
            assert_eq!(meet(&sizes, name, 10, ino, true), Meeting::Skip);
        }
        let expected = [vec!["a1", "a2", "a3"], vec!["b1", "b2"]];
        let expected = expected.map(|names| names.into_iter().map(str::to_owned).collect());
        assert_eq!(names(sizes.take_candidates()), Some(expected.to_vec()));
    }

    #[test]
    fn without_stable_inodes_each_path_is_a_copy() {
        let sizes = Sizes::new(&ScanOptions::default());
        assert_eq!(sizes.meet(5, false, || copy("a", 5, None)), Meeting::Skip);
        let second = sizes.meet(5, false, || copy("b", 5, None));
        assert_eq!(second, Meeting::ReadNow);
    }

    #[test]
    fn only_wanted_sizes_are_read() {
        let sizes = Sizes::new(&ScanOptions {
            min_size: Some(5),
            max_size: Some(10),
            hash_all: true,
            ..ScanOptions::default()
        });
        assert_eq!(meet(&sizes, "small", 4, 1, false), Meeting::Skip);
        assert_eq!(meet(&sizes, "wanted", 7, 2, false), Meeting::ReadNow);
        assert_eq!(meet(&sizes, "large", 11, 3, false), Meeting::Skip);
        let empty = Sizes::new(&ScanOptions::default());
        assert_eq!(meet(&empty, "empty", 0, 1, false), Meeting::Skip);
        assert_eq!(meet(&empty, "empty", 0, 2, false), Meeting::Skip);
    }

    /// A set that has met so many sizes, all beyond [`AT_SIGHT`].
    fn of_a_large_tree() -> Sizes {
        let sizes = Sizes::new(&ScanOptions::default());
        for size in AT_SIGHT..AT_SIGHT + NOT_A_SMALL_TREE as u64 {
            assert_eq!(meet(&sizes, "x", size, size, false), Meeting::Skip);
        }
        sizes
    }

    #[test]
    fn in_a_large_tree_small_files_are_read_at_sight() {
        let sizes = of_a_large_tree();
        let large = AT_SIGHT + 1_000;
        assert_eq!(meet(&sizes, "large", large, 1, false), Meeting::Skip);
        assert_eq!(meet(&sizes, "linked", 9, 2, true), Meeting::Skip);
        assert_eq!(meet(&sizes, "first", 10, 3, false), Meeting::ReadNow);
        assert_eq!(meet(&sizes, "second", 10, 4, false), Meeting::ReadNow);
        assert_eq!(names(sizes.take_candidates()), Some(vec![]));
    }

    #[test]
    fn one_that_could_not_be_read_at_sight_waits_for_a_second() {
        let sizes = of_a_large_tree();
        for (name, ino) in [("alone", 10), ("first", 11)] {
            assert_eq!(meet(&sizes, name, ino, ino, false), Meeting::ReadNow);
            sizes.take_back(copy(name, ino, Some(ino)));
        }
        assert_eq!(meet(&sizes, "second", 11, 12, false), Meeting::ReadNow);
        // The second came while the first was tried.
        assert_eq!(meet(&sizes, "late", 13, 13, false), Meeting::ReadNow);
        assert_eq!(meet(&sizes, "later", 13, 14, false), Meeting::ReadNow);
        sizes.take_back(copy("late", 13, Some(13)));
        let expected = ["first", "late"].map(|name| vec![name.to_owned()]);
        assert_eq!(names(sizes.take_candidates()), Some(expected.to_vec()));
    }

    #[test]
    fn one_that_is_met_again_at_sight_is_still_alone() {
        let sizes = of_a_large_tree();
        for name in ["file", "by a link"] {
            assert_eq!(meet(&sizes, name, 10, 1, false), Meeting::ReadNow);
        }
        for name in ["file", "by a link"] {
            sizes.take_back(copy(name, 10, Some(1)));
        }
        assert_eq!(names(sizes.take_candidates()), Some(vec![]));
        assert_eq!(meet(&sizes, "second", 10, 2, false), Meeting::ReadNow);
        let both = ["file", "by a link"].map(str::to_owned).to_vec();
        assert_eq!(names(sizes.take_candidates()), Some(vec![both]));
    }

    #[test]
    fn sizes_met_before_a_stop_are_read_at_once() {
        let sizes = Sizes::resumed(&ScanOptions::default(), vec![10, AT_SIGHT + 1]);
        assert_eq!(meet(&sizes, "a", 10, 1, false), Meeting::ReadNow);
        assert_eq!(meet(&sizes, "b", AT_SIGHT + 1, 2, false), Meeting::ReadNow);
        assert_eq!(meet(&sizes, "new", AT_SIGHT + 2, 3, false), Meeting::Skip);
        assert_eq!(names(sizes.take_candidates()), None);
    }

    #[test]
    fn a_full_set_says_so() {
        let sizes = Sizes::bounded(&ScanOptions::default(), 2);
        for size in 1..=3 {
            assert_eq!(meet(&sizes, "x", size, size, false), Meeting::Skip);
        }
        assert_eq!(names(sizes.take_candidates()), None);
    }
}
