//! Lists of single files for an answer, streamed one file at a time.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use rusqlite::{Row, params};

use super::groups::{Exclusion, admits_name};
use super::paths::RootPaths;
use super::places::Extent;
use crate::catalog::store::{
    CatalogError, FolderPaths, Pages, ReadOnly, rows, signed, sql, unsigned,
};
use crate::model::{CopyId, Digest, FolderId};

/// Which files an answer is about.
#[derive(Default)]
pub struct FileFilter {
    /// Smallest file size.
    pub min_size: Option<u64>,
    /// Largest file size.
    pub max_size: Option<u64>,
    /// Only files with one of these extensions, compared without case.
    pub extensions: Vec<String>,
    /// Files to exclude.
    pub exclude: Option<Exclusion>,
}

impl FileFilter {
    /// Whether every file passes.
    pub fn is_open(&self) -> bool {
        self.min_size.is_none()
            && self.max_size.is_none()
            && self.extensions.is_empty()
            && self.exclude.is_none()
    }

    /// Whether the name of a file decides if it passes.
    pub(crate) fn judges_names(&self) -> bool {
        !self.extensions.is_empty() || self.exclude.is_some()
    }

    /// The sizes that are wanted, as the catalog stores them.
    pub(crate) fn sizes(&self) -> (i64, i64) {
        (
            signed(self.min_size.unwrap_or(0)),
            signed(self.max_size.unwrap_or(u64::MAX)),
        )
    }

    /// Whether a file passes by its name; the query checks sizes.
    pub(crate) fn admits(
        &self,
        catalog: &ReadOnly,
        paths: &mut FolderPaths,
        folder: FolderId,
        name: &OsStr,
    ) -> Result<bool, CatalogError> {
        let exclude = self.exclude.as_ref();
        admits_name(catalog, paths, &self.extensions, exclude, (folder, name))
    }
}

/// What a list says about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Another copy has its content.
    Duplicate = 1,
    /// No other copy has its content.
    Unique = 2,
    /// It could be either: it was not fully read, or a possible copy was not.
    Unchecked = 3,
    /// It did not exist before.
    Appeared = 4,
    /// It no longer exists.
    Vanished = 5,
}

impl Verdict {
    const ALL: [Self; 5] = [
        Self::Duplicate,
        Self::Unique,
        Self::Unchecked,
        Self::Appeared,
        Self::Vanished,
    ];

    /// The word in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Unique => "unique",
            Self::Unchecked => "unchecked",
            Self::Appeared => "added",
            Self::Vanished => "deleted",
        }
    }

    fn from_number(number: i64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|verdict| *verdict as i64 == number)
    }
}

/// A file in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Its absolute path: the first in order that passed the filter.
    pub path: PathBuf,
    /// The path of its root.
    pub root: PathBuf,
    /// Length in bytes.
    pub size: u64,
    /// Modification time.
    pub mtime_ns: i64,
    /// Digest, where there is one.
    pub digest: Option<Digest>,
    /// Known copies of its content, including itself.
    pub copies: u64,
    /// What the list says about it.
    pub verdict: Verdict,
    /// Other names of the same copy, in lists of copies.
    pub links: Vec<PathBuf>,
}

/// Whether every name gets an entry, or every copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    Names,
    /// The names of a copy must be in consecutive rows.
    Copies,
}

/// A list of files, collected completely before the first is returned.
pub struct FileList {
    catalog: ReadOnly,
    roots: RootPaths,
    paths: FolderPaths,
    filter: FileFilter,
    fold: Fold,
    rows: Pages<ListRow>,
    /// The last entry; the next rows may be further names of it.
    held: Option<(FileEntry, Option<CopyId>)>,
}

/// An entry without its paths, and what they are made of.
struct ListRow {
    folder: FolderId,
    name: OsString,
    copy: Option<CopyId>,
    entry: FileEntry,
}

