//! All live folders and files, in one pass over each table, for comparing whole
//! folder trees.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use rusqlite::Row;

use crate::catalog::store::terms::{COMPARED, CORRUPTED, EXCLUDED, EXCLUDED_FOLDER};
use crate::catalog::store::{CatalogError, ReadOnly, rows, sql, unsigned};
use crate::model::{FolderId, RootId, ScanId, VolumeId, occupied};

/// A live folder.
#[derive(Debug, Clone)]
pub struct TreeFolder {
    /// Its id.
    pub id: FolderId,
    /// The folder above it; `None` for a root.
    pub parent: Option<FolderId>,
    /// Its root.
    pub root: RootId,
    /// Its name; empty for a root.
    pub name: OsString,
    /// The last scan that listed it completely.
    pub listed_in: Option<ScanId>,
    /// Whether its rows are up to date: the last scan that visited it listed it,
    /// instead of skipping it as unreadable, offline or out of scope, and no later
    /// scan listed its parent.
    pub is_current: bool,
}

/// A live file.
#[derive(Debug, Clone, Copy)]
pub struct TreeFile<'a> {
    /// Its folder.
    pub folder: FolderId,
    /// Its name.
    pub name: &'a OsStr,
    /// Its volume.
    pub volume: VolumeId,
    /// Its size.
    pub size: u64,
    /// Bytes that deleting it would give back.
    pub occupied: u64,
    /// Its inode, where inode numbers are stable.
    pub ino: Option<u64>,
    /// Its modification time.
    pub mtime_ns: i64,
    /// The hash of its head and tail; `None` if it is corrupted.
    pub probe: Option<i64>,
    /// Whether it differs from all others of its size and probe.
    pub is_settled: bool,
    /// Its digest; `None` if it has none or is known to be corrupted.
    pub digest: Option<&'a [u8]>,
}

/// A path that cannot be read.
#[derive(Debug, Clone)]
pub struct TreeFault {
    /// The folder that failed, or the file's folder.
    pub folder: FolderId,
    /// The file; empty for the folder itself.
    pub name: OsString,
    /// The file's size, where it was listed.
    pub size: Option<u64>,
}

impl ReadOnly {
    /// Does `work` on one snapshot of the catalog, whatever a scan writes in the
    /// meantime. Not for printing: the WAL cannot shrink while a snapshot is open.
    pub fn in_snapshot<T, E: From<CatalogError>>(
        &self,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let begun = self.connection.unchecked_transaction();
        let snapshot = begun.map_err(CatalogError::from)?;
        let result = work()?;
        snapshot.finish().map_err(CatalogError::from)?;
        Ok(result)
    }

    /// All live folders that no exclude matches.
    pub fn tree_folders(&self) -> Result<Vec<TreeFolder>, CatalogError> {
        let folders = format!(
            "SELECT folders.id, folders.parent, folders.root, folders.name, folders.listed_in,
                    folders.listed_in IS NOT NULL AND folders.listed_in = folders.visited_in
                    AND folders.visited_in >= coalesce(parents.listed_in, 0)
               FROM folders LEFT JOIN folders AS parents ON parents.id = folders.parent
              WHERE folders.removed_in IS NULL AND NOT {EXCLUDED_FOLDER}"
        );
        Ok(sql::all(&self.connection, &folders, [], |row| {
            Ok(TreeFolder {
                id: row.get(0)?,
                parent: row.get(1)?,
                root: row.get(2)?,
                name: rows::name(row, 3)?,
                listed_in: row.get(4)?,
                is_current: row.get(5)?,
            })
        })?)
    }

