//! Which files of one place (ours) are also in another (theirs), by content, as
//! far as the catalog knows. The caller finds out whether the files still are as
//! they were scanned.

mod listing;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

pub use listing::Completeness;
use rusqlite::{Row, params};

use crate::catalog::query::files::FileFilter;
use crate::catalog::query::paths::RootPaths;
use crate::catalog::query::places::Extent;
use crate::catalog::store::terms::{
    CORRUPTED, CopyColumns, EXCLUDED, NOT_COMPARED, UNREAD, UNRESOLVED, same_state, state_of,
};
use crate::catalog::store::{
    CatalogError, FolderPaths, Pages, ReadOnly, refuse_malformed, rows, sql,
};
use crate::model::{FileState, FolderId};

/// Files or folders handed out at once.
const PAGE: usize = 1_000;

/// What identifies the copy of a file in our place, and in theirs.
const OURS: CopyColumns<'_> = CopyColumns::of("ours.volume", "ours.ino");
const THEIRS: CopyColumns<'_> = CopyColumns::of("theirs.volume", "theirs.ino");

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
    /// Whether it is not compared because of its size.
    pub is_not_compared: bool,
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
}

/// Two places of the catalog.
pub struct PlaceDiff {
    catalog: ReadOnly,
    roots: RootPaths,
    paths: FolderPaths,
    filter: FileFilter,
    files: Pages<Located<DiffFile>>,
    folders: Pages<FolderId>,
}

/// A row with the folder and the name that its path is made of.
type Located<T> = (FolderId, OsString, T);

impl PlaceDiff {
    /// Compares the files below `ours` with those below `theirs`. What is below
    /// both belongs to `ours`: it would be wiped with it.
    pub fn build(
        catalog: ReadOnly,
        ours: &[FolderId],
        theirs: &[FolderId],
        filter: FileFilter,
    ) -> Result<Self, CatalogError> {
        let places = Self {
            roots: RootPaths::of(&catalog)?,
            catalog,
            paths: FolderPaths::default(),
            filter,
            files: Pages::new(our_files(), diff_file),
            folders: Pages::new(OUR_FOLDERS, |row| row.get(1)),
        };
        let catalog = &places.catalog;
        catalog.connection.execute_batch("BEGIN")?;
        catalog.collect_places("our_places", ours, Extent::InScope)?;
        catalog.collect_places("their_places", theirs, Extent::InScope)?;
        places.collect_ours()?;
        places.collect_theirs()?;
        catalog.connection.execute_batch("COMMIT")?;
        Ok(places)
    }

    fn collect_ours(&self) -> Result<(), CatalogError> {
        let (low, high) = self.filter.sizes();
        let wanted = format!("files.size > 0 AND files.size BETWEEN {low} AND {high}");
        self.collect("ours", "our_places", &wanted)
    }

