//! What a listing compares a folder with, and which folders a resumed or
//! overflowing listing still has to visit.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use rusqlite::params;

use crate::catalog::store::{CatalogError, ReadOnly, rows, sql, unsigned};
use crate::catalog::write::Signature;
use crate::model::{FileState, FolderId, RootId, ScanId, VolumeId};

/// Sorts behind every name: none is as long.
const LAST_NAME: [u8; 4096] = [0xff; 4096];

/// A file row of one folder.
#[derive(Debug, Clone, Copy)]
pub struct KnownFile<'r> {
    /// Its name.
    pub name: &'r OsStr,
    /// The state the row describes.
    pub state: FileState,
    /// Whether the state was too young to trust.
    pub racy: bool,
    /// Whether another file may be in its place, on another volume.
    pub is_replaced: bool,
    /// Whether it is marked as deleted.
    pub removed: bool,
    /// Whether the name is a symbolic link.
    pub is_link: bool,
}

/// Some of the names in a folder, in byte order.
#[derive(Debug, Clone, Copy, Default)]
pub struct NameRange<'n> {
    /// Names after this one; from the first if `None`.
    pub after: Option<&'n OsStr>,
    /// Names up to this one; to the last if `None`.
    pub until: Option<&'n OsStr>,
}

/// A subfolder row of one folder.
#[derive(Debug, Clone)]
pub struct KnownFolder {
    /// Its id.
    pub id: FolderId,
    /// Its name.
    pub name: OsString,
    /// Whether it is marked as deleted.
    pub removed: bool,
    /// Whether a filesystem was mounted on it.
    pub mount_point: bool,
    /// The signature of its files, where it has one.
    pub signature: Option<Signature>,
    /// Whether it has live subfolders of its own.
    pub has_subfolders: bool,
    /// The volume it was on when it was listed.
    pub volume: Option<VolumeId>,
}

/// A folder's own row.
#[derive(Debug, Clone, Copy)]
pub struct FolderRow {
    /// Its (mtime, ctime) when it was listed; `None` if it was not, or if they were
    /// too young to trust.
    pub times: Option<(i64, i64)>,
    /// Whether a filesystem was mounted on it.
    pub mount_point: bool,
    /// The scan that last visited it.
    pub visited_in: Option<ScanId>,
    /// The signature of its files, where it has one.
    pub signature: Option<Signature>,
    /// The volume it was on when it was listed.
    pub volume: Option<VolumeId>,
}

impl ReadOnly {
    /// Whether the catalog holds any file, including deleted ones.
    pub fn has_files(&self) -> Result<bool, CatalogError> {
        let any = "SELECT EXISTS (SELECT 1 FROM files)";
        Ok(sql::value(&self.connection, any, [])?)
    }

    /// The sizes of live files, at most `limit` of them.
    pub fn sizes(&self, limit: usize) -> Result<Vec<u64>, CatalogError> {
        let sizes = "SELECT DISTINCT size FROM files WHERE removed_in IS NULL LIMIT ?1";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        Ok(sql::all(&self.connection, sizes, [limit], |row| {
            row.get(0).map(unsigned)
        })?)
    }

