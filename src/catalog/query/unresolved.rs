//! Which files are neither known duplicates nor known unique, and so unchecked.

use std::collections::HashSet;
use std::ffi::OsStr;

use rusqlite::Connection;

use crate::catalog::store::terms::{COMPARED, NOT_COMPARED, UNREAD, UNRESOLVED, several_copies};
use crate::catalog::store::{CatalogError, ReadOnly, rows, sql};
use crate::model::FolderId;

impl ReadOnly {
    /// Whether every file is a known duplicate or known unique; if so, no stage
    /// after listing is needed.
    pub fn is_settled(&self) -> Result<bool, CatalogError> {
        let settled = "SELECT NOT unsettled FROM catalog";
        Ok(sql::value(&self.connection, settled, [])?)
    }
}

/// The tables `open_sizes` (`size`) and `open_classes` (`size`, `probe`) of a
/// WITH clause: in them a file may equal another that was not read.
pub(crate) fn open_classes() -> String {
    format!(
        "open_sizes AS MATERIALIZED (
             SELECT files.size AS size
               FROM files JOIN folders ON folders.id = files.folder
              WHERE files.removed_in IS NULL AND files.size > 0 AND {COMPARED}
              GROUP BY files.size
             HAVING {several} AND sum({UNREAD}) > 0),
         open_classes AS MATERIALIZED (
             SELECT files.size AS size, files.probe AS probe
               FROM files JOIN folders ON folders.id = files.folder
              WHERE files.removed_in IS NULL AND files.probe IS NOT NULL AND {COMPARED}
              GROUP BY files.size, files.probe
             HAVING {several} AND sum({UNRESOLVED}) > 0)",
        several = several_copies()
    )
}

/// The rows of both tables, and the sizes of files that are not compared.
pub(crate) struct Open {
    sizes: HashSet<i64>,
    classes: HashSet<(i64, i64)>,
}

impl Open {
    /// What is open in a catalog: if it is settled, only what is beside files that are
    /// not compared.
    pub(crate) fn of(catalog: &ReadOnly) -> Result<Self, CatalogError> {
        let connection = &catalog.connection;
        let skipped = sql::all(connection, &skipped_sizes(), [], |row| row.get(0))?;
        if catalog.is_settled()? {
            return Ok(Self {
                sizes: skipped,
                classes: HashSet::new(),
            });
        }
        let both = open_classes();
        let sizes = format!("WITH {both} SELECT size FROM open_sizes");
        let classes = format!("WITH {both} SELECT size, probe FROM open_classes");
        let open: HashSet<i64> = sql::all(connection, &sizes, [], |row| row.get(0))?;
        Ok(Self {
            sizes: &skipped | &open,
            classes: sql::all(connection, &classes, [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?,
        })
    }

    /// Whether a file of this size and probe may equal another that was not read.
    pub(crate) fn has(&self, size: i64, probe: Option<i64>) -> bool {
        self.sizes.contains(&size)
            || probe.is_some_and(|probe| self.classes.contains(&(size, probe)))
    }
}

/// The sizes of files that are not compared because of them: any other file of such
/// a size may equal one.
fn skipped_sizes() -> String {
    format!(
        "SELECT DISTINCT files.size FROM files
          WHERE EXISTS (SELECT 1 FROM roots WHERE min_size IS NOT NULL OR max_size IS NOT NULL)
            AND files.removed_in IS NULL AND {NOT_COMPARED}"
    )
}

/// The number of unchecked files, whatever the catalog claims.
pub(crate) fn count_unchecked(connection: &Connection) -> Result<u64, CatalogError> {
    let unchecked = format!("{} SELECT count(*) FROM unchecked", unchecked());
    Ok(sql::count(connection, &unchecked, [])?)
}

/// The unchecked files, each by its folder, name and size.
pub(crate) fn each_unchecked(
    connection: &Connection,
    mut meet: impl FnMut(FolderId, &OsStr, i64) -> Result<(), CatalogError>,
) -> Result<(), CatalogError> {
    let unchecked = format!("{} SELECT folder, name, size FROM unchecked", unchecked());
    let mut statement = connection.prepare_cached(&unchecked)?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        meet(row.get(0)?, &rows::name(row, 1)?, row.get(2)?)?;
    }
    Ok(())
}

/// The table `unchecked` of a WITH clause: files of a size with a file that was
/// not read, or of a class of equal probes with a file that is not resolved, and
/// without a known copy.
fn unchecked() -> String {
    let open = open_classes();
    format!(
        "WITH {open},
         unresolved AS MATERIALIZED (
             SELECT files.folder AS folder, files.name AS name, files.size AS size,
                    files.digest AS digest
               FROM files
              WHERE files.removed_in IS NULL AND files.size > 0 AND {COMPARED}
                AND (files.size IN (SELECT size FROM open_sizes)
                     OR (files.size, files.probe) IN (SELECT size, probe FROM open_classes))),
         duplicated AS MATERIALIZED (
             SELECT files.digest AS digest
               FROM files JOIN folders ON folders.id = files.folder
              WHERE files.removed_in IS NULL AND {COMPARED}
                AND files.digest IN (SELECT digest FROM unresolved)
              GROUP BY files.digest HAVING {several}),
         unchecked AS (
             SELECT folder, name, size FROM unresolved
              WHERE digest IS NULL OR digest NOT IN (SELECT digest FROM duplicated))",
        several = several_copies()
    )
}
