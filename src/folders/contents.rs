//! Which files are equal: files as rows of columns, and the numbers of their
//! contents. Compact, since all files of the catalog are in memory: 25 bytes for
//! a file, and what is worked out of one column before the next is needed.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::Range;

use rayon::slice::ParallelSliceMut;

use super::facts::FileFact;
use super::narrow;
use super::sizes::Sizes;
use crate::model::{CopyId, CopyNumbers};

/// The content of every empty file.
pub(crate) const EMPTY: u32 = 0;

const SETTLED: u8 = 1;
const DIGESTED: u8 = 2;
const COUNTS: u8 = 4;

/// No row, no content.
const NONE: u32 = u32::MAX;

/// Rows are sorted in so many portions, so that the list of those being sorted
/// takes next to no memory.
const PORTIONS: u64 = 16;

/// The files of a catalog, a column per property.
#[derive(Default)]
pub(crate) struct Rows {
    sizes: Sizes,
    /// The number of the copy that each is a name of.
    places: Vec<u64>,
    /// Keys of digests. Two digests share a key as rarely as a disk lies, and
    /// nobody can provoke it, since keys differ from run to run.
    digests: Vec<u64>,
    flags: Vec<u8>,
    /// Probes, by row, for those that have one.
    probes: Vec<(u32, i64)>,
    numbers: CopyNumbers,
    keys: RandomState,
    /// What the files occupy that occupy less than their size.
    sparse: Vec<(u32, u64)>,
}

/// Files that may be equal: same size, and same probe for those that have one.
type Class = (u64, Option<i64>);

/// What is known by content. Rare contents have small numbers, after
/// [`EMPTY`]: those found in fewest folders come first.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    sizes: Sizes,
    certain: Vec<bool>,
    /// The first content that is in more than one folder.
    first_shared: u32,
    /// Names of each content among the files that count; many are not counted.
    names: Vec<u8>,
    /// Whether a file that was not read may have the content, by the catalog's
    /// rule for unchecked files.
    unresolved: Vec<bool>,
}

impl Contents {
    /// How many contents there are, [`EMPTY`] included.
    pub(crate) fn len(&self) -> usize {
        self.certain.len()
    }

    pub(crate) fn size(&self, content: u32) -> u64 {
        self.sizes.get(content)
    }

    pub(crate) fn is_certain(&self, content: u32) -> bool {
        self.certain[content as usize]
    }

    /// The first content, by number, that is in more than one folder.
    pub(crate) fn first_shared(&self) -> u32 {
        self.first_shared
    }

    /// Whether a content is in more than one folder.
    pub(crate) fn is_shared(&self, content: u32) -> bool {
        content >= self.first_shared
    }

    /// Whether exactly one file has this content, whatever the uncertain ones
    /// turn out to be.
    pub(crate) fn is_unique(&self, content: u32) -> bool {
        self.names[content as usize] == 1
            && self.is_certain(content)
            && !self.is_unresolved(content)
    }

    /// Whether it may equal a content that is not known: that of a file that
    /// was not read, of the same size, or of the same size and probe.
    pub(crate) fn is_unresolved(&self, content: u32) -> bool {
        self.unresolved[content as usize]
    }
}

/// The copies seen of one class of files.
enum Seen {
    None,
    One(u32),
    Several,
}

impl Seen {
    fn note(&mut self, copy: u32) {
        *self = match self {
            Self::None => Self::One(copy),
            Self::One(known) if *known == copy => return,
            _ => Self::Several,
        };
    }
}

impl Rows {
    pub(crate) fn with_capacity(files: usize) -> Self {
        let mut rows = Self {
            places: Vec::with_capacity(files),
            digests: Vec::with_capacity(files),
            flags: Vec::with_capacity(files),
            ..Self::default()
        };
        rows.sizes.reserve(files);
        rows
    }

    pub(crate) fn push(&mut self, fact: &FileFact<'_>) -> u32 {
        let at = narrow(self.flags.len());
        let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
        let copy = CopyId::of(Some(fact.volume), fact.ino);
        let digest = fact.digest.map(|digest| self.keys.hash_one(digest));
        if fact.occupied < fact.size {
            self.sparse.push((at, fact.occupied));
        }
        self.sizes.push(fact.size);
        self.places.push(self.numbers.of(copy));
        self.digests.push(digest.unwrap_or_default());
        self.probes.extend(fact.probe.map(|probe| (at, probe)));
        self.flags.push(
            flag(fact.is_settled, SETTLED)
                | flag(digest.is_some(), DIGESTED)
                | flag(fact.counts, COUNTS),
        );
        at
    }

    fn has(&self, row: u32, flag: u8) -> bool {
        self.flags[row as usize] & flag != 0
    }

    pub(crate) fn counts(&self, row: u32) -> bool {
        self.has(row, COUNTS)
    }

