//! Files by the number of their copies: which exist only once, or fewer times
//! than wanted.

mod count;

use std::collections::HashSet;
use std::path::PathBuf;

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, Row, params};

use super::files::{FileFilter, FileList, Fold, Verdict};
use super::paths::RootPaths;
use super::places::Extent;
use super::sweep::Readers;
use super::unresolved::Open;
use crate::catalog::store::terms::{COMPARED, REAL};
use crate::catalog::store::{CatalogError, FolderPaths, ReadOnly, rows, sql};
use crate::model::FolderId;
pub use count::FewTotals;
use count::{Content, Counted, Known, Question, Rank, count};

impl FileList {
    /// Copies below `tops` with fewer than `under` known copies in the whole
    /// catalog, largest first. Unchecked ones come last: a file that could be
    /// another copy was not read or is corrupted. Empty files are skipped.
    ///
    /// The sums are over all; of the list, at least the first `most` are there.
    pub fn of_few_copies(
        catalog: ReadOnly,
        tops: &[FolderId],
        filter: FileFilter,
        (under, most): (u64, Option<u64>),
    ) -> Result<(Self, FewTotals), CatalogError> {
        let question = Question {
            folders: folders_below(&catalog, tops)?,
            filter,
            under,
            most,
        };
        let known = Known::new(Open::of(&catalog)?, catalog.corrupted()?);
        let counted = count(&mut Readers::open(catalog.sibling()?)?, &question, &known)?;
        let totals = counted.totals;
        let listing = Listing {
            known,
            under,
            last: most.map(|_| counted.first.last()),
            smallest: counted.first.smallest().unwrap_or(0),
            counted,
        };
        let first = most.map(|_| listing.in_order(&catalog)).transpose()?;
        let place = match &first {
            Some(folders) => (&folders[..], Extent::Alone),
            None => (tops, Extent::Live),
        };
        let list = Self::build(
            catalog,
            place,
            question.filter,
            Fold::Copies,
            |catalog, sizes| listing.fill(&catalog.connection, sizes),
        )?;
        Ok((list, totals))
    }
}

/// The folders at and below `tops`; `None` if these are all.
fn folders_below(
    catalog: &ReadOnly,
    tops: &[FolderId],
) -> Result<Option<HashSet<FolderId>>, CatalogError> {
    if tops == catalog.all_tops()? {
        return Ok(None);
    }
    catalog.collect_places("places", tops, Extent::Live)?;
    let folders = "SELECT folder FROM temp.places";
    let folders = sql::all(&catalog.connection, folders, [], |row| row.get(0))?;
    Ok(Some(folders))
}

/// The files to list, once all were counted.
struct Listing {
    known: Known,
    counted: Counted,
    under: u64,
    /// The last rank that is listed; `None` for all, and `Some(None)` for none.
    last: Option<Option<Rank>>,
    smallest: i64,
}

/// A row as the list has it, with its place in it.
const FOUND: &str = "CREATE TEMP TABLE found (
         rank INTEGER, folder INTEGER, name BLOB, size INTEGER, mtime_ns INTEGER,
         volume INTEGER, ino INTEGER, digest BLOB, copies INTEGER, verdict INTEGER)";

impl Listing {
    /// The folders of the first files, in the order of a walk.
    fn in_order(&self, catalog: &ReadOnly) -> Result<Vec<FolderId>, CatalogError> {
        let (roots, mut paths) = (RootPaths::of(catalog)?, FolderPaths::default());
        let folders = self.counted.first.folders().into_iter();
        let mut folders: Vec<(PathBuf, FolderId)> = folders
            .map(|folder| {
                let path = roots.absolute(catalog, &mut paths, folder, "".as_ref())?;
                Ok((path, folder))
            })
            .collect::<Result<_, CatalogError>>()?;
        folders.sort_unstable();
        Ok(folders.into_iter().map(|(_, folder)| folder).collect())
    }

