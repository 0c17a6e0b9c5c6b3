//! Which files are equal: files as rows of columns, and the numbers of their
//! contents. Compact, since all files of the catalog are in memory.

use std::collections::HashMap;
use std::ops::Range;

use rayon::slice::ParallelSliceMut;

use super::facts::FileFact;
use super::narrow;

/// The content of every empty file.
pub(crate) const EMPTY: u32 = 0;

const SETTLED: u8 = 1;
const HAS_PROBE: u8 = 2;
const HAS_INODE: u8 = 4;
const COUNTS: u8 = 8;

/// No row, no content.
const NONE: u32 = u32::MAX;

/// The files of a catalog, a column per property.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    sizes: Vec<u64>,
    volumes: Vec<i64>,
    inodes: Vec<u64>,
    probes: Vec<i64>,
    flags: Vec<u8>,
    /// Which of the digests is the row's, or [`NONE`].
    slots: Vec<u32>,
    /// All digests, one after the other.
    digests: Vec<u8>,
    digest_length: usize,
    /// What the files occupy that occupy less than their size.
    sparse: Vec<(u32, u64)>,
}

/// Files that may be equal: same size, and same probe for those that have one.
type Class = (u64, Option<i64>);

/// What is known by content. Rare contents have small numbers, after
/// [`EMPTY`]: those found in fewest folders come first.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    sizes: Vec<u64>,
    certain: Vec<bool>,
    /// The first content that is in more than one folder.
    first_shared: u32,
    /// Names of each content among the files that count.
    names: Vec<u32>,
    /// Whether a file that was not read may have the content, by the catalog's
    /// rule for unchecked files.
    unresolved: Vec<bool>,
}

impl Contents {
    /// How many contents there are, [`EMPTY`] included.
    pub(crate) fn len(&self) -> usize {
        self.sizes.len()
    }

