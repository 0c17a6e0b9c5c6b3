//! The totals and the groups that free most, kept from the last time all
//! files were looked at. Valid only while everything is settled; whatever
//! changes the groups without unsettling a file forgets them.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::rows::{self, path_blob, signed, unsigned};
use super::{CatalogError, ReadOnly, Settled};
use crate::model::{ScanId, TopGroup, Totals};

/// Keeps a summary as of `scan`.
pub(super) fn keep(
    transaction: &Transaction<'_>,
    scan: ScanId,
    top: &[TopGroup],
) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM top_groups", [])?;
    for (rank, group) in (1_i64..).zip(top) {
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
    transaction.execute("UPDATE catalog SET grouped_in = ?1", [scan.0])?;
    Ok(())
}

/// Forgets the summary: groups have changed.
pub(super) fn forget(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE catalog SET grouped_in = NULL WHERE grouped_in IS NOT NULL",
        [],
    )?;
    Ok(())
}

impl ReadOnly {
    /// The totals and top groups, if nothing has changed since they were
    /// counted.
    pub fn kept_summary(&self) -> Result<Option<(Totals, Vec<TopGroup>)>, CatalogError> {
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
        let mut statement = self
            .connection
            .prepare("SELECT size, copies, path FROM top_groups ORDER BY rank")?;
        let top = statement.query_map([], |row| {
            Ok(TopGroup {
                size: unsigned(row.get(0)?),
                copies: unsigned(row.get(1)?),
                path: rows::path(row, 2)?,
            })
        })?;
        Ok(Some((totals, top.collect::<Result<_, _>>()?)))
    }
}
