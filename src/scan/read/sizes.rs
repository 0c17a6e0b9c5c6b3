//! The sizes met so far in a first scan: a file whose size was met before can
//! be read at once, while its folder is still open. The first file of each
//! size waits until a second one comes.
//!
//! Small sizes of a tree that is not small do not wait: nearly all of them come
//! up again, and coming back to a file costs twice as much as reading it while
//! it is at hand. There are so few of them that little is read in vain.
//!
//! Memory is bounded. Where the bound is reached, the set is no longer
//! complete, and the candidates come from the catalog as in any other scan.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::catalog::WorkCopy;
use crate::model::sampling::AT_SIGHT;
use crate::model::{ScanOptions, VolumeId};

/// Sets, so that workers seldom wait for each other.
const SHARDS: usize = 61;
/// Most copies that are remembered, about 200 bytes each.
const MOST_COPIES: usize = 100_000;

/// Copies that a tree makes remembered before that is done.
const NOT_A_SMALL_TREE: usize = 500;

/// What to do with a file that a listing came across.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// Read it now: another file has its size, or presumably will have.
    ReadNow,
    /// Leave it: nothing to compare it with yet, or it is read later.
    Leave,
}

/// Who was met with a size.
enum Met {
    /// One copy, not read yet.
    One(Box<WorkCopy>),
    /// One copy, which is being read or was.
    OneAtSight(Identity),
    /// Several; none waits.
    Several,
}

/// What tells a copy of a known size from others: without a stable inode nothing
/// does.
#[derive(Clone, Copy)]
struct Identity {
    volume: VolumeId,
    ino: Option<u64>,
}

impl Identity {
    fn is_of(&self, copy: &WorkCopy) -> bool {
        self.ino.is_some() && (self.volume, self.ino) == (copy.volume, copy.state.ino)
    }
}

/// The sizes met by all workers.
pub(crate) struct Sizes {
    shards: Vec<Mutex<HashMap<u64, Met>>>,
    /// The small sizes that were met several times. Most files are of one, and
    /// looking here takes a fraction of the time that a shard takes.
    common: Vec<AtomicBool>,
    deferred: Mutex<Vec<WorkCopy>>,
    remembered: AtomicUsize,
    most: usize,
    has_overflowed: AtomicBool,
    smallest: u64,
    largest: u64,
    all: bool,
}

impl Sizes {
    /// An empty set for files that `options` want hashed.
    pub(crate) fn new(options: &ScanOptions) -> Self {
        Self::bounded(options, MOST_COPIES)
    }

