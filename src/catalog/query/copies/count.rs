//! Counts the copies of every content, on several connections and in parts that
//! fit into memory, and finds out which copies have too few: their sums, and
//! where the first of them are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};

use rayon::slice::ParallelSliceMut;
use rusqlite::Row;

use crate::catalog::query::files::FileFilter;
use crate::catalog::query::sweep::{Key, Keyed, Parts, Pass, Position, Readers, Sink};
use crate::catalog::query::unresolved::Open;
use crate::catalog::store::terms::COMPARED;
use crate::catalog::store::{CatalogError, rows, unsigned};
use crate::model::{CopyNumbers, FolderId};

/// Bytes for names, at 32 each. Beyond that, files are read again.
const ROOM: usize = 160 << 20;

/// The sums over copies with too few others.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct FewTotals {
    /// Copies that are not unchecked.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Copies that are unchecked.
    pub unchecked_files: u64,
    /// Their bytes.
    pub unchecked_bytes: u64,
}

impl FewTotals {
    fn add(&mut self, size: u64, is_unchecked: bool) {
        let (files, bytes) = match is_unchecked {
            true => (&mut self.unchecked_files, &mut self.unchecked_bytes),
            false => (&mut self.files, &mut self.bytes),
        };
        *files += 1;
        *bytes = bytes.saturating_add(size);
    }
}

/// What is asked.
pub(super) struct Question {
    pub(super) filter: FileFilter,
    /// The folders whose files are listed; `None` for all.
    pub(super) folders: Option<HashSet<FolderId>>,
    /// Copies of contents with fewer than this are listed.
    pub(super) under: u64,
    /// How many copies are wanted; `None` for all.
    pub(super) most: Option<u64>,
}

/// What is known of all files together.
pub(super) struct Known {
    pub(super) open: Open,
    pub(super) corrupted: HashSet<(FolderId, OsString)>,
    /// Two digests share a key as rarely as a disk lies, and nobody can provoke
    /// it, since keys differ from run to run.
    keys: RandomState,
}

/// Files of one rank come together: unchecked ones last, largest first.
pub(super) type Rank = (bool, Reverse<i64>);

/// The answer.
#[derive(Default)]
pub(super) struct Counted {
    pub(super) totals: FewTotals,
    pub(super) first: First,
    contents: Vec<(Key, Content)>,
}

/// What is known of one content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Content {
    /// Its copies that are not corrupted.
    pub(super) copies: u64,
    pub(super) is_corrupted: bool,
}

impl Content {
    pub(super) const ALONE: Self = Self {
        copies: 1,
        is_corrupted: false,
    };
}

impl Known {
    pub(super) fn new(open: Open, corrupted: HashSet<(FolderId, OsString)>) -> Self {
        Self {
            open,
            corrupted,
            keys: RandomState::new(),
        }
    }

    pub(super) fn key(&self, digest: &[u8]) -> Key {
        Key(self.keys.hash_one(digest))
    }
}

impl Counted {
    /// What is known of a content. Few have a row here: others exist once.
    pub(super) fn content(&self, key: Key) -> Content {
        let found = self.contents.binary_search_by_key(&key, |(key, _)| *key);
        found.map_or(Content::ALONE, |at| self.contents[at].1)
    }
}

/// The folders of the copies that come first, as many as are wanted, and of all
/// others of their rank.
#[derive(Default)]
pub(super) struct First {
    copies: u64,
    by_rank: BTreeMap<Rank, (u64, Vec<FolderId>)>,
}

impl First {
    fn add(&mut self, rank: Rank, names: impl Iterator<Item = FolderId>, most: u64) {
        let last = self.by_rank.last_key_value();
        if most == 0 || self.copies >= most && last.is_some_and(|(last, _)| rank > *last) {
            return;
        }
        let (copies, folders) = self.by_rank.entry(rank).or_default();
        *copies += 1;
        folders.extend(names);
        self.copies += 1;
        while let Some((_, (copies, _))) = self.by_rank.last_key_value()
            && self.copies - copies >= most
        {
            self.copies -= copies;
            self.by_rank.pop_last();
        }
    }

    /// The last rank that is wanted.
    pub(super) fn last(&self) -> Option<Rank> {
        self.by_rank.last_key_value().map(|(rank, _)| *rank)
    }

    /// The smallest size that is wanted.
    pub(super) fn smallest(&self) -> Option<i64> {
        self.by_rank.keys().map(|(_, Reverse(size))| *size).min()
    }

    /// The folders, each once.
    pub(super) fn folders(&self) -> HashSet<FolderId> {
        let ranks = self.by_rank.values();
        ranks.flat_map(|(_, folders)| folders).copied().collect()
    }
}

/// One name. What is asked about it is in the lowest bits of `folder`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    key: Key,
    copy: u64,
    size: i64,
    folder: i64,
}

const LISTED: i64 = 1;
const OPEN: i64 = 2;
const CORRUPTED: i64 = 4;
const FLAGS: u32 = 3;

impl Name {
    fn is(&self, flag: i64) -> bool {
        self.folder & flag != 0
    }

    fn folder(&self) -> FolderId {
        FolderId(self.folder >> FLAGS)
    }
}

/// Counts all copies that `question` asks about.
pub(super) fn count(
    readers: &mut Readers,
    question: &Question,
    known: &Known,
) -> Result<Counted, CatalogError> {
    let names = readers.first().catalog.files_expected()?;
    let expected = names.saturating_mul(size_of::<Name>());
    let mut counted = Counted::default();
    readers.on_snapshot(|readers| {
        let parts = Parts::new(expected);
        let mut next = Some(parts.first(ROOM));
        while let Some(part) = next {
            let reserved = Vec::with_capacity(expected.min(ROOM) / size_of::<Name>());
            let gathering = Gathering {
                question,
                known,
                sql: sql(question, known),
                sink: Sink::new(part, ROOM, reserved),
                copies: CopyNumbers::default(),
            };
            readers.sweep(&gathering)?;
            let (names, done) = gathering.sink.finish();
            let bytes = names.bytes();
            counted.add_all(names, question);
            next = parts.next(done, bytes, ROOM);
        }
        Ok(())
    })?;
    Ok(counted)
}

