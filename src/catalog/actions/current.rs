//! What the catalog says of one file now: a plan may be older than the newest
//! scan of its files.

use std::path::Path;

use rusqlite::params;

use crate::catalog::store::terms::{COMPARED, CORRUPTED, REAL};
use crate::catalog::store::{CatalogError, ReadOnly, blob, rows, sql, unsigned};
use crate::model::{Digest, FileState, ScanId};

/// A live file of the catalog that can be a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentFile {
    /// The state it was scanned in.
    pub state: FileState,
    /// Its digest, where there is one.
    pub digest: Option<Digest>,
    /// Whether it is known to be corrupted.
    pub is_corrupted: bool,
    /// Number of hard links when it was scanned.
    pub nlink: u64,
    /// The scan that found it.
    pub first_scan: ScanId,
}

impl ReadOnly {
    /// The file at an absolute path; `None` where no live file is known, only a
    /// link, or one that is not compared with others.
    pub fn current_file(&self, path: &Path) -> Result<Option<CurrentFile>, CatalogError> {
        let Some((parent, name)) = path.parent().zip(path.file_name()) else {
            return Ok(None);
        };
        let Some(folder) = self.folder_at(parent)? else {
            return Ok(None);
        };
        let file = format!(
            "SELECT files.size, files.mtime_ns, files.ctime_ns, files.ino, files.digest,
                    {CORRUPTED}, files.nlink, files.first_scan
               FROM files JOIN folders ON folders.id = files.folder
              WHERE files.folder = ?1 AND files.name = ?2 AND files.removed_in IS NULL AND {REAL}
                AND {COMPARED}"
        );
        let values = params![folder, blob(name)];
        Ok(sql::first(&self.connection, &file, values, |row| {
            Ok(CurrentFile {
                state: rows::state(row, 0)?,
                digest: rows::digest(row, 4)?,
                is_corrupted: row.get(5)?,
                nlink: unsigned(row.get(6)?),
                first_scan: ScanId(row.get(7)?),
            })
        })?)
    }
}
