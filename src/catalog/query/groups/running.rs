//! The count of a catalog that one scan fills from nothing, kept by the writer
//! while it writes the rows: at the end nobody has to read them all again.
//!
//! It follows rows that are added, and that learn something for the first time,
//! which is all that happens in most first scans. Whatever else happens to a row
//! spoils it, and then the rows are read.

use std::collections::HashSet;

use rayon::slice::ParallelSliceMut;

use super::copies::CopyNumbers;
use super::count::{Entry, Gathered};
use super::ranking::Key;
use super::unresolved::{Classes, State};
use crate::catalog::store::signed;
use crate::catalog::write::{FileOutcome, SampleHash};
use crate::model::{CopyId, FolderId, VolumeId};

/// Most that is kept: folders, and rows at 24 bytes each that have a digest; others
/// count twice.
const MOST: usize = 400_000;

/// What is known of all rows, unless it was spoiled.
pub struct RunningCount {
    rows: Option<Rows>,
    most: usize,
}

#[derive(Default)]
struct Rows {
    /// The one volume on which all files lie.
    volume: Option<VolumeId>,
    folders: HashSet<FolderId>,
    numbers: CopyNumbers,
    /// One for each row that has a digest.
    entries: Vec<Entry>,
    /// What was learned of rows that were added without one.
    news: Vec<News>,
}

/// Something learned of one name of a copy.
struct News {
    size: i64,
    copy: u64,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// Its row was added, perhaps with a probe.
    Added(Option<i64>),
    Probed(i64),
    Digested(Key),
    Settled,
}

impl RunningCount {
    /// The count of a catalog without files.
    pub(crate) fn new() -> Self {
        Self::bounded(MOST)
    }

    fn bounded(most: usize) -> Self {
        let rows = Some(Rows::default());
        Self { rows, most }
    }

    /// Something happened that this count does not follow.
    pub(crate) fn spoil(&mut self) {
        self.rows = None;
    }

    /// Whether it follows still.
    pub(crate) fn is_kept(&self) -> bool {
        self.rows.is_some()
    }

    /// The rows of a folder on `volume` follow, all of them. One that was listed
    /// before may have rows already.
    pub(crate) fn begin_folder(&mut self, folder: FolderId, volume: VolumeId) {
        self.follow(|rows| {
            let is_same_volume = *rows.volume.get_or_insert(volume) == volume;
            rows.folders.insert(folder) && is_same_volume
        });
    }

    /// A row was added.
    pub(crate) fn added(&mut self, size: u64, ino: Option<u64>, hash: Option<SampleHash>) {
        self.follow(|rows| match hash {
            None => rows.note(size, ino, What::Added(None)),
            Some(SampleHash::Probe(probe)) => rows.note(size, ino, What::Added(Some(probe.0))),
            Some(SampleHash::Digest(digest)) => {
                rows.enter(size, ino, Key::of(digest.as_bytes()));
                ino.is_some()
            }
        });
    }

    /// A row learned something.
    pub(crate) fn learned(&mut self, size: u64, ino: Option<u64>, outcome: &FileOutcome) {
        self.follow(|rows| match outcome {
            FileOutcome::Probed { probe, .. } => rows.note(size, ino, What::Probed(probe.0)),
            FileOutcome::Settled { .. } => rows.note(size, ino, What::Settled),
            FileOutcome::Digested { digest, .. } => {
                let key = Key::of(digest.as_bytes());
                rows.enter(size, ino, key);
                rows.note(size, ino, What::Digested(key))
            }
            FileOutcome::Partly(_) | FileOutcome::Changed(_) | FileOutcome::Vanished => false,
        });
    }

    /// Spoils the count where `note` could not follow, or there is no more room.
    fn follow(&mut self, note: impl FnOnce(&mut Rows) -> bool) {
        if let Some(rows) = &mut self.rows
            && (!note(rows) || rows.weight() > self.most)
        {
            self.spoil();
        }
    }

    /// What reading all rows would gather; `None` if it was spoiled.
    pub(crate) fn gathered(self) -> Option<Gathered> {
        let mut rows = self.rows?;
        let states = states(std::mem::take(&mut rows.news))?;
        Some(rows.gathered(&states))
    }
}