    /// Shows every live file that is compared to `visit`, folder after folder, by name.
    pub fn tree_files(
        &self,
        visit: impl FnMut(&TreeFile<'_>) -> Result<(), CatalogError>,
    ) -> Result<(), CatalogError> {
        self.tree_files_in([i64::MIN, i64::MAX], visit)
    }

    /// Shows the live files of one folder that are compared to `visit`, by name.
    pub fn tree_files_of(
        &self,
        folder: FolderId,
        visit: impl FnMut(&TreeFile<'_>) -> Result<(), CatalogError>,
    ) -> Result<(), CatalogError> {
        self.tree_files_in([folder.0, folder.0], visit)
    }

    /// The files of the folders from one id to another.
    fn tree_files_in(
        &self,
        folders: [i64; 2],
        mut visit: impl FnMut(&TreeFile<'_>) -> Result<(), CatalogError>,
    ) -> Result<(), CatalogError> {
        // CROSS JOIN fixes the order of the loops, so that nothing needs sorting.
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT files.folder, files.name, folders.volume, files.size, files.ino,
                    files.mtime_ns, files.probe, files.settled_in IS NOT NULL, files.digest,
                    {CORRUPTED}, files.allocated
               FROM folders CROSS JOIN files ON files.folder = folders.id
              WHERE folders.id BETWEEN ?1 AND ?2
                AND folders.removed_in IS NULL AND files.removed_in IS NULL AND {COMPARED}
              ORDER BY folders.id, files.name"
        ))?;
        let mut rows = statement.query(folders)?;
        while let Some(row) = rows.next()? {
            visit(&tree_file(row)?)?;
        }
        Ok(())
    }

    /// All paths that cannot be read and that no exclude matches.
    pub fn tree_faults(&self) -> Result<Vec<TreeFault>, CatalogError> {
        let faults = format!(
            "SELECT faults.folder, faults.name, files.size
               FROM faults JOIN folders ON folders.id = faults.folder
               LEFT JOIN files ON files.folder = faults.folder
                    AND files.name = faults.name AND files.removed_in IS NULL
              WHERE NOT {EXCLUDED_FOLDER} AND {EXCLUDED} IS NOT TRUE"
        );
        Ok(sql::all(&self.connection, &faults, [], |row| {
            Ok(TreeFault {
                folder: row.get(0)?,
                name: rows::name(row, 1)?,
                size: row.get::<_, Option<i64>>(2)?.map(unsigned),
            })
        })?)
    }
}

/// A row without copying anything out of SQLite's page. Nothing is known about
/// the content of a corrupted file.
fn tree_file<'r>(row: &'r Row<'_>) -> rusqlite::Result<TreeFile<'r>> {
    let is_sound = !row.get::<_, bool>(9)?;
    let size = unsigned(row.get(3)?);
    Ok(TreeFile {
        folder: row.get(0)?,
        name: OsStr::from_bytes(row.get_ref(1)?.as_blob()?),
        volume: VolumeId(row.get::<_, Option<i64>>(2)?.unwrap_or(0)),
        size,
        occupied: occupied(size, unsigned(row.get(10)?)),
        ino: row.get::<_, Option<i64>>(4)?.map(i64::cast_unsigned),
        mtime_ns: row.get(5)?,
        probe: row.get::<_, Option<i64>>(6)?.filter(|_| is_sound),
        is_settled: row.get(7)?,
        digest: rows::digest_bytes(row, 8)?.filter(|_| is_sound),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::testing::{Bed, file};

    fn names(bed: &Bed) -> Vec<String> {
        let mut names = Vec::new();
        let visit = |file: &TreeFile<'_>| -> Result<(), CatalogError> {
            names.push(format!("{} {}", file.folder, file.name.display()));
            Ok(())
        };
        bed.reader().tree_files(visit).unwrap();
        names
    }

    #[test]
    fn live_files_come_folder_after_folder() {
        let bed = Bed::new();
        bed.scan(
            "/a",
            &[
                file("x/2", 9, 1),
                file("x/1", 9, 2),
                file("y", 7, 3).unread(),
            ],
        );
        bed.scan("/b", &[file("z/1", 9, 4), file("gone", 9, 5)]);
        bed.remove("/b", &[], &["gone"]);
        let found = names(&bed);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found.is_sorted(), "{found:?}");
        let reader = bed.reader();
        let folder = reader.folder_at("/a/x".as_ref()).unwrap().unwrap();
        let mut own = Vec::new();
        let visit = |file: &TreeFile<'_>| -> Result<(), CatalogError> {
            own.push((file.name.to_owned(), file.digest.map(<[u8]>::len), file.ino));
            Ok(())
        };
        reader.tree_files_of(folder, visit).unwrap();
        assert_eq!(
            own,
            [
                ("1".into(), Some(32), Some(2)),
                ("2".into(), Some(32), Some(1))
            ]
        );
    }

    #[test]
    fn a_folder_is_current_while_the_last_look_listed_it() {
        let bed = Bed::new();
        bed.scan("/a", &[file("x/y/1", 9, 1)]);
        let current = || -> Vec<(OsString, bool)> {
            let folders = bed.reader().tree_folders().unwrap().into_iter();
            folders
                .map(|folder| (folder.name, folder.is_current))
                .collect()
        };
        assert!(current().iter().all(|(_, is_current)| *is_current));
        let at = |path: &str| bed.reader().folder_at(path.as_ref()).unwrap().unwrap();
        let (x, y) = (at("/a/x"), at("/a/x/y"));
        // Looked at again without listing it: unreadable or offline now.
        bed.sql(&format!(
            "UPDATE folders SET visited_in = visited_in + 1 WHERE id = {y}"
        ));
        assert_eq!(
            current(),
            [("".into(), true), ("x".into(), true), ("y".into(), false)]
        );
        // Listed again, while what is below was not looked at yet.
        bed.sql(&format!(
            "UPDATE folders SET visited_in = 9, listed_in = 9 WHERE id = {x};
             UPDATE folders SET listed_in = visited_in WHERE id = {y};"
        ));
        assert_eq!(
            current(),
            [("".into(), true), ("x".into(), true), ("y".into(), false)]
        );
        bed.remove("/a", &["x"], &[]);
        assert_eq!(current().len(), 1);
    }
}