    fn is_digested(&self, row: u32) -> bool {
        self.has(row, DIGESTED)
    }

    fn is_empty_file(&self, row: u32) -> bool {
        self.sizes.get(row) == 0
    }

    fn probe(&self, row: u32) -> Option<i64> {
        let found = self.probes.binary_search_by_key(&row, |(row, _)| *row);
        found.ok().map(|at| self.probes[at].1)
    }

    fn all(&self) -> Range<u32> {
        0..narrow(self.flags.len())
    }

    /// The copy that each row is a name of, and the names of each copy that has
    /// several. The places are not needed after that.
    pub(crate) fn copies(&mut self) -> (Vec<u32>, HashMap<u32, u32>) {
        let places = std::mem::take(&mut self.places);
        let (mut copies, mut names) = (vec![NONE; places.len()], HashMap::new());
        let mut next = 0;
        each_equal(
            &self.all(),
            |row| places[row as usize],
            |same| {
                for &row in same {
                    copies[row as usize] = next;
                }
                if same.len() > 1 {
                    names.insert(next, narrow(same.len()));
                }
                next += 1;
            },
        );
        (copies, names)
    }

    /// What the copies occupy that occupy less than their size; the least of what
    /// their names say.
    pub(crate) fn sparse(&self, copies: &[u32]) -> HashMap<u32, u64> {
        let mut sparse = HashMap::with_capacity(self.sparse.len());
        for &(row, occupied) in &self.sparse {
            let least = sparse.entry(copies[row as usize]).or_insert(occupied);
            *least = occupied.min(*least);
        }
        sparse
    }

    /// The content of each row, and what is known by content. `folders` are
    /// the rows of each folder.
    pub(crate) fn contents(
        &mut self,
        copies: &[u32],
        folders: &[Range<u32>],
    ) -> (Vec<u32>, Contents) {
        let mut contents = vec![NONE; self.flags.len()];
        let mut found = Contents::with_capacity(self.flags.len());
        for row in self.all().filter(|&row| self.is_empty_file(row)) {
            contents[row as usize] = EMPTY;
        }
        self.number_digests(&mut contents, &mut found);
        let classes = self.classes(&contents, copies);
        self.number_copies(copies, &classes, &mut contents, &mut found);
        self.mark_unresolved(&classes, &contents, &mut found);
        self.sizes = Sizes::default();
        self.rank(folders, &mut contents, &mut found);
        (contents, found)
    }

    /// Equal digests are equal contents. They are not needed after that.
    fn number_digests(&mut self, contents: &mut [u32], found: &mut Contents) {
        let digests = std::mem::take(&mut self.digests);
        let is_wanted = |row: &u32| self.is_digested(*row) && !self.is_empty_file(*row);
        let content = |row: u32| (digests[row as usize], self.sizes.get(row));
        each_equal(&self.all().filter(is_wanted), content, |same| {
            let content = found.add(self.sizes.get(same[0]), true);
            for &row in same {
                contents[row as usize] = content;
            }
        });
    }

    /// A file without a digest equals only the other names of its copy.
    fn number_copies(
        &self,
        copies: &[u32],
        classes: &HashMap<Class, Seen>,
        contents: &mut [u32],
        found: &mut Contents,
    ) {
        let size = |row: u32| self.sizes.get(row);
        let mut by_copy: Vec<u32> = self
            .all()
            .filter(|&row| contents[row as usize] == NONE)
            .collect();
        let mut digested = vec![NONE; copies.len()];
        for row in self.all().filter(|&row| self.is_digested(row)) {
            digested[copies[row as usize] as usize] = row;
        }
        let key = |row: u32| (copies[row as usize], size(row));
        by_copy.par_sort_unstable_by_key(|&row| key(row));
        for same in by_copy.chunk_by(|&a, &b| key(a) == key(b)) {
            let twin = digested[copies[same[0] as usize] as usize];
            let content = if twin != NONE && size(twin) == size(same[0]) {
                contents[twin as usize]
            } else {
                let is_certain = same.iter().all(|&row| self.is_resolved(row, classes));
                found.add(size(same[0]), is_certain)
            };
            for &row in same {
                contents[row as usize] = content;
            }
        }
    }

    /// Marks the contents that a file which was not read may have.
    fn mark_unresolved(
        &self,
        classes: &HashMap<Class, Seen>,
        contents: &[u32],
        found: &mut Contents,
    ) {
        let is_open = |class: Class| matches!(classes.get(&class), Some(Seen::Several));
        if !classes.keys().any(|&class| is_open(class)) {
            return;
        }
        for row in self.all() {
            let size = self.sizes.get(row);
            let probe = self.probe(row);
            if is_open((size, None)) || probe.is_some_and(|probe| is_open((size, Some(probe)))) {
                found.unresolved[contents[row as usize] as usize] = true;
            }
        }
    }

