//! Roots: reading, moving and forgetting them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Row, params};

use super::volumes::{VolumeRow, volume_row};
use crate::catalog::store::{
    CatalogError, Exclusive, ReadOnly, blob, path_blob, rows, sql, unsigned,
};
use crate::catalog::write::forget_summary;
use crate::model::{Excludes, FolderId, FolderIdentity, RootId, RootScope, SizeLimits, VolumeId};

/// A root as the catalog knows it.
#[derive(Debug, Clone)]
pub struct RootRow {
    /// Its id.
    pub id: RootId,
    /// Its absolute path.
    pub path: PathBuf,
    /// The folder row of the root itself.
    pub top: FolderId,
    /// The volume it was last seen on.
    pub volume: VolumeRow,
    /// That volume's id.
    pub volume_id: VolumeId,
    /// Which folder it is, where its filesystem tells.
    pub folder: Option<FolderIdentity>,
    /// Whether its last scan followed symbolic links.
    pub follow: bool,
    /// What of it is compared.
    pub scope: RootScope,
    /// Live folders in it.
    pub folders: u64,
    /// Live files in it.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
}

const ROOT_SQL: &str = "SELECT roots.id, roots.path, folders.id, volumes.identity, volumes.fstype,
        volumes.stable_inodes, volumes.disk, volumes.id, roots.ino, roots.born_ns, roots.follow,
        roots.folders, roots.files, roots.bytes, roots.excludes, roots.min_size,
        roots.max_size
   FROM roots
   JOIN folders ON folders.root = roots.id AND folders.parent IS NULL
   JOIN volumes ON volumes.id = roots.volume
  ORDER BY roots.path";

fn root_row(row: &Row<'_>) -> rusqlite::Result<RootRow> {
    Ok(RootRow {
        id: row.get(0)?,
        path: rows::path(row, 1)?,
        top: row.get(2)?,
        volume: volume_row(row, 3)?,
        volume_id: row.get(7)?,
        folder: FolderIdentity::of_columns(row.get(8)?, row.get(9)?),
        follow: row.get(10)?,
        folders: unsigned(row.get(11)?),
        files: unsigned(row.get(12)?),
        bytes: unsigned(row.get(13)?),
        scope: RootScope {
            excludes: Excludes::from_json(&row.get::<_, String>(14)?),
            sizes: read_limits(row, 15)?,
        },
    })
}

/// Size limits, from the column `first` on.
pub(crate) fn read_limits(row: &Row<'_>, first: usize) -> rusqlite::Result<SizeLimits> {
    let (min, max): (Option<i64>, Option<i64>) = (row.get(first)?, row.get(first + 1)?);
    Ok(SizeLimits {
        min: min.map(unsigned),
        max: max.map(unsigned),
    })
}

impl ReadOnly {
    /// All roots, by path.
    pub fn roots(&self) -> Result<Vec<RootRow>, CatalogError> {
        Ok(sql::all(&self.connection, ROOT_SQL, [], root_row)?)
    }

    /// The catalogued folder at an absolute path, live or marked as deleted.
    pub fn folder_at(&self, path: &Path) -> Result<Option<FolderId>, CatalogError> {
        Ok(folder_at(&self.connection, path)?)
    }
}

/// The catalogued folder at an absolute path, live or marked as deleted.
pub(crate) fn folder_at(
    connection: &Connection,
    path: &Path,
) -> rusqlite::Result<Option<FolderId>> {
    let roots: Vec<RootRow> = sql::all(connection, ROOT_SQL, [], root_row)?;
    for root in roots {
        if let Ok(below) = path.strip_prefix(&root.path) {
            return find_folder(connection, root.top, below);
        }
    }
    Ok(None)
}

impl Exclusive {
    /// All roots, by path.
    pub fn roots(&self) -> Result<Vec<RootRow>, CatalogError> {
        Ok(sql::all(&self.connection, ROOT_SQL, [], root_row)?)
    }

    /// Removes a root and all its rows; returns the number of file rows.
    pub fn forget(&mut self, path: &Path) -> Result<u64, CatalogError> {
        let root = self.root_at(path)?.id;
        let transaction = self.connection.transaction()?;
        let files = transaction.execute(
            "DELETE FROM files WHERE folder IN (SELECT id FROM folders WHERE root = ?1)",
            [root],
        )?;
        for statement in [
            "DELETE FROM faults WHERE root = ?1",
            // Children before parents, or each delete would be refused.
            "UPDATE folders SET parent = NULL, name = x'' WHERE root = ?1",
            "DELETE FROM folders WHERE root = ?1",
            "DELETE FROM roots WHERE id = ?1",
        ] {
            transaction.execute(statement, [root])?;
        }
        forget_summary(&transaction)?;
        transaction.commit()?;
        Ok(files as u64)
    }

