//! The first pass: counts the copies of every digest. Rows become entries of
//! 24 bytes, which are sorted and walked; what a file occupies takes 32 more,
//! but only where that is less than its size. What does not fit into memory at
//! once is done in parts, each with the digests of one range.

use rayon::slice::ParallelSliceMut;
use rusqlite::Row;

use super::classes::{self, Class, Classes, Recent, State};
use super::filter::{GroupFilter, Whereabouts};
use super::ranking::{Ranked, Ranking};
use crate::catalog::query::paths::RootPaths;
use crate::catalog::query::sweep::{Key, Keyed, Part, Parts, Pass, Position, Readers, Sink};
use crate::catalog::store::terms::{COMPARED, UNREAD, UNRESOLVED};
use crate::catalog::store::{CatalogError, rows, unsigned};
use crate::model::{CopyNumbers, Digest, Reach, RootId, Totals, occupied, reclaimable};

/// What is counted, and from what.
pub(crate) struct Count<'a> {
    pub(crate) filter: &'a GroupFilter,
    pub(crate) roots: &'a RootPaths,
    /// Whether to find out, too, if a file may be unchecked.
    pub(crate) unresolved: bool,
    /// Bytes that entries and ranked groups may take together.
    pub(crate) room: usize,
}

/// What a count found beside the ranking.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) totals: Totals,
    /// Whether a file may be unchecked.
    pub(crate) has_unresolved: bool,
}

/// One name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) key: Key,
    pub(crate) size: i64,
    pub(crate) copy: u64,
}

/// What a name's file occupies; gathered only where that is less than its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Sparse {
    key: Key,
    size: i64,
    copy: u64,
    occupied: u64,
}

/// Where one name is; gathered only for a filter that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    key: Key,
    size: i64,
    copy: u64,
    reach: Reach,
    place: Whereabouts<RootId>,
}

/// What was gathered from rows.
#[derive(Default)]
pub(crate) struct Gathered {
    entries: Vec<Entry>,
    sparse: Vec<Sparse>,
    marks: Vec<Mark>,
    classes: Vec<Class>,
    /// What this thread gathered last.
    recent: Recent,
}