    /// The copies in each class that an unresolved file belongs to. Files that
    /// have no content yet may be such.
    fn classes(&self, contents: &[u32], copies: &[u32]) -> HashMap<Class, Seen> {
        let without = self.all().filter(|&row| contents[row as usize] == NONE);
        let classes = without.filter_map(|row| self.class(row));
        let mut classes: HashMap<Class, Seen> = classes.map(|class| (class, Seen::None)).collect();
        for row in self.all() {
            let copy = copies[row as usize];
            let mut note = |class: Class| {
                if let Some(seen) = classes.get_mut(&class) {
                    seen.note(copy);
                }
            };
            let size = self.sizes.get(row);
            note((size, None));
            if let Some(probe) = self.probe(row) {
                note((size, Some(probe)));
            }
        }
        classes
    }

    /// The class in which a file may have an equal; `None` where it has none.
    fn class(&self, row: u32) -> Option<Class> {
        let is_resolved = self.is_digested(row) || self.has(row, SETTLED);
        (!is_resolved).then(|| (self.sizes.get(row), self.probe(row)))
    }

    fn is_resolved(&self, row: u32, classes: &HashMap<Class, Seen>) -> bool {
        self.class(row)
            .is_none_or(|class| matches!(classes.get(&class), Some(Seen::One(_))))
    }

    /// Renumbers the contents, those in the fewest folders first, then in the
    /// order of their first names.
    fn rank(&self, folders: &[Range<u32>], contents: &mut [u32], found: &mut Contents) {
        const MET: u32 = NONE - 1;
        let mut last_folder = vec![NONE; found.len()];
        let mut spread = vec![0_u16; found.len()];
        let mut order: Vec<u32> = Vec::with_capacity(found.len());
        found.names = vec![0; found.len()];
        order.push(EMPTY);
        for (folder, rows) in (0_u32..).zip(folders) {
            for row in rows.clone() {
                let content = contents[row as usize];
                let at = content as usize;
                if content != EMPTY && last_folder[at] == NONE {
                    last_folder[at] = MET;
                    order.push(content);
                }
                if !self.counts(row) {
                    continue;
                }
                found.names[at] = found.names[at].saturating_add(1);
                if last_folder[at] != folder {
                    last_folder[at] = folder;
                    spread[at] = spread[at].saturating_add(1);
                }
            }
        }
        drop(last_folder);
        order[1..].par_sort_by_key(|&content| spread[content as usize]);
        let first_shared = order[1..].partition_point(|&content| spread[content as usize] < 2);
        drop(spread);
        found.first_shared = 1 + narrow(first_shared);
        renumber(contents, &order);
        found.reorder(&order);
    }
}

/// Gives contents the numbers of their places in `order`.
fn renumber(contents: &mut [u32], order: &[u32]) {
    let mut ranks = vec![EMPTY; order.len()];
    for (rank, &content) in (0..).zip(order) {
        ranks[content as usize] = rank;
    }
    for content in contents {
        *content = ranks[*content as usize];
    }
}

/// Shows rows with equal keys together, portion by portion.
fn each_equal<K: Ord + Hash + Send>(
    rows: &(impl Iterator<Item = u32> + Clone),
    key: impl Fn(u32) -> K + Sync,
    mut show: impl FnMut(&[u32]),
) {
    let portions = RandomState::new();
    let portion = |row: &u32| portions.hash_one(key(*row)) % PORTIONS;
    let mut sorted: Vec<u32> = Vec::new();
    for number in 0..PORTIONS {
        sorted.clear();
        sorted.extend(rows.clone().filter(|row| portion(row) == number));
        sorted.par_sort_unstable_by(|&a, &b| (key(a), a).cmp(&(key(b), b)));
        for same in sorted.chunk_by(|&a, &b| key(a) == key(b)) {
            show(same);
        }
    }
}

impl Contents {
    /// Only [`EMPTY`] so far, with room for the contents of `rows`.
    fn with_capacity(rows: usize) -> Self {
        let mut contents = Self {
            certain: Vec::with_capacity(rows + 1),
            unresolved: Vec::with_capacity(rows + 1),
            ..Self::default()
        };
        contents.sizes.reserve(rows + 1);
        contents.add(0, true);
        contents
    }

    fn add(&mut self, size: u64, certain: bool) -> u32 {
        self.certain.push(certain);
        self.unresolved.push(false);
        self.sizes.push(size)
    }

    fn reorder(&mut self, order: &[u32]) {
        let mut sizes = Sizes::default();
        sizes.reserve(order.len());
        for &content in order {
            sizes.push(self.sizes.get(content));
        }
        self.sizes = sizes;
        self.certain = order.iter().map(|&c| self.certain[c as usize]).collect();
        self.unresolved = order.iter().map(|&c| self.unresolved[c as usize]).collect();
        self.names = order.iter().map(|&c| self.names[c as usize]).collect();
    }
}