    fn bounded(options: &ScanOptions, most: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            common: (0..=AT_SIGHT).map(|_| AtomicBool::default()).collect(),
            deferred: Mutex::default(),
            remembered: AtomicUsize::new(0),
            most,
            has_overflowed: AtomicBool::new(false),
            smallest: options.min_size.unwrap_or(1).max(1),
            largest: options.max_size.unwrap_or(u64::MAX),
            all: options.hash_all,
        }
    }

    /// Notes a file. One that `is_linked` may have other names: they are
    /// gathered before it is read, so that it is read once.
    pub(crate) fn meet(
        &self,
        size: u64,
        is_linked: bool,
        copy: impl FnOnce() -> WorkCopy,
    ) -> Meeting {
        if size < self.smallest || size > self.largest {
            return Meeting::Leave;
        }
        if !self.all && !self.is_common(size) {
            let mut shard = lock(&self.shards[shard_of(size)]);
            match shard.entry(size) {
                Entry::Vacant(free) => {
                    if !is_linked && self.reads_at_sight(size) {
                        let WorkCopy { volume, state, .. } = copy();
                        let ino = state.ino;
                        free.insert(Met::OneAtSight(Identity { volume, ino }));
                        return Meeting::ReadNow;
                    }
                    if self.has_room() {
                        free.insert(Met::One(Box::new(copy())));
                    }
                    return Meeting::Leave;
                }
                Entry::Occupied(mut met) => match met.get_mut() {
                    Met::One(first) => {
                        let copy = copy();
                        if first.is_same_file(&copy) {
                            first.names.extend(copy.names);
                            return Meeting::Leave;
                        }
                        if let Met::One(first) = met.insert(Met::Several) {
                            lock(&self.deferred).push(*first);
                        }
                        return self.next(is_linked, || copy);
                    }
                    Met::OneAtSight(first) => {
                        let copy = copy();
                        // A folder that is listed again, or another way to it.
                        if first.is_of(&copy) {
                            return Meeting::ReadNow;
                        }
                        met.insert(Met::Several);
                        return self.next(is_linked, || copy);
                    }
                    Met::Several => {
                        if let Some(known) = self.common(size) {
                            known.store(true, Ordering::Relaxed);
                        }
                    }
                },
            }
        }
        self.next(is_linked, copy)
    }

    fn next(&self, is_linked: bool, copy: impl FnOnce() -> WorkCopy) -> Meeting {
        if is_linked {
            self.defer(copy());
            return Meeting::Leave;
        }
        Meeting::ReadNow
    }

    /// Whether a small size is known to have been met several times; not knowing
    /// it yet does no harm. `None` for other sizes.
    fn common(&self, size: u64) -> Option<&AtomicBool> {
        self.common.get(usize::try_from(size).ok()?)
    }

    fn is_common(&self, size: u64) -> bool {
        let known = self.common(size);
        known.is_some_and(|known| known.load(Ordering::Relaxed))
    }

    /// Whether the first file of this size is read at once.
    fn reads_at_sight(&self, size: u64) -> bool {
        size <= AT_SIGHT && self.remembered.load(Ordering::Relaxed) >= NOT_A_SMALL_TREE
    }

    /// Takes back a copy that was to be read now and could not be. One that is
    /// still alone need not be read at all: it waits again.
    pub(crate) fn take_back(&self, copy: WorkCopy) {
        let size = copy.state.size;
        let mut shard = lock(&self.shards[shard_of(size)]);
        match shard.get_mut(&size) {
            Some(alone @ Met::OneAtSight(_)) => {
                if self.has_room() {
                    *alone = Met::One(Box::new(copy));
                }
            }
            Some(Met::One(first)) if first.is_same_file(&copy) => first.names.extend(copy.names),
            _ => self.defer(copy),
        }
    }

    /// Leaves a copy for after the listing.
    fn defer(&self, copy: WorkCopy) {
        if self.has_room() {
            lock(&self.deferred).push(copy);
        }
    }

    fn has_room(&self) -> bool {
        let has_room = self.remembered.fetch_add(1, Ordering::Relaxed) < self.most;
        if !has_room {
            self.has_overflowed.store(true, Ordering::Relaxed);
        }
        has_room
    }

    /// The copies that are still to be read, in (volume, inode) order; `None`
    /// when there were more than could be remembered.
    pub(crate) fn take_deferred(&self) -> Option<Vec<WorkCopy>> {
        let mut copies = std::mem::take(&mut *lock(&self.deferred));
        if self.has_overflowed.load(Ordering::Relaxed) {
            return None;
        }
        copies.sort_by_key(|copy| (copy.volume, copy.state.ino));
        copies.dedup_by(|later, kept| {
            let is_same = kept.is_same_file(later);
            if is_same {
                kept.names.append(&mut later.names);
            }
            is_same
        });
        Some(copies)
    }

    /// Forgets all sizes, once all is listed. That happens beside what is done
    /// next: of tens of thousands of copies it takes a hundredth of a second.
    pub(crate) fn forget(&self) {
        let shards = self
            .shards
            .iter()
            .map(|shard| std::mem::take(&mut *lock(shard)));
        let shards: Vec<_> = shards.collect();
        // Without another thread it happens here.
        thread::Builder::new().spawn(move || drop(shards)).ok();
    }
}