    /// Gives a root another path; nothing is hashed again.
    pub fn move_root(
        &mut self,
        old: &Path,
        new: &Path,
        volume: VolumeId,
    ) -> Result<RootRow, CatalogError> {
        let root = self.root_at(old)?;
        for other in self.roots()? {
            let overlaps = other.path.starts_with(new) || new.starts_with(&other.path);
            if other.id != root.id && overlaps {
                return Err(CatalogError::Overlap {
                    path: new.to_owned(),
                    root: other.path,
                });
            }
        }
        let transaction = self.connection.transaction()?;
        transaction.execute(
            "UPDATE roots SET path = ?2, volume = ?3 WHERE id = ?1",
            params![root.id, path_blob(new), volume],
        )?;
        move_paths(&transaction, old, new)?;
        forget_summary(&transaction)?;
        transaction.commit()?;
        self.root_at(new)
    }

    /// The root at exactly this path.
    pub fn root_at(&self, path: &Path) -> Result<RootRow, CatalogError> {
        self.roots()?
            .into_iter()
            .find(|root| root.path == path)
            .ok_or_else(|| CatalogError::NoSuchRoot(path.to_owned()))
    }

    /// Stores whether a root's scans follow links.
    pub fn set_follow(&self, root: RootId, follow: bool) -> Result<(), CatalogError> {
        let set = "UPDATE roots SET follow = ?2 WHERE id = ?1";
        Ok(sql::run(&self.connection, set, params![root, follow]).map(drop)?)
    }
}

/// Gives plans, the journal and protected folders the paths that they have below a root
/// that has moved: undoing looks for its files there.
fn move_paths(connection: &Connection, old: &Path, new: &Path) -> rusqlite::Result<()> {
    // The root folder itself is the only path that ends in a slash.
    let (old, new) = (path_blob(old), path_blob(new));
    let from = old.strip_suffix(b"/").unwrap_or(old);
    let to = new.strip_suffix(b"/").unwrap_or(new);
    let below = |column: &str| {
        format!("({column} = ?3 OR substr({column}, 1, length(?1) + 1) = CAST(?1 || '/' AS BLOB))")
    };
    let moved = |column: &str| {
        format!(
            "CASE {column} WHEN ?3 THEN ?4
                 ELSE CAST(?2 || substr({column}, length(?1) + 1) AS BLOB) END"
        )
    };
    let values = params![from, to, old, new];
    for (table, column) in [
        ("actions", "path"),
        ("actions", "keeper"),
        ("actions", "trash"),
        ("plan_files", "path"),
        ("plan_files", "root"),
    ] {
        let (moved, below) = (moved(column), below(column));
        let update = format!("UPDATE {table} SET {column} = {moved} WHERE {below}");
        sql::run(connection, &update, values)?;
    }
    // Another folder may be at the old path by now: that one stays protected.
    let (moved, below) = (moved("path"), below("path"));
    let protect = format!(
        "INSERT OR IGNORE INTO protected (path, created_at)
         SELECT {moved}, created_at FROM protected WHERE {below}"
    );
    sql::run(connection, &protect, values).map(drop)
}

/// The folder at `below`, if it and all folders above it are catalogued.
fn find_folder(
    connection: &Connection,
    top: FolderId,
    below: &Path,
) -> rusqlite::Result<Option<FolderId>> {
    let mut folder = top;
    for name in below {
        match child(connection, folder, name)? {
            Some(known) => folder = known,
            None => return Ok(None),
        }
    }
    Ok(Some(folder))
}

pub(crate) fn child(
    connection: &Connection,
    parent: FolderId,
    name: &OsStr,
) -> rusqlite::Result<Option<FolderId>> {
    let child = "SELECT id FROM folders WHERE parent = ?1 AND name = ?2";
    let values = params![parent, blob(name)];
    sql::first(connection, child, values, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::testing::{Bed, file};

    fn root_paths(bed: &Bed) -> Vec<PathBuf> {
        let roots = bed.reader().roots().unwrap();
        roots.into_iter().map(|root| root.path).collect()
    }

    #[test]
    fn a_root_is_forgotten_with_all_its_rows() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a/b/x", 10, 1), file("y", 10, 2)]);
        bed.scan("/s", &[file("z", 10, 3)]);
        assert_eq!(bed.open().forget(Path::new("/r")).unwrap(), 2);
        assert_eq!(root_paths(&bed), [Path::new("/s")]);
        assert_eq!(bed.paths(), ["/s/z"]);
        assert_eq!(bed.reader().verify().unwrap(), []);
        let error = bed.open().forget(Path::new("/r")).unwrap_err().to_string();
        assert!(error.contains("/r is not a root"), "{error}");
    }

    #[test]
    fn a_moved_root_keeps_everything_and_never_overlaps() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a/x", 10, 1)]);
        bed.scan("/s", &[file("z", 10, 3)]);
        let mut catalog = bed.open();
        let volume = VolumeId(1);
        let into = |catalog: &mut Exclusive, new| {
            catalog.move_root(Path::new("/r"), Path::new(new), volume)
        };
        assert!(into(&mut catalog, "/s/in").is_err());
        assert!(into(&mut catalog, "/").is_err());
        into(&mut catalog, "/r/deeper").unwrap();
        drop(catalog);
        assert_eq!(bed.paths(), ["/r/deeper/a/x", "/s/z"]);
        assert_eq!(bed.reader().verify().unwrap(), []);
    }
}
