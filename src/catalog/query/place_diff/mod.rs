//! Which files of one place (ours) are also in another (theirs), by content, as
//! far as the catalog knows. The caller finds out whether the files still are as
//! they were scanned.

mod listing;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

pub use listing::Completeness;
use rusqlite::params;

use crate::catalog::query::files::FileFilter;
use crate::catalog::query::paths::RootPaths;
use crate::catalog::query::places::Extent;
use crate::catalog::store::terms::{
    CORRUPTED, CopyColumns, UNREAD, UNRESOLVED, same_state, state_of,
};
use crate::catalog::store::{CatalogError, FolderPaths, ReadOnly, rows};
use crate::model::{FileState, FolderId};

/// Rows fetched at once.
const PAGE: u32 = 1_000;

/// What identifies the copy of a file in our place, and in theirs.
const OURS: CopyColumns<'_> = CopyColumns {
    volume: "ours.volume",
    ino: "ours.ino",
};
const THEIRS: CopyColumns<'_> = CopyColumns {
    volume: "theirs.volume",
    ino: "theirs.ino",
};

/// Why the catalog cannot tell whether a file is in the other place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unresolved {
    /// It was not read, and the other place has a file of its size.
    NotRead,
    /// The other place has a file of its size that was not read.
    PartnerNotRead,
}

/// A file of our place.
#[derive(Debug)]
pub struct DiffFile {
    /// Its number in our place.
    id: i64,
    /// Its absolute path.
    pub path: PathBuf,
    /// The state it was scanned in.
    pub state: FileState,
    /// Whether it was too young when it was read for its times to prove anything.
    pub racy: bool,
    /// Whether it is known to be corrupted: its content does not match its digest.
    pub is_corrupted: bool,
    /// Why it may equal a file of the other place that is not among its matches.
    pub unresolved: Option<Unresolved>,
}

/// A file of their place with the same content.
#[derive(Debug)]
pub struct DiffMatch {
    id: i64,
    /// Its absolute path.
    pub path: PathBuf,
    /// The state it was scanned in.
    pub state: FileState,
    /// Whether its times prove nothing.
    pub racy: bool,
    /// Whether it is known to be corrupted.
    pub is_corrupted: bool,
}

/// A folder of our place.
#[derive(Debug)]
pub struct DiffFolder {
    /// Its id.
    pub id: FolderId,
    /// Its absolute path.
    pub path: PathBuf,
    /// Its (mtime, ctime) when it was listed, if they can prove that nothing
    /// changed.
    pub times: Option<(i64, i64)>,
}

/// Two places of the catalog.
pub struct PlaceDiff {
    catalog: ReadOnly,
    roots: RootPaths,
    paths: FolderPaths,
    filter: FileFilter,
    last_file: i64,
    last_folder: i64,
}

impl PlaceDiff {
    /// Compares the files below `ours` with those below `theirs`. What is below
    /// both belongs to `ours`: it would be wiped with it.
    pub fn build(
        catalog: ReadOnly,
        ours: &[FolderId],
        theirs: &[FolderId],
        filter: FileFilter,
    ) -> Result<Self, CatalogError> {
        let sides = Self {
            roots: RootPaths::of(&catalog)?,
            catalog,
            paths: FolderPaths::default(),
            filter,
            last_file: 0,
            last_folder: 0,
        };
        sides.catalog.connection.execute_batch("BEGIN")?;
        sides
            .catalog
            .collect_places("our_places", ours, Extent::Live)?;
        sides
            .catalog
            .collect_places("their_places", theirs, Extent::Live)?;
        sides.collect_ours()?;
        sides.collect_theirs()?;
        sides.catalog.connection.execute_batch("COMMIT")?;
        Ok(sides)
    }

