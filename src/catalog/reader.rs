//! What a listing compares a folder with, and which folders a resumed or
//! overflowing listing still has to visit.

use std::ffi::OsString;

use rusqlite::params;

use super::records::FileState;
use super::rows::{self, unsigned};
use super::{CatalogError, ReadOnly};
use crate::model::{FolderId, RootId, ScanId};

/// A file row of one folder.
#[derive(Debug, Clone)]
pub struct KnownFile {
    /// Its name.
    pub name: OsString,
    /// The state the row describes.
    pub state: FileState,
    /// Whether the state was too fresh to be trusted.
    pub racy: bool,
    /// Whether it is flagged removed.
    pub removed: bool,
}

/// A subfolder row of one folder.
#[derive(Debug, Clone)]
pub struct KnownFolder {
    /// Its id.
    pub id: FolderId,
    /// Its name.
    pub name: OsString,
    /// Whether it is flagged removed.
    pub removed: bool,
    /// Whether a filesystem was mounted on it.
    pub mount_point: bool,
}

/// A folder's own row.
#[derive(Debug, Clone, Copy)]
pub struct FolderRow {
    /// The (mtime, ctime) it had when it was listed; `None` when it was not,
    /// or when they were too fresh to compare with.
    pub times: Option<(i64, i64)>,
    /// Whether a filesystem was mounted on it.
    pub mount_point: bool,
    /// The scan that last looked at it.
    pub visited_in: Option<ScanId>,
}

impl ReadOnly {
    /// The file rows of a folder, by name.
    pub fn files_of(&self, folder: FolderId) -> Result<Vec<KnownFile>, CatalogError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT name, size, mtime_ns, ctime_ns, ino, racy, removed_in IS NOT NULL
               FROM files WHERE folder = ?1 ORDER BY name",
        )?;
        let rows = statement.query_map([folder.0], |row| {
            Ok(KnownFile {
                name: rows::name(row, 0)?,
                state: FileState {
                    size: unsigned(row.get(1)?),
                    mtime_ns: row.get(2)?,
                    ctime_ns: row.get(3)?,
                    ino: row.get::<_, Option<i64>>(4)?.map(i64::cast_unsigned),
                },
                racy: row.get(5)?,
                removed: row.get(6)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The subfolder rows of a folder, by name.
    pub fn subfolders_of(&self, folder: FolderId) -> Result<Vec<KnownFolder>, CatalogError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, name, removed_in IS NOT NULL, mount_point
               FROM folders WHERE parent = ?1 ORDER BY name",
        )?;
        let rows = statement.query_map([folder.0], |row| {
            Ok(KnownFolder {
                id: FolderId(row.get(0)?),
                name: rows::name(row, 1)?,
                removed: row.get(2)?,
                mount_point: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Whether something is known to be mounted on a live folder below
    /// `folder`.
    pub fn has_mount_point_below(&self, folder: FolderId) -> Result<bool, CatalogError> {
        Ok(self
            .connection
            .prepare_cached(
                "WITH RECURSIVE below (id, mount_point) AS (
                     VALUES (?1, 0)
                     UNION ALL
                     SELECT folders.id, folders.mount_point
                       FROM below JOIN folders ON folders.parent = below.id
                      WHERE folders.removed_in IS NULL)
                 SELECT EXISTS (SELECT 1 FROM below WHERE mount_point)",
            )?
            .query_row([folder.0], |row| row.get(0))?)
    }

    /// Folders that `scan` has found but not visited: the parent is listed,
    /// the folder itself is not.
    pub fn pending_folders(
        &self,
        scan: ScanId,
        root: RootId,
        limit: u32,
    ) -> Result<Vec<FolderId>, CatalogError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT folders.id FROM folders JOIN folders AS parents ON parents.id = folders.parent
              WHERE folders.root = ?2 AND parents.listed_in = ?1
                AND folders.visited_in IS NOT ?1 AND folders.removed_in IS NULL
              LIMIT ?3",
        )?;
        let rows = statement.query_map(params![scan.0, root.0, limit], |row| {
            row.get(0).map(FolderId)
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Folders that `scan` has listed, in id order after `after`.
    pub fn listed_folders(
        &self,
        scan: ScanId,
        root: RootId,
        after: FolderId,
        limit: u32,
    ) -> Result<Vec<FolderId>, CatalogError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id FROM folders
              WHERE root = ?2 AND id > ?3 AND listed_in = ?1 AND removed_in IS NULL
              ORDER BY id LIMIT ?4",
        )?;
        let rows = statement.query_map(params![scan.0, root.0, after.0, limit], |row| {
            row.get(0).map(FolderId)
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// What a folder's own row says.
    pub fn folder(&self, folder: FolderId) -> Result<FolderRow, CatalogError> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT mtime_ns, ctime_ns, mount_point, visited_in FROM folders WHERE id = ?1",
            )?
            .query_row([folder.0], |row| {
                let mtime: Option<i64> = row.get(0)?;
                let ctime: Option<i64> = row.get(1)?;
                Ok(FolderRow {
                    times: mtime.zip(ctime),
                    mount_point: row.get(2)?,
                    visited_in: row.get::<_, Option<i64>>(3)?.map(ScanId),
                })
            })?)
    }
}
