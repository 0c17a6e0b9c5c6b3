//! Files with given sizes or digests, to compare with files that need not be in
//! the catalog. One pass over all files answers all questions, since there is no
//! index on size or digest.

use std::ffi::OsString;
use std::path::PathBuf;

use rusqlite::{Params, Row, params};

use super::paths::RootPaths;
use crate::catalog::store::terms::{CORRUPTED, EXCLUDED, NOT_COMPARED};
use crate::catalog::store::{
    CatalogError, FolderPaths, ReadOnly, refuse_malformed, rows, signed, sql,
};
use crate::model::{Digest, FileState, FolderId, Probe};

/// A live file of the catalog.
#[derive(Debug, Clone)]
pub struct Known {
    /// Its absolute path.
    pub path: PathBuf,
    /// The state it was scanned in.
    pub state: FileState,
    /// Its digest, where there is one.
    pub digest: Option<Digest>,
    /// Its probe, where there is one.
    pub probe: Option<Probe>,
    /// Whether it is known to be corrupted: its content does not match its digest.
    pub is_corrupted: bool,
    /// Whether an exclude of its root matches.
    pub is_excluded: bool,
    /// Whether it is not compared because of its size.
    pub is_not_compared: bool,
}

/// The files that can answer a set of questions.
pub struct Lookup {
    catalog: ReadOnly,
    roots: RootPaths,
    paths: FolderPaths,
    unread: u64,
}

impl Lookup {
    /// Collects the live files that have one of the sizes or digests.
    pub fn build(
        catalog: ReadOnly,
        sizes: &[u64],
        digests: &[Digest],
    ) -> Result<Self, CatalogError> {
        let mut lookup = Self {
            roots: RootPaths::of(&catalog)?,
            catalog,
            paths: FolderPaths::default(),
            unread: 0,
        };
        let connection = &lookup.catalog.connection;
        connection.execute_batch(
            "BEGIN;
             DROP TABLE IF EXISTS temp.wanted;
             CREATE TEMP TABLE wanted (value BLOB PRIMARY KEY) WITHOUT ROWID;
             DROP TABLE IF EXISTS temp.known;",
        )?;
        {
            let mut insert = connection.prepare("INSERT OR IGNORE INTO temp.wanted VALUES (?1)")?;
            for size in sizes {
                insert.execute([signed(*size)])?;
            }
            for digest in digests {
                insert.execute([digest.as_bytes()])?;
            }
        }
        connection.execute_batch(&format!(
            "CREATE TEMP TABLE known AS
             SELECT folder, name, size, mtime_ns, ctime_ns, ino, digest, probe,
                    {CORRUPTED} AS is_corrupted, {EXCLUDED} AS is_excluded,
                    {NOT_COMPARED} AS is_not_compared FROM files
              WHERE removed_in IS NULL
                AND (size IN (SELECT value FROM temp.wanted)
                     OR digest IN (SELECT value FROM temp.wanted));
             CREATE INDEX temp.known_by_size ON known (size);
             CREATE INDEX temp.known_by_digest ON known (digest);"
        ))?;
        let unread =
            "SELECT count(*) FROM files WHERE removed_in IS NULL AND size > 0 AND digest IS NULL";
        let unread = sql::count(connection, unread, [])?;
        refuse_malformed(connection, "temp.known")?;
        connection.execute_batch("COMMIT")?;
        lookup.unread = unread;
        Ok(lookup)
    }

    /// Live files in the whole catalog that are not empty and have no digest.
    pub fn unread(&self) -> u64 {
        self.unread
    }

    /// The files of a size that was asked for, by path.
    pub fn of_size(&mut self, size: u64) -> Result<Vec<Known>, CatalogError> {
        self.known("size = ?1", [signed(size)])
    }

    /// The files with a digest that was asked for, by path.
    pub fn of_digest(&mut self, digest: &Digest) -> Result<Vec<Known>, CatalogError> {
        self.known("digest = ?1", [digest.as_bytes()])
    }

