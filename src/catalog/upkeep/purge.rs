//! Deletes the rows of deleted files, and shrinks the catalog.

use rusqlite::{Connection, Transaction};

use crate::catalog::store::{CatalogError, Exclusive, unsigned};
use crate::model::Timestamp;

/// What a purge deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Purged {
    /// File rows.
    pub files: u64,
    /// Folder rows.
    pub folders: u64,
    /// Bytes by which the catalog became smaller.
    pub bytes: u64,
}

/// True of a row that a scan started before ?1 marked as deleted. A scan that the
/// catalog no longer knows is old enough for any date.
const GONE: &str = "removed_in IS NOT NULL
    AND removed_in NOT IN (SELECT id FROM scans WHERE started_at >= ?1)";

impl Exclusive {
    /// Deletes the rows marked as deleted, and the absences of files that came back;
    /// with `before` only those that scans started before that moment marked. Shrinks
    /// the file.
    pub fn purge(&mut self, before: Option<Timestamp>) -> Result<Purged, CatalogError> {
        let size = file_size(&self.connection)?;
        let transaction = self.connection.transaction()?;
        let mut purged = delete_gone(&transaction, before.map_or(i64::MAX, |moment| moment.0))?;
        transaction.commit()?;
        shrink(&self.connection)?;
        purged.bytes = size.saturating_sub(file_size(&self.connection)?);
        Ok(purged)
    }
}

fn delete_gone(transaction: &Transaction<'_>, before: i64) -> rusqlite::Result<Purged> {
    let files = transaction.execute(&format!("DELETE FROM files WHERE {GONE}"), [before])?;
    transaction.execute(&format!("DELETE FROM absences WHERE {GONE}"), [before])?;
    collect_empty_folders(transaction, before)?;
    // Faults of deleted files went when the files were marked. One that exists
    // now is of a name that came back and cannot be examined.
    let faults = "DELETE FROM faults WHERE folder IN (SELECT id FROM temp.doomed)";
    transaction.execute(faults, [])?;
    let folders = "DELETE FROM folders WHERE id IN (SELECT id FROM temp.doomed)";
    let folders = transaction.execute(folders, [])?;
    transaction.execute_batch("DROP TABLE temp.doomed")?;
    Ok(Purged {
        files: files as u64,
        folders: folders as u64,
        bytes: 0,
    })
}

/// Deleted folders in which nothing stays, at any depth. A folder stays if it is
/// live, has a file left in it, or is above one that stays.
fn collect_empty_folders(transaction: &Transaction<'_>, before: i64) -> rusqlite::Result<()> {
    transaction.execute_batch("DROP TABLE IF EXISTS temp.doomed")?;
    let collect = format!(
        "CREATE TEMP TABLE doomed AS
         WITH RECURSIVE staying (id) AS (
             SELECT id FROM folders
              WHERE parent IS NULL OR NOT ({GONE})
                 OR EXISTS (SELECT 1 FROM files WHERE files.folder = folders.id)
             UNION
             SELECT folders.parent FROM staying JOIN folders ON folders.id = staying.id
              WHERE folders.parent IS NOT NULL)
         SELECT id FROM folders WHERE id NOT IN (SELECT id FROM staying)"
    );
    transaction.execute(&collect, [before]).map(drop)
}

/// Gives free pages back to the filesystem, where there are any.
fn shrink(connection: &Connection) -> Result<(), CatalogError> {
    let free: i64 = connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
    if free > 0 {
        connection.execute_batch("VACUUM")?;
    }
    // "busy" (a reader holds an old snapshot) is an answer, not an error: the
    // next checkpoint shortens the file.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// Length of the catalog once the WAL is part of it.
fn file_size(connection: &Connection) -> rusqlite::Result<u64> {
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    Ok(unsigned(pages) * unsigned(page))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::testing::{Bed, file};

    #[test]
    fn only_what_is_gone_is_deleted() {
        let bed = Bed::new();
        bed.scan(
            "/r",
            &[
                file("keep", 10, 1),
                file("a/b/gone", 10, 2),
                file("a/stays", 10, 3),
            ],
        );
        bed.remove("/r", &["a/b"], &[]);
        let purged = bed.open().purge(None).unwrap();
        assert_eq!((purged.files, purged.folders), (1, 1));
        assert_eq!(bed.paths(), ["/r/a/stays", "/r/keep"]);
        assert_eq!(bed.reader().verify().unwrap(), []);
        assert_eq!(bed.open().purge(None).unwrap(), Purged::default());
    }

    #[test]
    fn a_date_spares_what_went_later() {
        let bed = Bed::new();
        bed.scan(
            "/r",
            &[
                file("keep", 10, 1),
                file("a/old", 10, 2),
                file("b/new", 10, 3),
            ],
        );
        let old = bed.remove("/r", &["a"], &[]);
        let new = bed.remove("/r", &["b"], &[]);
        bed.sql(&format!(
            "UPDATE scans SET started_at = 1000 WHERE id = {old};
             UPDATE scans SET started_at = 2000 WHERE id = {new}"
        ));
        let purge = |moment| bed.open().purge(Some(Timestamp(moment))).unwrap();
        assert_eq!(purge(1000).files, 0);
        let purged = purge(1001);
        assert_eq!((purged.files, purged.folders), (1, 1));
        assert_eq!(bed.count("files"), 2);
        assert_eq!(purge(2001).files, 1);
        assert_eq!(bed.paths(), ["/r/keep"]);
    }

    #[test]
    fn a_removed_folder_stays_above_one_that_stays() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a/b/c/later", 10, 1)]);
        let late = bed.remove("/r", &["a/b/c"], &[]);
        let early = bed.remove("/r", &["a"], &[]);
        bed.sql(&format!(
            "UPDATE scans SET started_at = 2000 WHERE id = {late};
             UPDATE scans SET started_at = 1000 WHERE id = {early}"
        ));
        let purged = bed.open().purge(Some(Timestamp(1500))).unwrap();
        assert_eq!(purged, Purged::default());
        let purged = bed.open().purge(None).unwrap();
        assert_eq!((purged.files, purged.folders), (1, 3));
    }

    #[test]
    fn the_file_becomes_smaller() {
        let bed = Bed::new();
        let names: Vec<_> = (0..3000)
            .map(|n| format!("gone/a-longer-name-{n}"))
            .collect();
        let files: Vec<_> = names
            .iter()
            .zip(1..)
            .map(|(name, ino)| file(name, 10, ino))
            .collect();
        bed.scan("/r", &files);
        bed.remove("/r", &["gone"], &[]);
        let before = std::fs::metadata(bed.path()).unwrap().len();
        let purged = bed.open().purge(None).unwrap();
        assert_eq!(purged.files, 3000);
        assert!(purged.bytes > 100_000, "{purged:?}");
        let after = std::fs::metadata(bed.path()).unwrap().len();
        assert_eq!(before - after, purged.bytes);
    }
}
