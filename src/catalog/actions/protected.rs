//! Folders that no plan ever touches.

use std::path::{Path, PathBuf};

use rusqlite::params;

use crate::catalog::store::{CatalogError, Exclusive, ReadOnly, path_blob, rows, sql};
use crate::model::Timestamp;

impl Exclusive {
    /// Protects a folder; `false` if it was protected already.
    pub fn protect(&mut self, path: &Path) -> Result<bool, CatalogError> {
        let insert = "INSERT INTO protected (path, created_at) VALUES (?1, ?2)
             ON CONFLICT DO NOTHING";
        let values = params![path_blob(path), Timestamp::now()];
        Ok(sql::run(&self.connection, insert, values)? > 0)
    }

    /// Stops protecting a folder; `false` if it was not protected.
    pub fn unprotect(&mut self, path: &Path) -> Result<bool, CatalogError> {
        let delete = "DELETE FROM protected WHERE path = ?1";
        Ok(sql::run(&self.connection, delete, [path_blob(path)])? > 0)
    }
}

impl ReadOnly {
    /// The protected folders, by path.
    pub fn protected(&self) -> Result<Vec<PathBuf>, CatalogError> {
        let all = "SELECT path FROM protected ORDER BY path";
        Ok(sql::all(&self.connection, all, [], |row| {
            rows::path(row, 0)
        })?)
    }
}
