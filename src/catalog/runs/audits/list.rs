//! Which copies an audit has to read.

use rusqlite::{Connection, Row, ToSql, params};

use super::AuditId;
use crate::catalog::query::{Extent, FileFilter};
use crate::catalog::runs::work::{self, WorkCopy, WorkTable, number_table, two_counts};
use crate::catalog::store::terms::READ_ORDER;
use crate::catalog::store::{CatalogError, FolderPaths, Pages, ReadOnly, rows};
use crate::model::{Digest, FolderId, RootId, Timestamp};

/// A copy to read again.
#[derive(Debug, Clone)]
pub struct AuditCopy {
    /// The copy.
    pub copy: WorkCopy,
    /// The digest it should have; `None` if it has none yet.
    pub digest: Option<Digest>,
    /// Whether it was too young to trust when it was read.
    pub racy: bool,
}

/// Which files are to be read again.
#[derive(Debug, Clone, Default)]
pub struct AuditScope {
    /// The folders.
    pub tops: Vec<FolderId>,
    /// Roots whose files can be opened now.
    pub online: Vec<RootId>,
    /// Only files that were not audited since.
    pub before: Option<Timestamp>,
    /// Also files without a digest.
    pub baseline: bool,
}

/// The copies to read again, handed out in the order in which they lie on
/// their volumes.
pub struct AuditList {
    catalog: ReadOnly,
    paths: FolderPaths,
    filter: FileFilter,
    rows: Pages<AuditCopy>,
    /// Copies in all, and bytes in them, before names are filtered.
    pub copies: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Files that are skipped because they were audited before.
    pub skipped: u64,
    /// Files that are skipped because their root is offline.
    pub offline: u64,
}

/// The names to read, with what their contents should be.
const TO_AUDIT: WorkTable = WorkTable {
    name: "to_audit",
    columns: "digest, racy",
};

/// Live files below the places that an audit may read, with what earlier
/// audits say about their current state. Empty files cannot be corrupted.
const IN_SCOPE: &str = "temp.places JOIN files ON files.folder = places.folder
    JOIN folders ON folders.id = files.folder
    LEFT JOIN temp.audited_roots AS online ON online.root = folders.root
    LEFT JOIN audits ON audits.folder = files.folder AND audits.name = files.name
        AND audits.mtime_ns = files.mtime_ns AND audits.ctime_ns = files.ctime_ns
   WHERE files.removed_in IS NULL AND files.size > 0 AND files.size BETWEEN ?1 AND ?2
     AND (files.digest IS NOT NULL OR ?3)";

/// True of a file that need not be audited again. One that failed since is tried
/// and reported again.
const DONE: &str = "((audits.run = ?4 OR audits.audited_at >= ?5) AND NOT EXISTS (
    SELECT 1 FROM faults WHERE faults.folder = files.folder AND faults.name = files.name))";

impl AuditList {
    /// Collects what an audit has to read.
    pub fn build(
        catalog: ReadOnly,
        run: AuditId,
        scope: &AuditScope,
        filter: FileFilter,
    ) -> Result<Self, CatalogError> {
        let connection = &catalog.connection;
        connection.execute_batch("BEGIN")?;
        TO_AUDIT.create(connection)?;
        let online = scope.online.iter().map(|root| root.0);
        number_table(connection, "audited_roots", "root", online)?;
        catalog.collect_places("places", &scope.tops, Extent::Live)?;
        let (low, high) = filter.sizes();
        let before = scope.before.map_or(i64::MAX, |before| before.0);
        let values = params![low, high, scope.baseline, run.0, before];
        collect(connection, values)?;
        let (skipped, offline) = count_skipped(connection, values)?;
        let (copies, bytes) = TO_AUDIT.copies(connection)?;
        connection.execute_batch("COMMIT")?;
        Ok(Self {
            catalog,
            paths: FolderPaths::default(),
            filter,
            rows: Pages::new(TO_AUDIT.page(), audit_copy),
            copies,
            bytes,
            skipped,
            offline,
        })
    }

    /// The next copies, at most `files` of them and not many more than `bytes`
    /// bytes; empty at the end.
    pub fn next_batch(&mut self, files: usize, bytes: u64) -> Result<Vec<AuditCopy>, CatalogError> {
        let mut batch: Vec<AuditCopy> = Vec::new();
        let mut size = 0_u64;
        while let Some(next) = self.rows.next_if(&self.catalog.connection, |next| {
            let is_last = |last: &AuditCopy| last.copy.is_same_file(&next.copy);
            (batch.len() < files && size < bytes) || batch.last().is_some_and(is_last)
        })? {
            let last = batch.last_mut().map(|last| &mut last.copy);
            let Some(copy) = next.copy.join(last) else {
                continue;
            };
            let (folder, name) = &copy.names[0];
            let filter = &self.filter;
            if filter.admits(&self.catalog, &mut self.paths, *folder, name)? {
                size += copy.to_read;
                batch.push(AuditCopy { copy, ..next });
            }
        }
        Ok(batch)
    }
}

/// Puts the names to read into their table, in the order of reading.
fn collect(connection: &Connection, values: &[&dyn ToSql]) -> rusqlite::Result<()> {
    let sql = format!(
        "{} FROM {IN_SCOPE} AND online.root IS NOT NULL AND {DONE} IS NOT TRUE
          ORDER BY {READ_ORDER}",
        TO_AUDIT.insert("files.digest, files.racy")
    );
    connection.execute(&sql, values).map(drop)
}

/// Files that were audited before, and files whose root is offline.
fn count_skipped(connection: &Connection, values: &[&dyn ToSql]) -> rusqlite::Result<(u64, u64)> {
    let sql = format!(
        "SELECT count(*) FILTER (WHERE {DONE} AND online.root IS NOT NULL),
                count(*) FILTER (WHERE online.root IS NULL)
           FROM {IN_SCOPE}"
    );
    connection.query_row(&sql, values, two_counts)
}

fn audit_copy(row: &Row<'_>) -> rusqlite::Result<AuditCopy> {
    Ok(AuditCopy {
        copy: work::work_copy(row)?,
        digest: rows::digest(row, work::WIDTH)?,
        racy: row.get(work::WIDTH + 1)?,
    })
}
