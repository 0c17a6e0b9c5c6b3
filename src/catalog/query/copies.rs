//! Files by the number of their copies: which exist only once, or fewer times
//! than wanted.

use rusqlite::params;

use super::files::{FileFilter, FileList, Fold, Verdict};
use super::places::Extent;
use super::unresolved::open_classes;
use crate::catalog::store::terms::{COPY, CORRUPTED, REAL};
use crate::catalog::store::{CatalogError, ReadOnly, refuse_malformed, sql};
use crate::model::FolderId;

impl FileList {
    /// Copies below `tops` with fewer than `under` known copies in the whole
    /// catalog, largest first. Unchecked ones come last: a file that could be
    /// another copy was not read or is corrupted. Empty files are skipped.
    pub fn of_few_copies(
        catalog: ReadOnly,
        tops: &[FolderId],
        filter: FileFilter,
        under: u64,
    ) -> Result<Self, CatalogError> {
        let place = (tops, Extent::Live);
        Self::build(
            catalog,
            place,
            filter,
            Fold::Copies,
            |catalog, (low, high)| {
                count_copies(catalog)?;
                let open = open_classes();
                let few = format!(
                "INSERT INTO temp.listed (folder, name, size, mtime_ns, volume, ino, digest,
                                          copies, verdict)
                 WITH {open}
                 SELECT files.folder, files.name, files.size, files.mtime_ns, folders.volume,
                        files.ino, files.digest, ifnull(counted.copies, 1) AS copies,
                        CASE WHEN counted.is_corrupted OR files.size IN (SELECT size FROM open_sizes)
                               OR (files.size, files.probe) IN (
                                  SELECT size, probe FROM open_classes) THEN {unchecked}
                             WHEN counted.copies > 1 THEN {duplicate}
                             ELSE {unique} END AS verdict
                   FROM temp.places JOIN files ON files.folder = places.folder
                   JOIN folders ON folders.id = files.folder
                   LEFT JOIN temp.copy_counts AS counted ON counted.digest = files.digest
                  WHERE files.removed_in IS NULL AND files.size > 0 AND {REAL}
                    AND files.size BETWEEN ?1 AND ?2
                    AND (ifnull(counted.copies, 1) < ?3 OR {CORRUPTED})
                  ORDER BY verdict = {unchecked}, files.size DESC, folders.volume, files.ino,
                           places.rank, files.name",
                duplicate = Verdict::Duplicate as i64,
                unique = Verdict::Unique as i64,
                unchecked = Verdict::Unchecked as i64,
            );
                let under = i64::try_from(under).unwrap_or(i64::MAX);
                let values = params![low, high, under];
                Ok(sql::run(&catalog.connection, &few, values)?)
            },
        )
    }
}

/// The number of copies of every digest, and whether some are corrupted.
fn count_copies(catalog: &ReadOnly) -> Result<(), CatalogError> {
    catalog.connection.execute_batch(&format!(
        "DROP TABLE IF EXISTS temp.copy_counts;
         CREATE TEMP TABLE copy_counts (
             digest BLOB PRIMARY KEY, copies INTEGER, is_corrupted INTEGER) WITHOUT ROWID;
         INSERT INTO temp.copy_counts
         SELECT digest, count(*) - sum(is_corrupted), max(is_corrupted) FROM (
                SELECT files.digest AS digest, max({CORRUPTED}) AS is_corrupted
                  FROM files JOIN folders ON folders.id = files.folder
                 WHERE files.removed_in IS NULL AND files.digest IS NOT NULL AND {REAL}
                 GROUP BY files.digest, {copy})
          GROUP BY digest;",
        copy = COPY.key(&["files.folder", "files.name"])
    ))?;
    refuse_malformed(&catalog.connection, "temp.copy_counts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::testing::{Bed, file};

    fn few(bed: &Bed, under: u64) -> Vec<(String, u64, Verdict, usize)> {
        let reader = bed.reader();
        let tops = reader.all_tops().unwrap();
        let mut list =
            FileList::of_few_copies(reader, &tops, FileFilter::default(), under).unwrap();
        let mut found = Vec::new();
        while let Some(file) = list.next_file().unwrap() {
            let path = file.path.display().to_string();
            found.push((path, file.copies, file.verdict, file.links.len()));
        }
        found
    }

    fn row(path: &str, copies: u64, verdict: Verdict) -> (String, u64, Verdict, usize) {
        (path.to_owned(), copies, verdict, 0)
    }

    #[test]
    fn copies_are_counted_and_links_are_one() {
        let bed = Bed::new();
        bed.scan(
            "/r",
            &[
                file("once", 30, 1).content(1),
                file("link", 30, 1).content(1),
                file("two/a", 20, 2).content(2),
                file("two/b", 20, 3).content(2),
                file("lone size", 40, 4).unread(),
                file("three/a", 10, 5).content(3).without_inode(),
                file("three/b", 10, 6).content(3),
                file("three/c", 10, 6).content(3),
                file("three/d", 10, 7).content(3),
                file("empty", 0, 8),
            ],
        );
        let once = ("/r/link".to_owned(), 1, Verdict::Unique, 1);
        let lone = row("/r/lone size", 1, Verdict::Unique);
        assert_eq!(few(&bed, 2), [lone.clone(), once.clone()]);
        let two = |name: &str| row(&format!("/r/two/{name}"), 2, Verdict::Duplicate);
        assert_eq!(few(&bed, 3), [lone, once, two("a"), two("b")]);
        assert_eq!(few(&bed, 4).len(), 7);
    }

    #[test]
    fn a_symbolic_link_is_no_copy() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a", 20, 1), file("link", 20, 2).link()]);
        assert_eq!(few(&bed, 2), [row("/r/a", 1, Verdict::Unique)]);
    }

    #[test]
    fn a_corrupted_file_is_no_copy_and_is_itself_unchecked() {
        let bed = Bed::new();
        bed.scan(
            "/r",
            &[file("a", 20, 1), file("b", 20, 2), file("c", 20, 3)],
        );
        let corrupt = |name: &str| {
            bed.sql(&format!(
                "INSERT INTO corrupted SELECT folder, name, 0, mtime_ns, ctime_ns, digest FROM files
                  WHERE name = CAST('{name}' AS BLOB)"
            ));
        };
        corrupt("c");
        let of = |path, copies| row(path, copies, Verdict::Unchecked);
        assert_eq!(few(&bed, 2), [of("/r/c", 2)]);
        corrupt("b");
        assert_eq!(few(&bed, 2), [of("/r/a", 1), of("/r/b", 1), of("/r/c", 1)]);
    }

    #[test]
    fn what_may_have_more_copies_is_unchecked() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a", 20, 1), file("b", 20, 2)]);
        bed.scan("/s", &[file("unread", 20, 3).unread()]);
        let unread = row("/s/unread", 1, Verdict::Unchecked);
        assert_eq!(few(&bed, 2), std::slice::from_ref(&unread));
        let of = |path| row(path, 2, Verdict::Unchecked);
        assert_eq!(few(&bed, 3), [of("/r/a"), of("/r/b"), unread]);
    }
}
