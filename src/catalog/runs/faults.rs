//! The dead letters: paths that failed for good.

use std::path::PathBuf;

use rusqlite::params;

use crate::catalog::query::RootPaths;
use crate::catalog::store::{CatalogError, FolderPaths, ReadOnly, rows, sql};
use crate::model::{FaultId, FolderId, RootId, Timestamp};

/// One dead letter.
#[derive(Debug, Clone)]
pub struct FaultEntry {
    /// Its number, for `retry`.
    pub id: FaultId,
    /// The absolute path.
    pub path: PathBuf,
    /// Its root.
    pub root: RootId,
    /// The folder that failed, or the file's folder.
    pub folder: FolderId,
    /// Whether the folder itself failed, rather than a file in it.
    pub is_folder: bool,
    /// What was being done.
    pub step: String,
    /// Class of the fault.
    pub class: String,
    /// How often it was tried.
    pub attempts: u32,
    /// When it first failed.
    pub first: Timestamp,
    /// When it last failed.
    pub last: Timestamp,
    /// What the system said.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// Size in the catalog, for a file that was listed.
    pub size: Option<u64>,
}

/// How many dead letters share a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultCause {
    /// What was being done.
    pub step: String,
    /// What the system said.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// Number of paths.
    pub count: u64,
}

impl ReadOnly {
    /// The dead letters after `after`, in order of their numbers.
    pub fn faults(&self, after: FaultId, limit: u32) -> Result<Vec<FaultEntry>, CatalogError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT faults.id, faults.root, faults.folder, faults.name, faults.step, faults.class,
                    faults.attempts, faults.first_at, faults.last_at, faults.message, faults.hint,
                    files.size
               FROM faults
               LEFT JOIN files ON files.folder = faults.folder AND files.name = faults.name
              WHERE faults.id > ?1 ORDER BY faults.id LIMIT ?2",
        )?;
        let (roots, mut paths) = (RootPaths::of(self)?, FolderPaths::default());
        let mut found = statement.query(params![after.0, limit])?;
        let mut entries = Vec::new();
        while let Some(row) = found.next()? {
            let folder = row.get(2)?;
            let name = rows::name(row, 3)?;
            entries.push(FaultEntry {
                id: row.get(0)?,
                path: roots.absolute(self, &mut paths, folder, &name)?,
                root: row.get(1)?,
                folder,
                is_folder: name.is_empty(),
                step: row.get(4)?,
                class: row.get(5)?,
                attempts: row.get(6)?,
                first: row.get(7)?,
                last: row.get(8)?,
                message: row.get(9)?,
                hint: row.get(10)?,
                size: row.get::<_, Option<i64>>(11)?.map(rows::unsigned),
            });
        }
        Ok(entries)
    }

    /// The causes of all dead letters, most frequent first.
    pub fn fault_causes(&self) -> Result<Vec<FaultCause>, CatalogError> {
        let causes = "SELECT step, message, min(hint), count(*) FROM faults
              GROUP BY step, message ORDER BY count(*) DESC, step, message";
        Ok(sql::all(&self.connection, causes, [], |row| {
            Ok(FaultCause {
                step: row.get(0)?,
                message: row.get(1)?,
                hint: row.get(2)?,
                count: rows::unsigned(row.get(3)?),
            })
        })?)
    }

    /// Number of dead letters.
    pub fn fault_count(&self) -> Result<u64, CatalogError> {
        let count = "SELECT count(*) FROM faults";
        Ok(sql::count(&self.connection, count, [])?)
    }
}
