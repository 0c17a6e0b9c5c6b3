//! When a file that is back was gone: its row only says that it exists.

use rusqlite::{Transaction, params};

use crate::model::{FolderId, ScanId};

/// Stores that a file which `scan` found again was gone, before its row is
/// changed.
pub(crate) fn note(
    transaction: &Transaction<'_>,
    folder: FolderId,
    name: &[u8],
    scan: ScanId,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO absences (folder, name, removed_in, returned_in)
             SELECT folder, name, removed_in, ?3 FROM files
              WHERE folder = ?1 AND name = ?2 AND removed_in < ?3",
        )?
        .execute(params![folder.0, name, scan.0])?;
    Ok(())
}