fn shard_of(size: u64) -> usize {
    // Sizes are often multiples of a power of two.
    usize::try_from(size % SHARDS as u64).unwrap_or(0)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::sampling::AT_SIGHT;
    use crate::model::{FileState, FolderId};

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
        assert_eq!(meet(&sizes, "a", 10, 1, false), Meeting::Leave);
        assert_eq!(meet(&sizes, "alone", 11, 2, false), Meeting::Leave);
        assert_eq!(meet(&sizes, "b", 10, 3, false), Meeting::ReadNow);
        assert_eq!(meet(&sizes, "c", 10, 4, false), Meeting::ReadNow);
        let deferred = names(sizes.take_deferred());
        assert_eq!(deferred, Some(vec![vec!["a".to_owned()]]));
    }

    #[test]
    fn the_names_of_a_copy_are_gathered() {
        let sizes = Sizes::new(&ScanOptions::default());
        for (name, ino) in [("a1", 1), ("a2", 1)] {
            assert_eq!(meet(&sizes, name, 10, ino, true), Meeting::Leave);
        }
        assert_eq!(names(sizes.take_deferred()), Some(vec![]));
        for (name, ino) in [("b1", 2), ("a3", 1), ("b2", 2)] {
            assert_eq!(meet(&sizes, name, 10, ino, true), Meeting::Leave);
        }
        let expected = [vec!["a1", "a2", "a3"], vec!["b1", "b2"]];
        let expected = expected.map(|names| names.into_iter().map(str::to_owned).collect());
        assert_eq!(names(sizes.take_deferred()), Some(expected.to_vec()));
    }

    #[test]
    fn without_stable_inodes_each_path_is_a_copy() {
        let sizes = Sizes::new(&ScanOptions::default());
        assert_eq!(sizes.meet(5, false, || copy("a", 5, None)), Meeting::Leave);
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
        assert_eq!(meet(&sizes, "small", 4, 1, false), Meeting::Leave);
        assert_eq!(meet(&sizes, "wanted", 7, 2, false), Meeting::ReadNow);
        assert_eq!(meet(&sizes, "large", 11, 3, false), Meeting::Leave);
        let empty = Sizes::new(&ScanOptions::default());
        assert_eq!(meet(&empty, "empty", 0, 1, false), Meeting::Leave);
        assert_eq!(meet(&empty, "empty", 0, 2, false), Meeting::Leave);
    }

    /// A set that has met so many sizes, all beyond [`AT_SIGHT`].
    fn of_a_large_tree() -> Sizes {
        let sizes = Sizes::new(&ScanOptions::default());
        for size in AT_SIGHT..AT_SIGHT + NOT_A_SMALL_TREE as u64 {
            assert_eq!(meet(&sizes, "x", size, size, false), Meeting::Leave);
        }
        sizes
    }

    #[test]
    fn in_a_large_tree_small_files_are_read_at_sight() {
        let sizes = of_a_large_tree();
        let large = AT_SIGHT + 1_000;
        assert_eq!(meet(&sizes, "large", large, 1, false), Meeting::Leave);
        assert_eq!(meet(&sizes, "linked", 9, 2, true), Meeting::Leave);
        assert_eq!(meet(&sizes, "first", 10, 3, false), Meeting::ReadNow);
        assert_eq!(meet(&sizes, "second", 10, 4, false), Meeting::ReadNow);
        assert_eq!(names(sizes.take_deferred()), Some(vec![]));
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
        assert_eq!(names(sizes.take_deferred()), Some(expected.to_vec()));
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
        assert_eq!(names(sizes.take_deferred()), Some(vec![]));
        assert_eq!(meet(&sizes, "second", 10, 2, false), Meeting::ReadNow);
        let both = ["file", "by a link"].map(str::to_owned).to_vec();
        assert_eq!(names(sizes.take_deferred()), Some(vec![both]));
    }

    #[test]
    fn a_full_set_says_so() {
        let sizes = Sizes::bounded(&ScanOptions::default(), 2);
        for size in 1..=3 {
            assert_eq!(meet(&sizes, "x", size, size, false), Meeting::Leave);
        }
        assert_eq!(names(sizes.take_deferred()), None);
    }
}