    pub(crate) fn size(&self, content: u32) -> u64 {
        self.sizes[content as usize]
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
        Self {
            sizes: Vec::with_capacity(files),
            volumes: Vec::with_capacity(files),
            inodes: Vec::with_capacity(files),
            probes: Vec::with_capacity(files),
            flags: Vec::with_capacity(files),
            slots: Vec::with_capacity(files),
            digests: Vec::new(),
            digest_length: 0,
            sparse: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, fact: &FileFact<'_>) -> u32 {
        let at = narrow(self.sizes.len());
        let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
        let slot = fact.digest.map_or(NONE, |digest| self.store(digest));
        if fact.occupied < fact.size {
            self.sparse.push((at, fact.occupied));
        }
        self.sizes.push(fact.size);
        self.volumes.push(fact.volume.0);
        self.inodes.push(fact.ino.unwrap_or(0));
        self.probes.push(fact.probe.unwrap_or(0));
        self.slots.push(slot);
        self.flags.push(
            flag(fact.is_settled, SETTLED)
                | flag(fact.probe.is_some(), HAS_PROBE)
                | flag(fact.ino.is_some(), HAS_INODE)
                | flag(fact.counts, COUNTS),
        );
        at
    }

    fn store(&mut self, digest: &[u8]) -> u32 {
        self.digest_length = digest.len();
        let slot = self.digests.len() / self.digest_length;
        self.digests.extend_from_slice(digest);
        narrow(slot)
    }

    fn has(&self, row: u32, flag: u8) -> bool {
        self.flags[row as usize] & flag != 0
    }

    pub(crate) fn counts(&self, row: u32) -> bool {
        self.has(row, COUNTS)
    }

    fn is_digested(&self, row: u32) -> bool {
        self.slots[row as usize] != NONE
    }

    fn is_empty_file(&self, row: u32) -> bool {
        self.sizes[row as usize] == 0
    }

    fn digest(&self, row: u32) -> &[u8] {
        let at = self.slots[row as usize] as usize * self.digest_length;
        &self.digests[at..at + self.digest_length]
    }

    fn probe(&self, row: u32) -> Option<i64> {
        self.has(row, HAS_PROBE).then(|| self.probes[row as usize])
    }

    fn all(&self) -> Range<u32> {
        0..narrow(self.sizes.len())
    }

    /// The copy that each row is a name of, and the names of each copy.
    pub(crate) fn copies(&self) -> (Vec<u32>, Vec<u32>) {
        let place = |row: u32| (self.volumes[row as usize], self.inodes[row as usize]);
        let mut by_place: Vec<u32> = self.all().filter(|&row| self.has(row, HAS_INODE)).collect();
        by_place.par_sort_unstable_by_key(|&row| place(row));
        let mut copies = vec![NONE; self.sizes.len()];
        let mut names: Vec<u32> = Vec::with_capacity(self.sizes.len());
        for same in by_place.chunk_by(|&a, &b| place(a) == place(b)) {
            for &row in same {
                copies[row as usize] = narrow(names.len());
            }
            names.push(narrow(same.len()));
        }
        for copy in copies.iter_mut().filter(|copy| **copy == NONE) {
            *copy = narrow(names.len());
            names.push(1);
        }
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
    pub(crate) fn contents(&self, copies: &[u32], folders: &[Range<u32>]) -> (Vec<u32>, Contents) {
        let mut contents = vec![NONE; self.sizes.len()];
        let mut found = Contents {
            sizes: vec![0],
            certain: vec![true],
            unresolved: vec![false],
            ..Contents::default()
        };
        for row in self.all().filter(|&row| self.is_empty_file(row)) {
            contents[row as usize] = EMPTY;
        }
        self.number_digests(&mut contents, &mut found);
        let classes = self.classes(&contents, copies);
        self.number_copies(copies, &classes, &mut contents, &mut found);
        self.mark_unresolved(&classes, &contents, &mut found);
        self.rank(folders, &mut contents, &mut found);
        (contents, found)
    }

    /// Equal digests are equal contents.
    fn number_digests(&self, contents: &mut [u32], found: &mut Contents) {
        let is_wanted = |row: &u32| self.is_digested(*row) && !self.is_empty_file(*row);
        let mut by_digest: Vec<u32> = self.all().filter(is_wanted).collect();
        by_digest.par_sort_unstable_by(|&a, &b| self.digest(a).cmp(self.digest(b)));
        for same in by_digest.chunk_by(|&a, &b| self.digest(a) == self.digest(b)) {
            let content = found.add(self.sizes[same[0] as usize], true);
            for &row in same {
                contents[row as usize] = content;
            }
        }
    }

    /// A file without a digest equals only the other names of its copy.
    fn number_copies(
        &self,
        copies: &[u32],
        classes: &HashMap<Class, Seen>,
        contents: &mut [u32],
        found: &mut Contents,
    ) {
        let size = |row: u32| self.sizes[row as usize];
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
            let size = self.sizes[row as usize];
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
            let size = self.sizes[row as usize];
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
        (!is_resolved).then(|| (self.sizes[row as usize], self.probe(row)))
    }

    fn is_resolved(&self, row: u32, classes: &HashMap<Class, Seen>) -> bool {
        self.class(row)
            .is_none_or(|class| matches!(classes.get(&class), Some(Seen::One(_))))
    }

    /// Renumbers the contents, those in the fewest folders first.
    fn rank(&self, folders: &[Range<u32>], contents: &mut [u32], found: &mut Contents) {
        let mut last_folder = vec![NONE; found.len()];
        let mut spread = vec![0_u32; found.len()];
        let mut names = vec![0_u32; found.len()];
        for (folder, rows) in (0_u32..).zip(folders) {
            for row in rows.clone().filter(|&row| self.counts(row)) {
                let content = contents[row as usize] as usize;
                names[content] += 1;
                if last_folder[content] != folder {
                    last_folder[content] = folder;
                    spread[content] += 1;
                }
            }
        }
        drop(last_folder);
        let mut order: Vec<u32> = (0..narrow(found.len())).collect();
        order[1..].par_sort_unstable_by_key(|&content| (spread[content as usize], content));
        let first_shared = order[1..].partition_point(|&content| spread[content as usize] < 2);
        let mut ranks = vec![EMPTY; order.len()];
        for (rank, &content) in (0..).zip(&order) {
            ranks[content as usize] = rank;
        }
        for content in contents.iter_mut() {
            *content = ranks[*content as usize];
        }
        found.sizes = order.iter().map(|&c| found.sizes[c as usize]).collect();
        found.certain = order.iter().map(|&c| found.certain[c as usize]).collect();
        found.names = order.iter().map(|&c| names[c as usize]).collect();
        found.first_shared = 1 + narrow(first_shared);
        found.unresolved = order
            .iter()
            .map(|&c| found.unresolved[c as usize])
            .collect();
    }
}

impl Contents {
    fn add(&mut self, size: u64, certain: bool) -> u32 {
        let content = narrow(self.sizes.len());
        self.sizes.push(size);
        self.certain.push(certain);
        self.unresolved.push(false);
        content
    }
}
