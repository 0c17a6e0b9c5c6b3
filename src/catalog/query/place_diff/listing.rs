//! How completely the two compared places were listed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::PlaceDiff;
use crate::catalog::store::terms::{COMPARED, EXCLUDED, EXCLUDED_FOLDER};
use crate::catalog::store::{CatalogError, ReadOnly, rows, sql};
use crate::model::{FolderId, ScanId};

/// How completely a place was listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Completeness {
    /// Folders in it.
    pub folders: u64,
    /// Folders that no scan has listed to the end.
    pub unlisted: u64,
    /// Recorded errors of folders, and of names that cannot even be examined.
    pub failed: u64,
    /// The scans that listed its folders, by number.
    pub scans: Vec<ScanId>,
    /// Empty files, which contain nothing that could be lost.
    pub empty: u64,
}

impl PlaceDiff {
    /// How completely our place was listed.
    pub fn our_listing(&self) -> Result<Completeness, CatalogError> {
        self.listing("our_places")
    }

    /// How completely their place was listed.
    pub fn their_listing(&self) -> Result<Completeness, CatalogError> {
        self.listing("their_places")
    }

    fn listing(&self, places: &str) -> Result<Completeness, CatalogError> {
        let connection = &self.catalog.connection;
        let count = |counted: &str| {
            let count = format!("SELECT count(*) FROM {counted}");
            sql::count(connection, &count, [])
        };
        let join = format!("temp.{places} AS places JOIN folders ON folders.id = places.folder");
        let scans =
            format!("SELECT DISTINCT listed_in FROM {join} WHERE listed_in IS NOT NULL ORDER BY 1");
        Ok(Completeness {
            folders: count(&format!("temp.{places}"))?,
            unlisted: count(&format!("{join} WHERE folders.listed_in IS NULL"))?,
            // A listed file that was not read is unresolved by itself.
            failed: count(&format!(
                "temp.{places} AS places
                   JOIN faults ON faults.folder = places.folder
                  WHERE NOT EXISTS (
                        SELECT 1 FROM files WHERE files.folder = faults.folder
                           AND files.name = faults.name AND files.removed_in IS NULL)"
            ))?,
            scans: sql::all(connection, &scans, [], |row| row.get(0))?,
            empty: count(&format!(
                "temp.{places} AS places
                   JOIN files ON files.folder = places.folder
                  WHERE files.removed_in IS NULL AND files.size = 0 AND {COMPARED}"
            ))?,
        })
    }
}

impl ReadOnly {
    /// The names of the live files and subfolders of a folder that no exclude
    /// matches.
    pub fn names_in_scope(&self, folder: FolderId) -> Result<Vec<OsString>, CatalogError> {
        let names = format!(
            "SELECT name FROM folders
              WHERE parent = ?1 AND removed_in IS NULL AND NOT {EXCLUDED_FOLDER}
             UNION ALL
             SELECT name FROM files WHERE folder = ?1 AND removed_in IS NULL AND NOT {EXCLUDED}"
        );
        Ok(sql::all(&self.connection, &names, [folder], |row| {
            rows::name(row, 0)
        })?)
    }

    /// Unfinished scans that list something at, above or below a path.
    pub fn unfinished_around(&self, place: &Path) -> Result<Vec<ScanId>, CatalogError> {
        let roots = self.roots()?;
        let mut around = Vec::new();
        for scan in self.unfinished_scans()? {
            let root = roots.iter().find(|root| root.id == scan.root);
            let Some(root) = root else { continue };
            let listed: PathBuf = root.path.join(&scan.subpath).components().collect();
            if listed.starts_with(place) || place.starts_with(&listed) {
                around.push(scan.id);
            }
        }
        Ok(around)
    }
}