impl Counted {
    fn add_all(&mut self, mut names: Vec<Name>, question: &Question) {
        names.par_sort_unstable();
        for names in names.chunk_by(|a, b| a.key == b.key) {
            let copies = || names.chunk_by(|a, b| a.copy == b.copy);
            let is_corrupted = |names: &&[Name]| names.iter().any(|name| name.is(CORRUPTED));
            let corrupted = copies().filter(is_corrupted).count();
            let content = Content {
                copies: (copies().count() - corrupted) as u64,
                is_corrupted: corrupted > 0,
            };
            if content != Content::ALONE {
                self.contents.push((names[0].key, content));
            }
            let is_few = content.copies < question.under;
            let is_listed = |name: &&Name| name.is(LISTED) && (is_few || name.is(CORRUPTED));
            for names in copies() {
                let listed = || names.iter().filter(is_listed);
                if let Some(name) = listed().next() {
                    let is_unchecked = content.is_corrupted || name.is(OPEN);
                    self.totals.add(unsigned(name.size), is_unchecked);
                    let rank = (is_unchecked, Reverse(name.size));
                    let most = question.most.unwrap_or(0);
                    self.first.add(rank, listed().map(Name::folder), most);
                }
            }
        }
    }
}

fn sql(question: &Question, known: &Known) -> String {
    let name = match question.filter.judges_names() || !known.corrupted.is_empty() {
        true => "name",
        false => "NULL",
    };
    format!(
        "SELECT folder, size, ino, digest, link, probe, {name} FROM files
          WHERE folder BETWEEN ?1 AND ?2 AND size > 0 AND removed_in IS NULL
            AND {COMPARED}
          ORDER BY folder"
    )
}

/// One part being gathered, by several threads.
struct Gathering<'a> {
    question: &'a Question,
    known: &'a Known,
    sql: String,
    sink: Sink<Vec<Name>>,
    copies: CopyNumbers,
}

impl Pass for Gathering<'_> {
    type Batch = Vec<Name>;

    fn sql(&self) -> &str {
        &self.sql
    }

    fn sink(&self) -> &Sink<Vec<Name>> {
        &self.sink
    }

    fn take(
        &self,
        row: &Row<'_>,
        at: &mut Position<'_>,
        batch: &mut Vec<Name>,
    ) -> Result<(), CatalogError> {
        let Some(place) = at.place(row)? else {
            return Ok(());
        };
        let (size, ino): (i64, Option<i64>) = (row.get(1)?, row.get(2)?);
        if !place.reach(row.get(4)?).is_real(ino.is_some()) {
            return Ok(());
        }
        let copy = self.copies.of(place.copy(ino));
        let key = match rows::digest_bytes(row, 3)? {
            Some(digest) => self.known.key(digest),
            // One that was not read counts by itself.
            None => Key(self.known.keys.hash_one(copy)),
        };
        if !self.sink.takes(key) {
            return Ok(());
        }
        let flags = self.flags(row, size, at)?;
        let folder: i64 = row.get(0)?;
        batch.push(Name {
            key,
            copy,
            size,
            folder: folder << FLAGS | flags,
        });
        Ok(())
    }
}

impl Gathering<'_> {
    fn flags(&self, row: &Row<'_>, size: i64, at: &mut Position<'_>) -> Result<i64, CatalogError> {
        let Self {
            question, known, ..
        } = self;
        let folder: FolderId = row.get(0)?;
        let mut flags = 0;
        if known.open.has(size, row.get(5)?) {
            flags |= OPEN;
        }
        if !known.corrupted.is_empty() && known.corrupted.contains(&(folder, rows::name(row, 6)?)) {
            flags |= CORRUPTED;
        }
        let filter = &question.filter;
        let (low, high) = filter.sizes();
        let folders = question.folders.as_ref();
        if (low..=high).contains(&size)
            && folders.is_none_or(|folders| folders.contains(&folder))
            && (!filter.judges_names()
                || filter.admits(at.catalog, at.paths, folder, &rows::name(row, 6)?)?)
        {
            flags |= LISTED;
        }
        Ok(flags)
    }
}

impl Keyed for Vec<Name> {
    fn len(&self) -> usize {
        self.len()
    }

    fn bytes(&self) -> usize {
        size_of_val(&**self)
    }

    fn append(&mut self, other: &mut Self) {
        Self::append(self, other);
    }

    fn keys(&self) -> impl Iterator<Item = Key> {
        self.iter().map(|name| name.key)
    }

    fn keep_up_to(&mut self, last: Key) {
        self.retain(|name| name.key <= last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ranks_are_kept_whole() {
        let mut first = First::default();
        let ranks = [
            (false, 5),
            (true, 9),
            (false, 7),
            (false, 5),
            (false, 3),
            (false, 7),
        ];
        for ((is_unchecked, size), folder) in ranks.into_iter().zip(1..) {
            let rank = (is_unchecked, Reverse(size));
            first.add(rank, [FolderId(folder)].into_iter(), 3);
        }
        assert_eq!(first.last(), Some((false, Reverse(5))));
        assert_eq!(first.smallest(), Some(5));
        assert_eq!(first.folders(), HashSet::from([1, 3, 4, 6].map(FolderId)));
        assert_eq!(first.copies, 4);
    }
}