impl Rows {
    fn weight(&self) -> usize {
        self.entries.len() + 2 * self.news.len() + self.folders.len()
    }

    /// Makes an entry of a row that has a digest. Empty files take part in nothing.
    fn enter(&mut self, size: u64, ino: Option<u64>, key: Key) {
        if size > 0 {
            let copy = self.copy(ino);
            let size = signed(size);
            self.entries.push(Entry { key, size, copy });
        }
    }

    /// Notes news of a row; `false` where inodes do not tell copies apart.
    fn note(&mut self, size: u64, ino: Option<u64>, what: What) -> bool {
        if size > 0 {
            let copy = self.copy(ino);
            let size = signed(size);
            self.news.push(News { size, copy, what });
        }
        ino.is_some()
    }

    fn copy(&self, ino: Option<u64>) -> u64 {
        self.numbers.of(CopyId::of(self.volume, ino))
    }

    fn gathered(self, states: &[(u64, State)]) -> Gathered {
        let unread = states.iter().filter(|(_, state)| state.is_unread);
        let open_sizes: HashSet<i64> = unread.map(|(_, state)| state.size).collect();
        // Of rows that were added with a digest it only matters whether they
        // share the size of one that was not read.
        let beside_unread = self
            .entries
            .iter()
            .filter(|entry| open_sizes.contains(&entry.size));
        let beside_unread = beside_unread.map(|entry| (entry.copy, State::digested(entry.size)));
        let numbers = Classes::default();
        let classes = beside_unread
            .chain(states.iter().copied())
            .flat_map(|(copy, state)| numbers.of(state, copy))
            .collect();
        Gathered::of(self.entries, classes)
    }
}

/// The last state of every copy that was not added with its digest; `None` where
/// that cannot be told of one.
fn states(mut news: Vec<News>) -> Option<Vec<(u64, State)>> {
    news.par_sort_unstable_by_key(|news| news.copy);
    let copies = news.chunk_by(|a, b| a.copy == b.copy);
    copies
        .map(|news| Some((news[0].copy, state(news)?)))
        .collect()
}

/// The state of a copy all of whose names are in the same one; `None` where they
/// are not, because the copy changed or its inode was used again.
fn state(news: &[News]) -> Option<State> {
    let mut names = 0;
    let (mut probe, mut digest, mut settled) =
        (Learned::default(), Learned::default(), Learned::default());
    for News { what, .. } in news {
        match what {
            What::Added(known) => {
                names += 1;
                known.iter().for_each(|known| probe.add(*known));
            }
            What::Probed(found) => probe.add(*found),
            What::Digested(found) => digest.add(*found),
            What::Settled => settled.add(()),
        }
    }
    let size = news[0].size;
    // Each name learns the same, once. One that was added with a digest learns
    // nothing more.
    let is_common = names > 0
        && probe.is_of(names)
        && digest.is_of(names)
        && settled.is_of(names)
        && news.iter().all(|news| news.size == size);
    is_common.then_some(State {
        size,
        probe: probe.what,
        is_unread: probe.what.is_none() && digest.what.is_none(),
        is_unresolved: digest.what.is_none() && settled.what.is_none(),
    })
}

/// What the names of a copy learned of one kind.
struct Learned<T> {
    what: Option<T>,
    times: usize,
    is_one: bool,
}

impl<T> Default for Learned<T> {
    fn default() -> Self {
        Self {
            what: None,
            times: 0,
            is_one: true,
        }
    }
}

impl<T: Copy + PartialEq> Learned<T> {
    fn add(&mut self, what: T) {
        self.times += 1;
        self.is_one &= *self.what.get_or_insert(what) == what;
    }

