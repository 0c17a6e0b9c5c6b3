//! The totals and the groups and folders with the most reclaimable bytes, kept
//! from the last time all files were counted. Valid only while the catalog is
//! settled; whatever changes groups without unsettling it forgets them.

use rusqlite::{Transaction, params};

use crate::catalog::store::{CatalogError, ReadOnly, path_blob, rows, signed, sql, unsigned};
use crate::model::{ScanId, Summary, TopFolder, TopGroup};

/// Keeps a summary as of `scan`.
pub(crate) fn keep(
    transaction: &Transaction<'_>,
    scan: ScanId,
    summary: &Summary,
) -> rusqlite::Result<()> {
    transaction.execute_batch("DELETE FROM top_groups; DELETE FROM top_folders;")?;
    for (rank, group) in (1_i64..).zip(&summary.groups) {
        let sizes = [group.copies, group.reclaimable, group.size].map(signed);
        let insert = "INSERT INTO top_groups VALUES (?1, ?2, ?3, ?4, ?5)";
        let path = path_blob(&group.path);
        sql::run(
            transaction,
            insert,
            params![rank, path, sizes[0], sizes[1], sizes[2]],
        )?;
    }
    for (rank, folder) in (1_i64..).zip(&summary.folders) {
        let sizes = [folder.copies, folder.reclaimable].map(signed);
        let insert = "INSERT INTO top_folders VALUES (?1, ?2, ?3, ?4)";
        let path = path_blob(&folder.path);
        sql::run(transaction, insert, params![rank, path, sizes[0], sizes[1]])?;
    }
    sql::run(transaction, "UPDATE catalog SET grouped_in = ?1", [scan]).map(drop)
}

impl ReadOnly {
    /// The last summary, if nothing has changed since.
    pub fn kept_summary(&self) -> Result<Option<Summary>, CatalogError> {
        if !self.is_settled()? {
            return Ok(None);
        }
        let grouped_in: Option<ScanId> =
            sql::value(&self.connection, "SELECT grouped_in FROM catalog", [])?;
        let scan = match grouped_in {
            Some(scan) => self.scan(scan)?,
            None => None,
        };
        let Some(totals) = scan.and_then(|scan| scan.totals) else {
            return Ok(None);
        };
        let groups = "SELECT path, copies, reclaimable, size FROM top_groups ORDER BY rank";
        let folders = "SELECT path, copies, reclaimable FROM top_folders ORDER BY rank";
        Ok(Some(Summary {
            totals,
            groups: sql::all(&self.connection, groups, [], |row| {
                Ok(TopGroup {
                    path: rows::path(row, 0)?,
                    copies: unsigned(row.get(1)?),
                    reclaimable: unsigned(row.get(2)?),
                    size: unsigned(row.get(3)?),
                })
            })?,
            folders: sql::all(&self.connection, folders, [], |row| {
                Ok(TopFolder {
                    path: rows::path(row, 0)?,
                    copies: unsigned(row.get(1)?),
                    reclaimable: unsigned(row.get(2)?),
                })
            })?,
        }))
    }
}