impl FileList {
    /// Lets `fill` insert rows of files with sizes from one to another into
    /// `temp.listed`. The folders of `tops` are in
    /// `temp.places`; everything comes from one snapshot.
    pub(crate) fn build(
        catalog: ReadOnly,
        (tops, extent): (&[FolderId], Extent),
        filter: FileFilter,
        fold: Fold,
        fill: impl FnOnce(&ReadOnly, (i64, i64)) -> Result<usize, CatalogError>,
    ) -> Result<Self, CatalogError> {
        let list = Self {
            roots: RootPaths::of(&catalog)?,
            catalog,
            paths: FolderPaths::default(),
            filter,
            fold,
            rows: Pages::new(LISTED, list_row),
            held: None,
        };
        let connection = &list.catalog.connection;
        connection.execute_batch(
            "BEGIN;
             DROP TABLE IF EXISTS temp.listed;
             CREATE TEMP TABLE listed (
                 id INTEGER PRIMARY KEY, folder INTEGER, name BLOB, size INTEGER,
                 mtime_ns INTEGER, volume INTEGER, ino INTEGER, digest BLOB, copies INTEGER,
                 verdict INTEGER);",
        )?;
        list.catalog.collect_places("places", tops, extent)?;
        fill(&list.catalog, list.filter.sizes())?;
        connection.execute_batch("COMMIT")?;
        Ok(list)
    }

    /// Every live file below `tops` with its digest, where there is one, by
    /// path. An empty file has the digest of nothing.
    pub fn digests(
        catalog: ReadOnly,
        tops: &[FolderId],
        filter: FileFilter,
    ) -> Result<Self, CatalogError> {
        let nothing = catalog.algorithm()?.digest_of_nothing();
        let place = (tops, Extent::Live);
        Self::build(
            catalog,
            place,
            filter,
            Fold::Names,
            |catalog, (low, high)| {
                let list = "INSERT INTO temp.listed (folder, name, size, mtime_ns, digest, copies, verdict)
                 SELECT files.folder, files.name, files.size, files.mtime_ns,
                        CASE files.size WHEN 0 THEN ?3 ELSE files.digest END, 0, ?4
                   FROM temp.places JOIN files ON files.folder = places.folder
                  WHERE files.removed_in IS NULL AND files.size BETWEEN ?1 AND ?2
                  ORDER BY places.rank, files.name";
                let values = params![low, high, nothing.as_bytes(), Verdict::Unchecked as i64];
                Ok(sql::run(&catalog.connection, list, values)?)
            },
        )
    }

    /// The next file that passes the filter; `None` at the end.
    pub fn next_file(&mut self) -> Result<Option<FileEntry>, CatalogError> {
        while let Some(row) = self.rows.next(&self.catalog.connection)? {
            let is_wanted =
                self.filter
                    .admits(&self.catalog, &mut self.paths, row.folder, &row.name)?;
            if !is_wanted {
                continue;
            }
            let copy = row.copy;
            let entry = self.entry(row)?;
            if self.fold == Fold::Names {
                return Ok(Some(entry));
            }
            if let Some((held, its_copy)) = &mut self.held
                && CopyId::is_shared(*its_copy, copy)
            {
                held.links.push(entry.path);
                continue;
            }
            if let Some((done, _)) = self.held.replace((entry, copy)) {
                return Ok(Some(done));
            }
        }
        Ok(self.held.take().map(|(last, _)| last))
    }

    fn entry(&mut self, row: ListRow) -> Result<FileEntry, CatalogError> {
        let (catalog, paths) = (&self.catalog, &mut self.paths);
        let (root, _) = paths.get(catalog, row.folder)?;
        Ok(FileEntry {
            path: (self.roots).absolute(catalog, paths, row.folder, &row.name)?,
            root: self.roots.get(root).to_owned(),
            ..row.entry
        })
    }
}

/// The files of the list, by page.
const LISTED: &str = "SELECT id, folder, name, size, mtime_ns, volume, ino, digest, copies, verdict
       FROM temp.listed WHERE id > ?1 ORDER BY id LIMIT ?2";

fn list_row(row: &Row<'_>) -> rusqlite::Result<ListRow> {
    let ino: Option<i64> = row.get(6)?;
    Ok(ListRow {
        folder: row.get(1)?,
        name: rows::name(row, 2)?,
        copy: CopyId::of(row.get(5)?, ino.map(i64::cast_unsigned)),
        entry: FileEntry {
            path: PathBuf::new(),
            root: PathBuf::new(),
            size: unsigned(row.get(3)?),
            mtime_ns: row.get(4)?,
            digest: rows::digest(row, 7)?,
            copies: unsigned(row.get(8)?),
            verdict: Verdict::from_number(row.get(9)?).unwrap_or(Verdict::Unchecked),
            links: Vec::new(),
        },
    })
}