impl Count<'_> {
    /// Counts all groups and puts those that pass the filter into `ranking`.
    pub(crate) fn run(
        &self,
        readers: &mut Readers,
        ranking: &mut Ranking,
    ) -> Result<Counted, CatalogError> {
        let mut counted = Counted::default();
        let classes = Classes::default();
        let names = readers.first().catalog.files_expected()?;
        ranking.reserve(names);
        let expected = names.saturating_mul(self.bytes_each());
        let parts = Parts::new(expected);
        let mut next = Some(parts.first(self.room));
        while let Some(part) = next {
            let room = self.room_beside(ranking);
            let empty = self.reserved(expected.min(room));
            let (mut gathered, done) =
                self.gather(readers, part, &classes, Sink::new(part, room, empty))?;
            let bytes = gathered.bytes();
            counted.has_unresolved |= classes::is_some_open(&mut gathered.classes);
            self.walk(gathered, &mut counted.totals, ranking);
            next = parts.next(done, bytes, self.room_beside(ranking));
        }
        Ok(counted)
    }

    /// The room left beside the groups found so far; never so little that there
    /// would be too many parts.
    fn room_beside(&self, ranking: &Ranking) -> usize {
        let left = self.room.saturating_sub(ranking.bytes());
        left.max(self.room / 4)
    }

    fn bytes_each(&self) -> usize {
        let mut each = size_of::<Entry>();
        if self.filter.judges_places() {
            each += size_of::<Mark>();
        }
        each
    }

    /// Reserved memory is used only as it is filled, while growing would need it
    /// twice for a moment.
    fn reserved(&self, bytes: usize) -> Gathered {
        let names = bytes / self.bytes_each();
        let or_none = |is_used| if is_used { names } else { 0 };
        Gathered {
            entries: Vec::with_capacity(names),
            sparse: Vec::new(),
            marks: Vec::with_capacity(or_none(self.filter.judges_places())),
            classes: Vec::new(),
            recent: Recent::default(),
        }
    }

    /// Gathers `part`, or as much of it as there is room for.
    fn gather(
        &self,
        readers: &mut Readers,
        part: Part,
        classes: &Classes,
        sink: Sink<Gathered>,
    ) -> Result<(Gathered, Part), CatalogError> {
        let gathering = Gathering {
            count: self,
            sql: self.sql(part),
            sink,
            copies: CopyNumbers::default(),
            classes,
        };
        readers.sweep(&gathering)?;
        Ok(gathering.sink.finish())
    }

    /// The query skips rows of other parts before most of their columns are
    /// decoded. Finding unchecked files needs all rows.
    fn sql(&self, part: Part) -> String {
        let name = match self.filter.judges_names() {
            true => "name",
            false => "NULL",
        };
        let wanted = match self.unresolved {
            true => String::new(),
            false => format!("AND (digest IS NOT NULL AND {} OR size = 0)", keys_of(part)),
        };
        format!(
            "SELECT folder, size, ino, digest, {name}, probe, {UNREAD}, {UNRESOLVED}, link,
                    allocated
               FROM files
              WHERE folder BETWEEN ?1 AND ?2 {wanted} AND removed_in IS NULL AND {COMPARED}
              ORDER BY folder"
        )
    }

    /// Walks sorted entries and keeps the groups that pass the filter.
    fn walk(&self, mut gathered: Gathered, totals: &mut Totals, ranking: &mut Ranking) {
        gathered.entries.par_sort_unstable();
        gathered.sparse.par_sort_unstable();
        gathered.marks.par_sort_unstable();
        let mut sparse = gathered
            .sparse
            .chunk_by(|a, b| (a.key, a.size) == (b.key, b.size))
            .peekable();
        let mut marks = gathered
            .marks
            .chunk_by(|a, b| (a.key, a.size) == (b.key, b.size));
        let entries = gathered
            .entries
            .chunk_by(|a, b| (a.key, a.size) == (b.key, b.size));
        for names in entries {
            let copies = names.chunk_by(|a, b| a.copy == b.copy).count();
            let id = (names[0].key, names[0].size);
            let sparse = sparse.next_if(|sparse| (sparse[0].key, sparse[0].size) == id);
            // Either every entry has its mark, or there are none.
            let places = marks.next();
            if (copies as u64) < self.filter.fewest()
                || places.is_some_and(|places| !self.wants_places(places))
            {
                continue;
            }
            let group = Ranked {
                key: names[0].key,
                size: unsigned(names[0].size),
                reclaimable: reclaimable_of(unsigned(names[0].size), copies, sparse),
                copies: u32::try_from(copies).unwrap_or(u32::MAX),
                names: u32::try_from(names.len()).unwrap_or(u32::MAX),
            };
            totals.groups += 1;
            totals.copies += copies as u64;
            totals.reclaimable = totals.reclaimable.saturating_add(group.reclaimable);
            ranking.push(group);
        }
    }

    fn wants_places(&self, places: &[Mark]) -> bool {
        // A copy is where its best names are: a linked folder adds no place.
        let copies = places.chunk_by(|a, b| a.copy == b.copy);
        let marks =
            copies.flat_map(|marks| marks.iter().filter(|mark| mark.reach == marks[0].reach));
        self.filter.wants_places(marks.map(|mark| mark.place))
    }
}

/// What is saved by keeping one of these copies, some of which are sparse.
fn reclaimable_of(size: u64, copies: usize, sparse: Option<&[Sparse]>) -> u64 {
    let sparse = sparse.unwrap_or_default().chunk_by(|a, b| a.copy == b.copy);
    // The least of what the names of a copy say comes first.
    let sparse: Vec<u64> = sparse.map(|names| names[0].occupied).collect();
    let others = std::iter::repeat_n(size, copies - sparse.len());
    reclaimable(sparse.into_iter().chain(others))
}

/// True of the digests of a part. One that is too short or too long is of some
/// part, too: it must be met to be refused.
fn keys_of(part: Part) -> String {
    let first = format!("{:016x}", part.first.0);
    let mut first = first.as_str();
    while let Some(shorter) = first.strip_suffix("00") {
        first = shorter;
    }
    match part.last.0 {
        u64::MAX => format!("digest >= x'{first}'"),
        last => {
            let rest = "ff".repeat(Digest::MAX_LEN);
            format!("digest BETWEEN x'{first}' AND x'{last:016x}{rest}'")
        }
    }
}