    fn collect_ours(&self) -> Result<(), CatalogError> {
        let connection = &self.catalog.connection;
        connection.execute_batch(
            "DROP TABLE IF EXISTS temp.ours;
             CREATE TEMP TABLE ours (
                 id INTEGER PRIMARY KEY, folder INTEGER, name BLOB, size INTEGER,
                 mtime_ns INTEGER, ctime_ns INTEGER, volume INTEGER, ino INTEGER, racy INTEGER,
                 digest BLOB, probe INTEGER, unread INTEGER, unresolved INTEGER,
                 is_corrupted INTEGER);",
        )?;
        connection.execute(
            &format!(
                "INSERT INTO temp.ours (folder, name, size, mtime_ns, ctime_ns, volume, ino, racy,
                                        digest, probe, unread, unresolved, is_corrupted)
                 SELECT files.folder, files.name, files.size, files.mtime_ns, files.ctime_ns,
                        folders.volume, files.ino, files.racy, files.digest, files.probe,
                        {UNREAD} OR {CORRUPTED}, {UNRESOLVED} OR {CORRUPTED}, {CORRUPTED}
                   FROM temp.our_places AS places
                   JOIN files ON files.folder = places.folder
                   JOIN folders ON folders.id = files.folder
                  WHERE files.removed_in IS NULL AND files.size > 0
                    AND files.size BETWEEN ?1 AND ?2
                  ORDER BY places.rank, files.name"
            ),
            self.filter.sizes(),
        )?;
        Ok(())
    }

    /// Only files of a size that occurs in our place matter.
    fn collect_theirs(&self) -> Result<(), CatalogError> {
        self.catalog.connection.execute_batch(&format!(
            "DROP TABLE IF EXISTS temp.theirs;
             CREATE TEMP TABLE theirs (
                 id INTEGER PRIMARY KEY, folder INTEGER, name BLOB, size INTEGER,
                 mtime_ns INTEGER, ctime_ns INTEGER, volume INTEGER, ino INTEGER, racy INTEGER,
                 digest BLOB, probe INTEGER, unread INTEGER, unresolved INTEGER,
                 is_corrupted INTEGER);
             INSERT INTO temp.theirs (folder, name, size, mtime_ns, ctime_ns, volume, ino, racy,
                                      digest, probe, unread, unresolved, is_corrupted)
             SELECT files.folder, files.name, files.size, files.mtime_ns, files.ctime_ns,
                    folders.volume, files.ino, files.racy, files.digest, files.probe,
                    {UNREAD} OR {CORRUPTED}, {UNRESOLVED} OR {CORRUPTED}, {CORRUPTED}
               FROM temp.their_places AS places
               JOIN files ON files.folder = places.folder
               JOIN folders ON folders.id = files.folder
              WHERE files.removed_in IS NULL AND files.size IN (SELECT size FROM temp.ours)
                AND files.folder NOT IN (SELECT folder FROM temp.our_places)
              ORDER BY places.rank, files.name;
             CREATE INDEX temp.theirs_by_digest ON theirs (digest);
             CREATE INDEX temp.theirs_by_inode ON theirs (ino, volume);
             DROP TABLE IF EXISTS temp.their_sizes;
             CREATE TEMP TABLE their_sizes (
                 size INTEGER PRIMARY KEY, unread INTEGER, volume INTEGER, ino INTEGER);
             INSERT INTO temp.their_sizes SELECT size, max(unread), {only_copy}
               FROM temp.theirs GROUP BY size;
             DROP TABLE IF EXISTS temp.their_classes;
             CREATE TEMP TABLE their_classes (
                 size INTEGER, probe INTEGER, unresolved INTEGER, volume INTEGER, ino INTEGER,
                 PRIMARY KEY (size, probe));
             INSERT INTO temp.their_classes
             SELECT size, probe, max(unresolved), {only_copy} FROM temp.theirs
              WHERE probe IS NOT NULL GROUP BY size, probe;",
            // Names of one copy leave nothing open between each other.
            only_copy = THEIRS.only()
        ))?;
        Ok(())
    }

    /// The next files of the one side that pass the filter, by path; empty at
    /// the end.
    ///
    /// A file is unresolved if the catalog would call it unchecked, were the file
    /// and the other side all that it holds.
    pub fn next_files(&mut self) -> Result<Vec<DiffFile>, CatalogError> {
        let mut files = Vec::new();
        while files.is_empty() {
            let page = self.page()?;
            if page.is_empty() {
                break;
            }
            for (folder, name, mut file) in page {
                self.last_file = file.id;
                let is_wanted =
                    self.filter
                        .admits(&self.catalog, &mut self.paths, folder, &name)?;
                if is_wanted {
                    file.path = self.path(folder, &name)?;
                    files.push(file);
                }
            }
        }
        Ok(files)
    }

    fn page(&self) -> Result<Vec<(FolderId, OsString, DiffFile)>, CatalogError> {
        let another = |table: &str| {
            let (volume, ino) = (format!("{table}.volume"), format!("{table}.ino"));
            let copy = CopyColumns {
                volume: &volume,
                ino: &ino,
            };
            format!("{} IS NOT TRUE", copy.is(&OURS))
        };
        let mut statement = self.catalog.connection.prepare_cached(&format!(
            "SELECT ours.id, ours.folder, ours.name, {}, ours.racy,
                    (sizes.size IS NOT NULL AND ours.unread)
                        OR (classes.size IS NOT NULL AND ours.unresolved),
                    ifnull(sizes.unread, 0) OR ifnull(classes.unresolved, 0), ours.is_corrupted
               FROM temp.ours
               LEFT JOIN temp.their_sizes AS sizes ON sizes.size = ours.size AND {}
               LEFT JOIN temp.their_classes AS classes
                    ON classes.size = ours.size AND classes.probe = ours.probe AND {}
              WHERE ours.id > ?1 ORDER BY ours.id LIMIT ?2",
            state_of("ours"),
            another("sizes"),
            another("classes"),
        ))?;
        let rows = statement.query_map(params![self.last_file, PAGE], |row| {
            let unresolved = match (row.get(8)?, row.get(9)?) {
                (true, _) => Some(Unresolved::NotRead),
                (false, true) => Some(Unresolved::PartnerNotRead),
                (false, false) => None,
            };
            let file = DiffFile {
                id: row.get(0)?,
                path: PathBuf::new(),
                state: rows::state(row, 3)?,
                racy: row.get(7)?,
                is_corrupted: row.get(10)?,
                unresolved,
            };
            Ok((FolderId(row.get(1)?), rows::name(row, 2)?, file))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Files of their place with the content of `file`, by path, after `after`:
    /// those with its digest, and other names of the same copy.
    pub fn matches(
        &mut self,
        file: &DiffFile,
        after: Option<&DiffMatch>,
        limit: u32,
    ) -> Result<Vec<DiffMatch>, CatalogError> {
        let found: Vec<(FolderId, OsString, DiffMatch)> = {
            let mut statement = self.catalog.connection.prepare_cached(&format!(
                "SELECT theirs.id, theirs.folder, theirs.name, {state}, theirs.racy, theirs.is_corrupted
                   FROM temp.ours JOIN temp.theirs ON theirs.digest = ours.digest
                  WHERE ours.id = ?1 AND theirs.id > ?2
                  UNION
                 SELECT theirs.id, theirs.folder, theirs.name, {state}, 0, theirs.is_corrupted
                   FROM temp.ours JOIN temp.theirs ON {same_copy} AND {same_state}
                  WHERE ours.id = ?1 AND theirs.id > ?2
                  ORDER BY 1 LIMIT ?3",
                state = state_of("theirs"),
                same_copy = THEIRS.is(&OURS),
                same_state = same_state("theirs", "ours"),
            ))?;
            let after = after.map_or(0, |last| last.id);
            let rows = statement.query_map(params![file.id, after, limit], |row| {
                let found = DiffMatch {
                    id: row.get(0)?,
                    path: PathBuf::new(),
                    state: rows::state(row, 3)?,
                    racy: row.get(7)?,
                    is_corrupted: row.get(8)?,
                };
                Ok((FolderId(row.get(1)?), rows::name(row, 2)?, found))
            })?;
            rows.collect::<Result<_, _>>()?
        };
        let whole = |(folder, name, found): (FolderId, OsString, DiffMatch)| {
            let path = self.path(folder, &name)?;
            Ok(DiffMatch { path, ..found })
        };
        found.into_iter().map(whole).collect()
    }

    /// The next folders of our place, by path; empty at the end.
    pub fn next_folders(&mut self) -> Result<Vec<DiffFolder>, CatalogError> {
        let page: Vec<(i64, FolderId)> = {
            let mut statement = self.catalog.connection.prepare_cached(
                "SELECT rank, folder FROM temp.our_places WHERE rank > ?1 ORDER BY rank LIMIT ?2",
            )?;
            let rows = statement.query_map(params![self.last_folder, PAGE], |row| {
                Ok((row.get(0)?, FolderId(row.get(1)?)))
            })?;
            rows.collect::<Result<_, _>>()?
        };
        if let Some((rank, _)) = page.last() {
            self.last_folder = *rank;
        }
        page.into_iter()
            .map(|(_, id)| {
                Ok(DiffFolder {
                    id,
                    path: self.path(id, OsStr::new(""))?,
                    times: self.catalog.folder(id)?.times,
                })
            })
            .collect()
    }

    /// The catalog, for further questions.
    pub fn catalog(&self) -> &ReadOnly {
        &self.catalog
    }

    fn path(&mut self, folder: FolderId, name: &OsStr) -> Result<PathBuf, CatalogError> {
        (self.roots).absolute(&self.catalog, &mut self.paths, folder, name)
    }
}
