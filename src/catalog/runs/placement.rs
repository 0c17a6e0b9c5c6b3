//! Which root a path belongs to. Roots never overlap: a path is inside one of
//! them, or becomes a root and absorbs those inside it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, params};

use super::roots::{RootRow, child};
use crate::catalog::store::{CatalogError, Exclusive, blob, path_blob, signed, sql};
use crate::catalog::write::RootDelta;
use crate::model::{Excludes, FolderId, RootId, Timestamp, VolumeId};

/// Which root a path to be scanned belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The root.
    pub root: RootId,
    /// Path below the root; empty when the root itself is meant.
    pub subpath: PathBuf,
    /// The folder row to start from.
    pub start: FolderId,
    /// Former roots that are now inside this one.
    pub absorbed: Vec<PathBuf>,
}

impl Exclusive {
    /// Finds the root at or above `path`. If there is none, `path` becomes a root
    /// and absorbs the roots inside it with all their rows.
    pub fn place(&mut self, path: &Path, volume: VolumeId) -> Result<Placement, CatalogError> {
        let roots = self.roots()?;
        let transaction = self.connection.transaction()?;
        let placement = match roots.iter().find(|root| path.starts_with(&root.path)) {
            Some(root) => place_below(&transaction, root, path)?,
            None => add_root(&transaction, path, volume, &roots)?,
        };
        transaction.commit()?;
        Ok(placement)
    }
}

fn place_below(
    transaction: &Transaction<'_>,
    root: &RootRow,
    path: &Path,
) -> Result<Placement, CatalogError> {
    let subpath = path.strip_prefix(&root.path).unwrap_or(Path::new(""));
    let start = ensure_folders(transaction, root.id, root.top, subpath)?;
    Ok(Placement {
        root: root.id,
        subpath: subpath.to_owned(),
        start,
        absorbed: Vec::new(),
    })
}

fn add_root(
    transaction: &Transaction<'_>,
    path: &Path,
    volume: VolumeId,
    roots: &[RootRow],
) -> Result<Placement, CatalogError> {
    let root = sql::value(
        transaction,
        "INSERT INTO roots (path, volume, folders, created_at) VALUES (?1, ?2, 1, ?3) RETURNING id",
        params![path_blob(path), volume, Timestamp::now()],
    )?;
    let top = insert_folder(transaction, root, None, OsStr::new(""))?;
    let (mut absorbed, mut excludes) = (Vec::new(), Excludes::default());
    for inner in roots.iter().filter(|other| other.path.starts_with(path)) {
        absorb(transaction, root, top, path, inner)?;
        absorbed.push(inner.path.clone());
        let below = inner.path.strip_prefix(path).unwrap_or(&inner.path);
        excludes
            .given
            .extend(inner.scope.excludes.given_from_above(below));
    }
    let keep = "UPDATE roots SET excludes = ?2 WHERE id = ?1";
    sql::run(transaction, keep, params![root, excludes.to_json()])?;
    Ok(Placement {
        root,
        subpath: PathBuf::new(),
        start: top,
        absorbed,
    })
}

/// Moves a former root into the root that now contains it.
fn absorb(
    transaction: &Transaction<'_>,
    outer: RootId,
    top: FolderId,
    outer_path: &Path,
    inner: &RootRow,
) -> Result<(), CatalogError> {
    let below = inner.path.strip_prefix(outer_path).unwrap_or(&inner.path);
    let parent = match below.parent() {
        Some(between) => ensure_folders(transaction, outer, top, between)?,
        None => top,
    };
    let name = below.file_name().unwrap_or_default();
    transaction.execute(
        "UPDATE folders SET parent = ?2, name = ?3 WHERE id = ?1",
        params![inner.top, parent, blob(name)],
    )?;
    for table in ["folders", "faults"] {
        transaction.execute(
            &format!("UPDATE {table} SET root = ?2 WHERE root = ?1"),
            params![inner.id, outer],
        )?;
    }
    transaction.execute(
        "UPDATE scans SET root = ?2,
                subpath = CASE length(subpath) WHEN 0 THEN ?3
                          ELSE CAST(?3 || x'2f' || subpath AS BLOB) END,
                state = CASE state WHEN 'interrupted' THEN 'superseded' ELSE state END
         WHERE root = ?1",
        params![inner.id, outer, path_blob(below)],
    )?;
    RootDelta {
        folders: signed(inner.folders),
        files: signed(inner.files),
        bytes: i128::from(inner.bytes),
    }
    .add_to(transaction, outer)?;
    transaction.execute("DELETE FROM roots WHERE id = ?1", [inner.id])?;
    Ok(())
}

/// The folder at `below`, with every row on the way created or restored.
fn ensure_folders(
    connection: &Connection,
    root: RootId,
    top: FolderId,
    below: &Path,
) -> rusqlite::Result<FolderId> {
    let (mut folder, mut added) = (top, 0);
    for name in below {
        folder = match child(connection, folder, name)? {
            Some(known) => {
                // It is about to be scanned, so it exists.
                let restore =
                    "UPDATE folders SET removed_in = NULL WHERE id = ?1 AND removed_in IS NOT NULL";
                added += sql::run(connection, restore, [known])?;
                known
            }
            None => {
                added += 1;
                insert_folder(connection, root, Some(folder), name)?
            }
        };
    }
    RootDelta {
        folders: i64::try_from(added).unwrap_or(0),
        ..RootDelta::default()
    }
    .add_to(connection, root)?;
    Ok(folder)
}

fn insert_folder(
    connection: &Connection,
    root: RootId,
    parent: Option<FolderId>,
    name: &OsStr,
) -> rusqlite::Result<FolderId> {
    // The scan that will list it is not known yet; the next number is close
    // enough for "first seen".
    let insert = "INSERT INTO folders (root, parent, name, first_scan)
         VALUES (?1, ?2, ?3, (SELECT coalesce(max(id), 0) + 1 FROM scans)) RETURNING id";
    sql::value(connection, insert, params![root, parent, blob(name)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::testing::{Bed, file};

    #[test]
    fn scanning_a_folder_that_was_removed_restores_it() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a/b/x", 10, 1)]);
        bed.remove("/r", &["a"], &[]);
        bed.scan("/r/a/b", &[file("x", 10, 1)]);
        assert_eq!(bed.reader().verify().unwrap(), []);
        assert_eq!(bed.reader().roots().unwrap()[0].folders, 3);
    }

    #[test]
    fn an_absorbed_root_keeps_its_rows_and_counters() {
        let bed = Bed::new();
        bed.scan("/r/a/b", &[file("x", 10, 1), file("c/y", 5, 2)]);
        bed.scan("/r", &[file("z", 10, 3)]);
        let roots = bed.reader().roots().unwrap();
        assert_eq!(roots.len(), 1);
        assert_eq!(roots[0].path, Path::new("/r"));
        assert_eq!(bed.paths(), ["/r/a/b/c/y", "/r/a/b/x", "/r/z"]);
        assert_eq!(bed.reader().verify().unwrap(), []);
    }
}