/// One part being gathered, by several threads.
struct Gathering<'a> {
    count: &'a Count<'a>,
    sql: String,
    sink: Sink<Gathered>,
    copies: CopyNumbers,
    classes: &'a Classes,
}

impl Pass for Gathering<'_> {
    type Batch = Gathered;

    fn sql(&self) -> &str {
        &self.sql
    }

    fn sink(&self) -> &Sink<Gathered> {
        &self.sink
    }

    fn take(
        &self,
        row: &Row<'_>,
        at: &mut Position<'_>,
        batch: &mut Gathered,
    ) -> Result<(), CatalogError> {
        let Some(place) = at.place(row)? else {
            return Ok(());
        };
        let size: i64 = row.get(1)?;
        let ino: Option<i64> = row.get(2)?;
        let copy = self.copies.of(place.copy(ino));
        if self.count.unresolved && size > 0 {
            let state = State {
                size,
                probe: row.get(5)?,
                is_unread: row.get(6)?,
                is_unresolved: row.get(7)?,
            };
            let classes = self.classes.of(state, copy);
            let is_news =
                |class: &Class| self.sink.takes(class.key()) && !batch.recent.knows(*class);
            batch.classes.extend(classes.filter(is_news));
        }
        let filter = self.count.filter;
        let reach = place.reach(row.get(8)?);
        if !reach.is_real(ino.is_some()) {
            return Ok(());
        }
        let key = filter
            .content(size, rows::digest_bytes(row, 3)?)
            .map(Key::of);
        let is_wanted = |key: &Key| self.sink.takes(*key) && filter.sizes().contains(&size);
        match key.filter(is_wanted) {
            Some(key) => self.enter(
                Entry { key, size, copy },
                row,
                (place.root, reach, at),
                batch,
            ),
            None => Ok(()),
        }
    }
}

impl Gathering<'_> {
    /// Enters a file that passes the filter, and where it is if a filter asks.
    fn enter(
        &self,
        entry: Entry,
        row: &Row<'_>,
        (root, reach, at): (RootId, Reach, &mut Position<'_>),
        batch: &mut Gathered,
    ) -> Result<(), CatalogError> {
        let Count { filter, roots, .. } = self.count;
        let mut place = Whereabouts { root, folder: None };
        if filter.judges_names() {
            let (folder, name) = (row.get(0)?, rows::name(row, 4)?);
            if !filter.admits(at.catalog, at.paths, folder, &name)? {
                return Ok(());
            }
            if !filter.below.is_empty() {
                let path = roots.absolute(at.catalog, at.paths, folder, &name)?;
                place = filter.whereabouts(root, &path);
            }
        }
        if filter.judges_places() {
            batch.marks.push(Mark {
                key: entry.key,
                size: entry.size,
                copy: entry.copy,
                reach,
                place,
            });
        }
        let (Entry { key, size, copy }, allocated) = (entry, row.get::<_, i64>(9)?);
        if allocated < size {
            batch.sparse.push(Sparse {
                key,
                size,
                copy,
                occupied: occupied(unsigned(size), unsigned(allocated)),
            });
        }
        batch.entries.push(entry);
        Ok(())
    }
}

impl Keyed for Gathered {
    fn len(&self) -> usize {
        self.entries.len() + self.classes.len()
    }

    fn bytes(&self) -> usize {
        let names = size_of_val(&*self.entries) + size_of_val(&*self.sparse);
        names + size_of_val(&*self.marks) + size_of_val(&*self.classes)
    }

    fn append(&mut self, other: &mut Self) {
        self.entries.append(&mut other.entries);
        self.sparse.append(&mut other.sparse);
        self.marks.append(&mut other.marks);
        self.classes.append(&mut other.classes);
    }

    fn keys(&self) -> impl Iterator<Item = Key> {
        // All else has the keys of entries.
        let entries = self.entries.iter().map(|entry| entry.key);
        entries.chain(self.classes.iter().map(Class::key))
    }

    fn keep_up_to(&mut self, last: Key) {
        self.entries.retain(|entry| entry.key <= last);
        self.sparse.retain(|sparse| sparse.key <= last);
        self.marks.retain(|mark| mark.key <= last);
        self.classes.retain(|class| class.key() <= last);
    }
}
