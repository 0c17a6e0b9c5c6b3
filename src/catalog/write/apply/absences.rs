//! When a file that is back was gone: its row alone says only that it is there.

use rusqlite::{Transaction, params};

use crate::model::{FolderId, ScanId};

/// True of a row of `files` that was gone after a scan, which is a parameter
/// of the statement, and is back since.
pub(crate) fn was_gone(scan: &str) -> String {
    format!(
        "EXISTS (SELECT 1 FROM absences
                  WHERE absences.folder = files.folder AND absences.name = files.name
                    AND absences.removed_in <= {scan} AND absences.returned_in > {scan})"
    )
}

/// Remembers that a file which `scan` found again was gone, before its row
/// says that it is there.
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
