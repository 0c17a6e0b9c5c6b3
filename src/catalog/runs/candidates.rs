//! Which files a scan has to open.

use std::cmp::Reverse;

use rusqlite::{Connection, Row};

use super::work::{self, WorkCopy, WorkTable, number_table};
use crate::catalog::store::terms::{
    self, COMPARED, CopyColumns, IN_SCOPE, OCCUPIED, READ_ORDER, UNREAD, UNRESOLVED,
};
use crate::catalog::store::{CatalogError, Pages, ReadOnly, signed};
use crate::model::sampling::most_zeros;
use crate::model::{RootId, reclaimable, total};

/// Which of the unresolved files are wanted.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Smallest size that is hashed.
    pub min_size: Option<u64>,
    /// Largest size that is hashed.
    pub max_size: Option<u64>,
    /// Every file without a digest, not only possible duplicates.
    pub hash_all: bool,
    /// Roots whose files can be opened now.
    pub online: Vec<RootId>,
    /// Only files of these sizes, for a retry of particular files.
    pub sizes: Option<Vec<u64>>,
}

/// Files that agree in size and probe and of which some are unresolved.
#[derive(Debug, Clone)]
pub struct HashClass {
    /// The common size.
    pub size: u64,
    /// Whether a copy that equals no other one here needs a digest all the same,
    /// to compare it with files that are not read now.
    pub must_digest: bool,
    /// The copies to read.
    pub copies: Vec<WorkCopy>,
}

/// The candidates of one stage, page by page.
pub struct Candidates {
    catalog: ReadOnly,
    rows: Pages<WorkRow>,
    /// The number of copies.
    pub files: u64,
    /// Bytes to read of them.
    pub bytes: u64,
}

/// The names to read, each with the class it belongs to.
const WORK: WorkTable = WorkTable {
    name: "work",
    columns: "class, must_digest",
};

struct WorkRow {
    copy: WorkCopy,
    class: i64,
    must_digest: bool,
}

impl Candidates {
    /// Files to probe, in the order of reading: those that were not read and
    /// whose size occurs in more than one copy.
    pub fn to_probe(catalog: ReadOnly, selection: &Selection) -> Result<Self, CatalogError> {
        let connection = &catalog.connection;
        prepare(connection, selection)?;
        let wanted = selection.condition();
        let shared = if selection.hash_all {
            "true"
        } else {
            collect_shared_sizes(connection, &wanted)?;
            "files.size IN (SELECT size FROM temp.shared_sizes)"
        };
        connection.execute_batch(&format!(
            "{} FROM files JOIN folders ON folders.id = files.folder
               JOIN temp.online ON online.root = folders.root
              WHERE files.removed_in IS NULL AND {UNREAD} AND {IN_SCOPE} AND {wanted} AND {shared}
              ORDER BY {READ_ORDER}",
            WORK.insert("0, 0")
        ))?;
        Self::over(catalog)
    }

    /// Classes to read whole, in the order that [`HashClass::order`] has in Rust.
    pub fn to_hash(catalog: ReadOnly, selection: &Selection) -> Result<Self, CatalogError> {
        let connection = &catalog.connection;
        prepare(connection, selection)?;
        collect_classes(connection, selection)?;
        connection.execute_batch(&format!(
            "{} FROM files JOIN folders ON folders.id = files.folder
               JOIN temp.online ON online.root = folders.root
               JOIN temp.classes ON classes.size = files.size AND classes.probe = files.probe
              WHERE files.removed_in IS NULL AND files.digest IS NULL AND {IN_SCOPE}
              ORDER BY classes.size - classes.reclaimable > {}, classes.reclaimable DESC,
                       classes.size, classes.probe, {READ_ORDER}",
            WORK.insert("classes.probe, classes.must_digest"),
            most_zeros()
        ))?;
        Self::over(catalog)
    }

    fn over(catalog: ReadOnly) -> Result<Self, CatalogError> {
        let (files, bytes) = WORK.copies(&catalog.connection)?;
        Ok(Self {
            catalog,
            rows: Pages::new(WORK.page(), work_row),
            files,
            bytes,
        })
    }