    /// Inserts the files of `temp.places` that are to be listed, in order.
    fn fill(
        &self,
        connection: &Connection,
        (low, high): (i64, i64),
    ) -> Result<usize, CatalogError> {
        connection.execute_batch(&format!("DROP TABLE IF EXISTS temp.found; {FOUND}"))?;
        let files = format!(
            "SELECT places.rank, files.folder, files.name, files.size, files.mtime_ns,
                    folders.volume, files.ino, files.digest, files.probe
               FROM temp.places JOIN files ON files.folder = places.folder
               JOIN folders ON folders.id = files.folder
              WHERE files.removed_in IS NULL AND files.size > 0 AND {REAL} AND {COMPARED}
                AND files.size BETWEEN ?1 AND ?2"
        );
        let mut insert = connection
            .prepare("INSERT INTO temp.found VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
        let mut files = connection.prepare(&files)?;
        let mut files = files.query([low.max(self.smallest), high])?;
        while let Some(row) = files.next()? {
            let Some((content, verdict)) = self.judge(row)? else {
                continue;
            };
            for column in 0..8 {
                insert
                    .raw_bind_parameter(column + 1, ToSqlOutput::Borrowed(row.get_ref(column)?))?;
            }
            insert.raw_bind_parameter(9, rows::signed(content.copies))?;
            insert.raw_bind_parameter(10, verdict as i64)?;
            insert.raw_execute()?;
        }
        let sort = "INSERT INTO temp.listed (folder, name, size, mtime_ns, volume, ino, digest,
                                             copies, verdict)
             SELECT folder, name, size, mtime_ns, volume, ino, digest, copies, verdict
               FROM temp.found
              ORDER BY verdict = ?1, size DESC, volume, ino, rank, name";
        let listed = sql::run(connection, sort, params![Verdict::Unchecked as i64])?;
        connection.execute_batch("DROP TABLE temp.found")?;
        Ok(listed)
    }

    /// What is said of a file; `None` if it is not listed.
    fn judge(&self, row: &Row<'_>) -> Result<Option<(Content, Verdict)>, CatalogError> {
        let Known {
            open, corrupted, ..
        } = &self.known;
        let size: i64 = row.get(3)?;
        let content = match rows::digest_bytes(row, 7)? {
            Some(digest) => self.counted.content(self.known.key(digest)),
            None => Content::ALONE,
        };
        if content.copies >= self.under
            && !(content.is_corrupted && corrupted.contains(&(row.get(1)?, rows::name(row, 2)?)))
        {
            return Ok(None);
        }
        let is_unchecked = content.is_corrupted || open.has(size, row.get(8)?);
        let rank = (is_unchecked, std::cmp::Reverse(size));
        let is_listed = self.last.is_none_or(|last| Some(rank) <= last);
        let verdict = match content.copies {
            _ if is_unchecked => Verdict::Unchecked,
            ..=1 => Verdict::Unique,
            _ => Verdict::Duplicate,
        };
        Ok(is_listed.then_some((content, verdict)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::testing::{Bed, file};

    fn few(bed: &Bed, under: u64) -> Vec<File> {
        let reader = bed.reader();
        let tops = reader.all_tops().unwrap();
        let list = |most| {
            let (reader, filter) = (bed.reader(), FileFilter::default());
            FileList::of_few_copies(reader, &tops, filter, (under, most)).unwrap()
        };
        let (all, totals) = read(list(None));
        assert_eq!(totals.files + totals.unchecked_files, all.len() as u64);
        for most in 0..=all.len() {
            let (first, sums) = read(list(Some(most as u64)));
            assert!(first.len() >= most && sums == totals);
            assert_eq!(first, all[..first.len()], "the first {most}");
        }
        all
    }

    type File = (String, u64, Verdict, usize);

    fn read((mut list, totals): (FileList, FewTotals)) -> (Vec<File>, FewTotals) {
        let mut found = Vec::new();
        while let Some(file) = list.next_file().unwrap() {
            let path = file.path.display().to_string();
            found.push((path, file.copies, file.verdict, file.links.len()));
        }
        (found, totals)
    }

    fn row(path: &str, copies: u64, verdict: Verdict) -> File {
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