    fn known(&mut self, condition: &str, value: impl Params) -> Result<Vec<Known>, CatalogError> {
        let known = format!(
            "SELECT folder, name, size, mtime_ns, ctime_ns, ino, digest, probe, is_corrupted,
                    is_excluded, is_not_compared
               FROM temp.known WHERE {condition}"
        );
        let found: Vec<_> = sql::all(&self.catalog.connection, &known, value, known_row)?;
        let mut files = Vec::with_capacity(found.len());
        for (folder, name, known) in found {
            let path = (self.roots).absolute(&self.catalog, &mut self.paths, folder, &name)?;
            files.push(Known { path, ..known });
        }
        files.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        Ok(files)
    }
}

impl ReadOnly {
    /// The digests of live files that begin with these hexadecimal digits, at
    /// most `limit` of them.
    pub fn digests_beginning(&self, hex: &str, limit: u32) -> Result<Vec<Digest>, CatalogError> {
        let digests = "SELECT DISTINCT digest FROM files
              WHERE removed_in IS NULL AND digest IS NOT NULL
                AND substr(hex(digest), 1, length(?1)) = upper(?1)
              LIMIT ?2";
        let values = params![hex, limit];
        let found: Vec<_> = sql::all(&self.connection, digests, values, |row| {
            rows::digest(row, 0)
        })?;
        Ok(found.into_iter().flatten().collect())
    }
}

fn known_row(row: &Row<'_>) -> rusqlite::Result<(FolderId, OsString, Known)> {
    let known = Known {
        path: PathBuf::new(),
        state: rows::state(row, 2)?,
        digest: rows::digest(row, 6)?,
        probe: row.get(7)?,
        is_corrupted: row.get(8)?,
        is_excluded: row.get(9)?,
        is_not_compared: row.get(10)?,
    };
    Ok((row.get(0)?, rows::name(row, 1)?, known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::testing::{Bed, file};

    #[test]
    fn only_what_was_asked_for_is_found() {
        let bed = Bed::new();
        bed.scan(
            "/r",
            &[
                file("b", 10, 1).content(1),
                file("a", 10, 2).unread(),
                file("c", 20, 3).content(2),
                file("d", 30, 4).content(3),
                file("gone", 10, 5).content(1),
            ],
        );
        bed.remove("/r", &[], &["gone"]);
        let digest = Digest::from_bytes(&[2; 32]).unwrap();
        let mut lookup = Lookup::build(bed.reader(), &[10, 99], &[digest]).unwrap();
        let names = |found: Result<Vec<Known>, _>| -> Vec<String> {
            let found = found.unwrap();
            found
                .iter()
                .map(|known| known.path.display().to_string())
                .collect()
        };
        assert_eq!(names(lookup.of_size(10)), ["/r/a", "/r/b"]);
        assert_eq!(names(lookup.of_size(99)), [""; 0]);
        assert_eq!(names(lookup.of_digest(&digest)), ["/r/c"]);
        assert_eq!(lookup.unread(), 1);
    }

    #[test]
    fn digests_are_found_by_their_beginning() {
        let bed = Bed::new();
        bed.scan(
            "/r",
            &[
                file("a", 10, 1).content(0x12),
                file("b", 10, 2).content(0x12),
                file("c", 20, 3).content(0x13),
                file("gone", 20, 4).content(0x14),
            ],
        );
        bed.remove("/r", &[], &["gone"]);
        let count = |hex: &str| bed.reader().digests_beginning(hex, 9).unwrap().len();
        assert_eq!(
            (count("12121"), count("1"), count("14"), count("2")),
            (1, 2, 0, 0)
        );
        let found = bed.reader().digests_beginning("1313", 1).unwrap();
        assert_eq!(found, [Digest::from_bytes(&[0x13; 32]).unwrap()]);
    }
}