    /// Only files of a size that occurs in our place matter.
    fn collect_theirs(&self) -> Result<(), CatalogError> {
        let wanted = "files.size IN (SELECT size FROM temp.ours)
            AND files.folder NOT IN (SELECT folder FROM temp.our_places)";
        self.collect("theirs", "their_places", wanted)?;
        self.catalog.connection.execute_batch(&format!(
            "CREATE INDEX temp.theirs_by_digest ON theirs (digest);
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

    /// Fills `table` with the live files in `places` that are wanted and not
    /// excluded, by path.
    fn collect(&self, table: &str, places: &str, wanted: &str) -> Result<(), CatalogError> {
        let state = state_of("files");
        self.catalog.connection.execute_batch(&format!(
            "DROP TABLE IF EXISTS temp.{table};
             CREATE TEMP TABLE {table} (
                 id INTEGER PRIMARY KEY, folder INTEGER, name BLOB, size INTEGER,
                 mtime_ns INTEGER, ctime_ns INTEGER, ino INTEGER, volume INTEGER, racy INTEGER,
                 digest BLOB, probe INTEGER, unread INTEGER, unresolved INTEGER,
                 is_corrupted INTEGER, is_not_compared INTEGER);
             INSERT INTO temp.{table}
             SELECT NULL, files.folder, files.name, {state}, folders.volume, files.racy,
                    files.digest, files.probe, {UNREAD} OR {CORRUPTED},
                    {UNRESOLVED} OR {CORRUPTED}, {CORRUPTED}, {NOT_COMPARED}
               FROM temp.{places} AS places
               JOIN files ON files.folder = places.folder
               JOIN folders ON folders.id = files.folder
              WHERE files.removed_in IS NULL AND NOT {EXCLUDED} AND {wanted}
              ORDER BY places.rank, files.name;"
        ))?;
        refuse_malformed(&self.catalog.connection, &format!("temp.{table}"))
    }

    /// The next files of our place that pass the filter, by path; empty at the
    /// end.
    ///
    /// A file is unresolved if the catalog would call it unchecked, were the file
    /// and the other place all that it holds.
    pub fn next_files(&mut self) -> Result<Vec<DiffFile>, CatalogError> {
        let mut files = Vec::new();
        while files.len() < PAGE
            && let Some((folder, name, file)) = self.files.next(&self.catalog.connection)?
        {
            let (catalog, paths) = (&self.catalog, &mut self.paths);
            if self.filter.admits(catalog, paths, folder, &name)? {
                let path = self.path(folder, &name)?;
                files.push(DiffFile { path, ..file });
            }
        }
        Ok(files)
    }

    /// Files of their place with the content of `file`, by path, after `after`:
    /// those with its digest, and other names of the same copy.
    pub fn matches(
        &mut self,
        file: &DiffFile,
        after: Option<&DiffMatch>,
        limit: u32,
    ) -> Result<Vec<DiffMatch>, CatalogError> {
        let matches = format!(
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
        );
        let after = after.map_or(0, |last| last.id);
        let values = params![file.id, after, limit];
        let found: Vec<_> = sql::all(&self.catalog.connection, &matches, values, diff_match)?;
        let whole = |(folder, name, found): Located<DiffMatch>| {
            let path = self.path(folder, &name)?;
            Ok(DiffMatch { path, ..found })
        };
        found.into_iter().map(whole).collect()
    }

    /// The next folders of our place, by path; empty at the end.
    pub fn next_folders(&mut self) -> Result<Vec<DiffFolder>, CatalogError> {
        let mut folders = Vec::new();
        while folders.len() < PAGE
            && let Some(id) = self.folders.next(&self.catalog.connection)?
        {
            folders.push(DiffFolder {
                id,
                path: self.path(id, OsStr::new(""))?,
            });
        }
        Ok(folders)
    }

    /// The catalog, for further questions.
    pub fn catalog(&self) -> &ReadOnly {
        &self.catalog
    }

    fn path(&mut self, folder: FolderId, name: &OsStr) -> Result<PathBuf, CatalogError> {
        (self.roots).absolute(&self.catalog, &mut self.paths, folder, name)
    }
}

/// The folders of our place, by page.
const OUR_FOLDERS: &str =
    "SELECT rank, folder FROM temp.our_places WHERE rank > ?1 ORDER BY rank LIMIT ?2";

/// The files of our place, by page, with what the other place leaves open.
fn our_files() -> String {
    let another = |volume: &str, ino: &str| {
        let copy = CopyColumns::of(volume, ino);
        format!("{} IS NOT TRUE", copy.is(&OURS))
    };
    format!(
        "SELECT ours.id, ours.folder, ours.name, {}, ours.racy,
                (sizes.size IS NOT NULL AND ours.unread)
                    OR (classes.size IS NOT NULL AND ours.unresolved),
                ifnull(sizes.unread, 0) OR ifnull(classes.unresolved, 0), ours.is_corrupted,
                ours.is_not_compared
           FROM temp.ours
           LEFT JOIN temp.their_sizes AS sizes ON sizes.size = ours.size AND {}
           LEFT JOIN temp.their_classes AS classes
                ON classes.size = ours.size AND classes.probe = ours.probe AND {}
          WHERE ours.id > ?1 ORDER BY ours.id LIMIT ?2",
        state_of("ours"),
        another("sizes.volume", "sizes.ino"),
        another("classes.volume", "classes.ino"),
    )
}

fn diff_file(row: &Row<'_>) -> rusqlite::Result<Located<DiffFile>> {
    let file = DiffFile {
        id: row.get(0)?,
        path: PathBuf::new(),
        state: rows::state(row, 3)?,
        racy: row.get(7)?,
        is_corrupted: row.get(10)?,
        is_not_compared: row.get(11)?,
        unresolved: match (row.get(8)?, row.get(9)?) {
            (true, _) => Some(Unresolved::NotRead),
            (false, true) => Some(Unresolved::PartnerNotRead),
            (false, false) => None,
        },
    };
    Ok((row.get(1)?, rows::name(row, 2)?, file))
}

fn diff_match(row: &Row<'_>) -> rusqlite::Result<Located<DiffMatch>> {
    let found = DiffMatch {
        id: row.get(0)?,
        path: PathBuf::new(),
        state: rows::state(row, 3)?,
        racy: row.get(7)?,
        is_corrupted: row.get(8)?,
    };
    Ok((row.get(1)?, rows::name(row, 2)?, found))
}
