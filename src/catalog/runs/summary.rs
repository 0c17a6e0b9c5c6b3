//! The totals and the groups and folders with the most reclaimable bytes, kept
//! from the last time all files were counted. Valid only while the catalog is
//! settled; whatever changes groups without unsettling it forgets them.

use std::path::Path;

use rusqlite::{OptionalExtension, Transaction, params};

use crate::catalog::query::Settled;
use crate::catalog::store::{CatalogError, ReadOnly, path_blob, rows, signed, unsigned};
use crate::model::{ScanId, Summary, TopFolder, TopGroup};

/// Keeps a summary as of `scan`.
pub(crate) fn keep(
    transaction: &Transaction<'_>,
    scan: ScanId,
    summary: &Summary,
) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM top_groups", [])?;
    for (rank, group) in (1_i64..).zip(&summary.groups) {
        transaction.execute(
            "INSERT INTO top_groups (rank, size, copies, path) VALUES (?1, ?2, ?3, ?4)",
            params![
                rank,
                signed(group.size),
                signed(group.copies),
                path_blob(Path::new(&group.path))
            ],
        )?;
    }
    transaction.execute("DELETE FROM top_folders", [])?;
    for (rank, folder) in (1_i64..).zip(&summary.folders) {
        transaction.execute(
            "INSERT INTO top_folders (rank, path, copies, reclaimable) VALUES (?1, ?2, ?3, ?4)",
            params![
                rank,
                path_blob(&folder.path),
                signed(folder.copies),
                signed(folder.reclaimable)
            ],
        )?;
    }
    transaction.execute("UPDATE catalog SET grouped_in = ?1", [scan.0])?;
    Ok(())
}

impl ReadOnly {
    /// The last summary, if nothing has changed since.
    pub fn kept_summary(&self) -> Result<Option<Summary>, CatalogError> {
        if self.settled()? == Settled::No {
            return Ok(None);
        }
        let grouped_in: Option<i64> = self
            .connection
            .query_row("SELECT grouped_in FROM catalog", [], |row| row.get(0))
            .optional()?
            .flatten();
        let Some(scan) = grouped_in else {
            return Ok(None);
        };
        let Some(totals) = self.scan(ScanId(scan))?.and_then(|scan| scan.totals) else {
            return Ok(None);
        };
        Ok(Some(Summary {
            totals,
            groups: self.top_groups()?,
            folders: self.top_folders()?,
        }))
    }

    fn top_groups(&self) -> Result<Vec<TopGroup>, CatalogError> {
        let mut statement = self
            .connection
            .prepare("SELECT size, copies, path FROM top_groups ORDER BY rank")?;
        let groups = statement.query_map([], |row| {
            Ok(TopGroup {
                size: unsigned(row.get(0)?),
                copies: unsigned(row.get(1)?),
                path: rows::path(row, 2)?,
            })
        })?;
        Ok(groups.collect::<Result<_, _>>()?)
    }

    fn top_folders(&self) -> Result<Vec<TopFolder>, CatalogError> {
        let mut statement = self
            .connection
            .prepare("SELECT path, copies, reclaimable FROM top_folders ORDER BY rank")?;
        let folders = statement.query_map([], |row| {
            Ok(TopFolder {
                path: rows::path(row, 0)?,
                copies: unsigned(row.get(1)?),
                reclaimable: unsigned(row.get(2)?),
            })
        })?;
        Ok(folders.collect::<Result<_, _>>()?)
    }
}