    /// The next copies to probe, at most `limit`; empty at the end.
    pub fn next_batch(&mut self, limit: usize) -> Result<Vec<WorkCopy>, CatalogError> {
        self.take_while(|row, copies| {
            let is_last = |last: &WorkCopy| last.is_same_file(&row.copy);
            copies.len() < limit || copies.last().is_some_and(is_last)
        })
    }

    /// The next class to read whole; `None` at the end.
    pub fn next_class(&mut self) -> Result<Option<HashClass>, CatalogError> {
        let Some(first) = self.rows.peek(&self.catalog.connection)? else {
            return Ok(None);
        };
        let (size, probe, must_digest) = (first.copy.state.size, first.class, first.must_digest);
        let is_in_class =
            |row: &WorkRow, _: &[_]| (row.copy.state.size, row.class) == (size, probe);
        Ok(Some(HashClass {
            size,
            must_digest,
            copies: self.take_while(is_in_class)?,
        }))
    }

    /// Takes the next rows while they are wanted beside the copies taken so far. A
    /// row is another name of the last copy where it is the same file.
    fn take_while(
        &mut self,
        is_wanted: impl Fn(&WorkRow, &[WorkCopy]) -> bool,
    ) -> Result<Vec<WorkCopy>, CatalogError> {
        let mut copies: Vec<WorkCopy> = Vec::new();
        let wanted = |row: &WorkRow, copies: &[_]| is_wanted(row, copies);
        while let Some(row) =
            (self.rows).next_if(&self.catalog.connection, |row| wanted(row, &copies))?
        {
            let another = row.copy.join(copies.last_mut());
            copies.extend(another);
        }
        Ok(copies)
    }
}

fn work_row(row: &Row<'_>) -> rusqlite::Result<WorkRow> {
    Ok(WorkRow {
        copy: work::work_copy(row)?,
        class: row.get(work::WIDTH)?,
        must_digest: row.get(work::WIDTH + 1)?,
    })
}

/// Sizes that occur in more than one copy, some of which were not read. Mostly
/// few were not, and then only few rows need sorting.
fn collect_shared_sizes(connection: &Connection, wanted: &str) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "DROP TABLE IF EXISTS temp.shared_sizes;
         CREATE TEMP TABLE shared_sizes (size INTEGER PRIMARY KEY);
         WITH unread AS MATERIALIZED (
             SELECT DISTINCT files.size AS size FROM files
              WHERE files.removed_in IS NULL AND {UNREAD} AND {IN_SCOPE} AND {wanted})
         INSERT INTO temp.shared_sizes
         SELECT files.size FROM files JOIN folders ON folders.id = files.folder
          WHERE files.removed_in IS NULL AND {COMPARED}
            AND files.size IN (SELECT size FROM unread)
          GROUP BY files.size HAVING {several}",
        several = terms::several_copies()
    ))
}

/// Classes of files with one size and probe that need to be read. Members that
/// were read before, cannot be read now, or are deleted or excluded and may come
/// back can only be compared by digest: then every member that is read needs one.
fn collect_classes(connection: &Connection, selection: &Selection) -> rusqlite::Result<()> {
    let live_copy = CopyColumns::of("volume", "ino");
    let wanted = match selection.hash_all {
        true => "sum(live AND NOT digested) > 0".to_owned(),
        false => format!(
            "{} AND sum(live AND unresolved) > 0",
            live_copy.several("sum(live)")
        ),
    };
    connection.execute_batch(&format!(
        "DROP TABLE IF EXISTS temp.classes;
         CREATE TEMP TABLE classes (
             size INTEGER, probe INTEGER, reclaimable INTEGER, must_digest INTEGER,
             PRIMARY KEY (size, probe)) WITHOUT ROWID;
         WITH members AS (
             SELECT files.size AS size, files.probe AS probe,
                    {live} AS live, files.digest IS NOT NULL AS digested,
                    {UNRESOLVED} AS unresolved, online.root IS NULL AS offline,
                    CASE WHEN {live} THEN {OCCUPIED} END AS occupied,
                    CASE WHEN {live} THEN files.ino END AS ino,
                    CASE WHEN {live} THEN folders.volume END AS volume
               FROM files JOIN folders ON folders.id = files.folder
               LEFT JOIN temp.online ON online.root = folders.root
              WHERE files.probe IS NOT NULL AND {condition})
         INSERT INTO temp.classes
         SELECT size, probe, {occupied} - max(occupied),
                {hash_all} OR max(digested OR (live AND offline))
           FROM members GROUP BY size, probe HAVING {wanted}",
        live = format_args!("(files.removed_in IS NULL AND {COMPARED})"),
        hash_all = selection.hash_all,
        occupied = terms::sum_of_sizes("occupied"),
        condition = selection.condition(),
    ))
}