    /// Whether this many names learned the same, or none did.
    fn is_of(&self, names: usize) -> bool {
        self.is_one && [0, names].contains(&self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::query::groups::GroupList;
    use crate::catalog::query::groups::filter::GroupFilter;
    use crate::catalog::testing::{Bed, file};
    use crate::model::{Digest, Probe};

    const FOLDER: FolderId = FolderId(1);
    const VOLUME: VolumeId = VolumeId(1);

    fn digested(byte: u8) -> FileOutcome {
        FileOutcome::Digested {
            digest: Digest::from_bytes(&[byte; 32]).unwrap(),
            compared: None,
            racy: false,
        }
    }

    /// A count of one file without a digest.
    fn count() -> RunningCount {
        let mut count = RunningCount::new();
        count.begin_folder(FOLDER, VOLUME);
        count.added(100, Some(1), None);
        count
    }

    #[test]
    fn a_first_scan_is_counted_while_it_is_written() {
        let bed = Bed::new();
        let files = [
            file("a", 100, 1),
            file("sub/b", 100, 2),
            file("sub/link", 100, 2),
            file("c", 60_000, 3).content(2),
            file("d", 60_000, 4).content(2),
            file("alone", 7, 5).unread(),
            file("empty", 0, 6),
        ];
        let count = bed.scan_and_count("/root", &files);
        let gathered = count.and_then(RunningCount::gathered);
        assert!(gathered.is_some(), "it was spoiled");
        // Building a list compares such a count with the rows.
        let bed = Bed::new();
        let count = bed.scan_and_count("/root", &files);
        let list = GroupList::build_counted(bed.reader(), GroupFilter::default(), count);
        let totals = list.unwrap().totals();
        assert_eq!((totals.groups, totals.copies), (2, 4));
        assert_eq!(totals.undetermined, 0);
    }

    #[test]
    fn what_was_not_read_is_undetermined_beside_others_of_its_size() {
        let bed = Bed::new();
        let files = [file("a", 100, 1), file("b", 100, 2).unread()];
        let count = bed.scan_and_count("/root", &files);
        assert!(count.is_some());
        let list = GroupList::build_counted(bed.reader(), GroupFilter::default(), count);
        assert_eq!(list.unwrap().totals().undetermined, 2);
    }

    #[test]
    fn a_catalog_that_held_files_is_not_counted() {
        let bed = Bed::new();
        bed.scan("/root", &[file("a", 100, 1)]);
        let count = bed.scan_and_count("/root", &[file("a", 100, 1), file("b", 100, 2)]);
        assert!(count.is_none());
    }

    #[test]
    fn news_in_the_usual_order_are_followed() {
        let mut count = count();
        let probe = Probe(7);
        count.learned(100, Some(1), &FileOutcome::Probed { probe, racy: false });
        count.learned(100, Some(1), &digested(3));
        assert!(count.gathered().is_some());
    }

    #[test]
    fn whatever_else_happens_spoils_it() {
        let mut listed_twice = count();
        listed_twice.begin_folder(FOLDER, VOLUME);
        let mut on_two_volumes = count();
        on_two_volumes.begin_folder(FolderId(2), VolumeId(2));
        let mut without_inode = count();
        without_inode.added(100, None, None);
        let mut vanished = count();
        vanished.learned(100, Some(1), &FileOutcome::Vanished);
        let mut digested_twice = count();
        for byte in [3, 3] {
            digested_twice.learned(100, Some(1), &digested(byte));
        }
        let mut of_two_sizes = count();
        of_two_sizes.added(200, Some(1), None);
        let mut known_by_one_name = count();
        let probe = SampleHash::Probe(Probe(7));
        known_by_one_name.added(100, Some(1), Some(probe));
        let mut of_two_minds = count();
        of_two_minds.added(100, Some(1), None);
        for byte in [3, 4] {
            of_two_minds.learned(100, Some(1), &digested(byte));
        }
        let mut read_again = count();
        let hash = SampleHash::Digest(Digest::from_bytes(&[3; 32]).unwrap());
        read_again.added(100, Some(2), Some(hash));
        read_again.learned(100, Some(2), &digested(4));
        let mut full = RunningCount::bounded(1);
        full.begin_folder(FOLDER, VOLUME);
        full.added(100, Some(1), None);
        let spoiled = [
            listed_twice,
            on_two_volumes,
            without_inode,
            vanished,
            digested_twice,
            of_two_sizes,
            known_by_one_name,
            of_two_minds,
            read_again,
            full,
        ];
        for (number, count) in spoiled.into_iter().enumerate() {
            assert!(count.gathered().is_none(), "{number}");
        }
    }
}