    /// Shows the file rows of a folder, by name.
    pub fn files_of(
        &self,
        folder: FolderId,
        range: NameRange<'_>,
        mut show: impl FnMut(&KnownFile<'_>),
    ) -> Result<(), CatalogError> {
        let after = range.after.map_or(&[][..], OsStr::as_bytes);
        let until = range.until.map_or(&LAST_NAME[..], OsStr::as_bytes);
        let mut statement = self.connection.prepare_cached(
            "SELECT name, size, mtime_ns, ctime_ns, ino, racy, removed_in IS NOT NULL, link,
                    racy AND digest IS NULL AND probe IS NULL
               FROM files WHERE folder = ?1 AND name > ?2 AND name <= ?3 ORDER BY name",
        )?;
        let mut rows = statement.query(params![folder, after, until])?;
        while let Some(row) = rows.next()? {
            show(&KnownFile {
                name: rows::name_ref(row, 0)?,
                state: rows::state(row, 1)?,
                racy: row.get(5)?,
                removed: row.get(6)?,
                is_link: row.get(7)?,
                is_replaced: row.get(8)?,
            });
        }
        Ok(())
    }

    /// The names of all live files and subfolders of a folder.
    pub fn live_names(&self, folder: FolderId) -> Result<Vec<OsString>, CatalogError> {
        let folders = self.subfolders_of(folder)?.into_iter();
        let mut names: Vec<OsString> = folders
            .filter(|folder| !folder.removed)
            .map(|folder| folder.name)
            .collect();
        self.files_of(folder, NameRange::default(), |file| {
            if !file.removed {
                names.push(file.name.to_owned());
            }
        })?;
        Ok(names)
    }

    /// How many live files of a folder have content.
    pub fn content_files_of(&self, folder: FolderId) -> Result<u64, CatalogError> {
        let count =
            "SELECT count(*) FROM files WHERE folder = ?1 AND size > 0 AND removed_in IS NULL";
        Ok(sql::count(&self.connection, count, [folder])?)
    }

    /// The names of the live empty files of a folder.
    pub fn empty_files_of(&self, folder: FolderId) -> Result<Vec<OsString>, CatalogError> {
        let names = "SELECT name FROM files WHERE folder = ?1 AND size = 0 AND removed_in IS NULL";
        Ok(sql::all(&self.connection, names, [folder], |row| {
            rows::name(row, 0)
        })?)
    }

    /// The subfolder rows of a folder, by name.
    pub fn subfolders_of(&self, folder: FolderId) -> Result<Vec<KnownFolder>, CatalogError> {
        let subfolders = "SELECT id, name, removed_in IS NOT NULL, mount_point, signature,
                    EXISTS (SELECT 1 FROM folders AS below
                             WHERE below.parent = folders.id AND below.removed_in IS NULL),
                    volume
               FROM folders WHERE parent = ?1 ORDER BY name";
        Ok(sql::all(&self.connection, subfolders, [folder], |row| {
            Ok(KnownFolder {
                id: row.get(0)?,
                name: rows::name(row, 1)?,
                removed: row.get(2)?,
                mount_point: row.get(3)?,
                signature: Signature::in_row(row, 4)?,
                has_subfolders: row.get(5)?,
                volume: row.get(6)?,
            })
        })?)
    }

    /// Whether something is known to be mounted on a live folder below
    /// `folder`.
    pub fn has_mount_point_below(&self, folder: FolderId) -> Result<bool, CatalogError> {
        let any = "WITH RECURSIVE below (id, mount_point) AS (
                 VALUES (?1, 0)
                 UNION ALL
                 SELECT folders.id, folders.mount_point
                   FROM below JOIN folders ON folders.parent = below.id
                  WHERE folders.removed_in IS NULL)
             SELECT EXISTS (SELECT 1 FROM below WHERE mount_point)";
        Ok(sql::value(&self.connection, any, [folder])?)
    }

    /// Folders that `scan` has found but not visited: the parent is listed,
    /// the folder itself is not.
    pub fn pending_folders(
        &self,
        scan: ScanId,
        root: RootId,
        limit: u32,
    ) -> Result<Vec<FolderId>, CatalogError> {
        let pending =
            "SELECT folders.id FROM folders JOIN folders AS parents ON parents.id = folders.parent
              WHERE folders.root = ?2 AND parents.listed_in = ?1
                AND folders.visited_in IS NOT ?1 AND folders.removed_in IS NULL
              LIMIT ?3";
        let values = params![scan, root, limit];
        Ok(sql::all(&self.connection, pending, values, |row| {
            row.get(0)
        })?)
    }

    /// Folders that `scan` has listed, in id order after `after`.
    pub fn listed_folders(
        &self,
        scan: ScanId,
        root: RootId,
        after: FolderId,
        limit: u32,
    ) -> Result<Vec<FolderId>, CatalogError> {
        let listed = "SELECT id FROM folders
              WHERE root = ?2 AND id > ?3 AND listed_in = ?1 AND removed_in IS NULL
              ORDER BY id LIMIT ?4";
        let values = params![scan, root, after, limit];
        Ok(sql::all(&self.connection, listed, values, |row| {
            row.get(0)
        })?)
    }

    /// What a folder's own row says.
    pub fn folder(&self, folder: FolderId) -> Result<FolderRow, CatalogError> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT mtime_ns, ctime_ns, mount_point, visited_in, signature, volume
                   FROM folders WHERE id = ?1",
            )?
            .query_row([folder], |row| {
                let (mtime, ctime): (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
                Ok(FolderRow {
                    times: mtime.zip(ctime),
                    mount_point: row.get(2)?,
                    visited_in: row.get(3)?,
                    signature: Signature::in_row(row, 4)?,
                    volume: row.get(5)?,
                })
            })?)
    }
}