impl Selection {
    /// The condition on `files.size` as SQL; made of numbers only.
    fn condition(&self) -> String {
        let low = signed(self.min_size.unwrap_or(1).max(1));
        let high = signed(self.max_size.unwrap_or(u64::MAX));
        let listed = match self.sizes {
            Some(_) => " AND files.size IN (SELECT size FROM temp.wanted_sizes)",
            None => "",
        };
        format!("files.size BETWEEN {low} AND {high}{listed}")
    }
}

/// Fills the temporary tables that every selection starts from.
fn prepare(connection: &Connection, selection: &Selection) -> rusqlite::Result<()> {
    WORK.create(connection)?;
    let online = selection.online.iter().map(|root| root.0);
    number_table(connection, "online", "root", online)?;
    let sizes = selection.sizes.iter().flatten().copied().map(signed);
    number_table(connection, "wanted_sizes", "size", sizes)
}

impl HashClass {
    /// Bytes saved if all its copies are equal.
    pub fn reclaimable(&self) -> u64 {
        reclaimable(self.copies.iter().map(|copy| copy.to_read))
    }

    /// What classes are sorted by before they are read: those with the most
    /// reclaimable bytes first. Holes take time and save nothing, so that classes of
    /// giants that are nearly all holes come last.
    pub fn order(&self) -> impl Ord + use<> {
        let reclaimable = self.reclaimable();
        let has_many_holes = self.size.saturating_sub(reclaimable) > most_zeros();
        (has_many_holes, Reverse(reclaimable))
    }

    /// Bytes to read for all its copies.
    pub fn to_read(&self) -> u64 {
        total(self.copies.iter().map(|copy| copy.to_read))
    }

    /// Splits a class that is too large to be read side by side into parts whose
    /// digests are compared instead.
    pub fn split(self, most: usize) -> Vec<Self> {
        if self.copies.len() <= most {
            return vec![self];
        }
        let part = |copies: &[WorkCopy]| Self {
            size: self.size,
            must_digest: true,
            copies: copies.to_vec(),
        };
        self.copies.chunks(most).map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::testing::{Bed, file};

    /// Pairs of one size, of which one is new: how much of each is allocated.
    const ALLOCATED: [(&str, u64, u64); 4] = [
        ("dense", 100 << 30, 100 << 30),
        ("holes", 1 << 50, 10 << 30),
        ("small", 100_000, 100_000),
        ("fewer holes", 64 << 30, 1 << 20),
    ];

    #[test]
    fn giants_that_are_nearly_all_holes_come_last() {
        let bed = Bed::new();
        let names: Vec<_> = ["one", "two"]
            .iter()
            .flat_map(|copy| ALLOCATED.map(|(name, size, _)| (format!("{copy} {name}"), size)))
            .collect();
        let files = (1..).zip(&names);
        let files: Vec<_> = files
            .map(|(ino, (name, size))| file(name, *size, ino).unread())
            .collect();
        bed.scan("/r", &files);
        for (_, size, allocated) in ALLOCATED {
            bed.sql(&format!(
                "UPDATE files SET probe = 1, allocated = {allocated} WHERE size = {size}"
            ));
        }
        let selection = Selection {
            online: vec![RootId(1)],
            ..Selection::default()
        };
        let mut candidates = Candidates::to_hash(bed.reader(), &selection).unwrap();
        let mut classes = Vec::new();
        while let Some(class) = candidates.next_class().unwrap() {
            assert_eq!(class.copies.len(), 2);
            classes.push(class);
        }
        let sizes: Vec<u64> = classes.iter().map(|class| class.size).collect();
        assert_eq!(sizes, [100 << 30, 64 << 30, 100_000, 1 << 50]);
        assert!(classes.is_sorted_by_key(HashClass::order));
    }
}
