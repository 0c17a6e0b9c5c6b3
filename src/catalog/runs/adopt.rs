//! Lets new names take over what is known of their inode.

use rusqlite::{Connection, Transaction};

use super::audits::corrupted;
use crate::catalog::store::terms::{self, COPY, CopyColumns, UNREAD};
use crate::catalog::store::{CatalogError, sql};
use crate::catalog::write::WriterHandle;
use crate::model::ScanId;

impl WriterHandle {
    /// Lets names first seen by `scans` inherit probe and digest from another
    /// name of the same inode in the same state: moved folders, new mount
    /// points and hard links cost nothing. With `ignore_ctime` a renamed file
    /// inherits too, though renaming moved its ctime.
    pub fn adopt(&self, scans: Vec<ScanId>, ignore_ctime: bool) -> Result<u64, CatalogError> {
        self.run(move |transaction| {
            let (Some(first), Some(last)) = (scans.iter().min(), scans.iter().max()) else {
                return Ok(0);
            };
            if !may_adopt(transaction, *first)? {
                return Ok(0);
            }
            adopt(transaction, (*first, *last), ignore_ctime)
        })
    }
}

/// Whether there can be something to inherit: an earlier scan read files, and
/// one of these scans found new names.
fn may_adopt(connection: &Connection, first: ScanId) -> rusqlite::Result<bool> {
    let may = "SELECT EXISTS (SELECT 1 FROM scans WHERE probed + hashed > 0)
            AND EXISTS (SELECT 1 FROM scans WHERE id >= ?1 AND added > 0)";
    sql::value(connection, may, [first])
}

/// Copies what is known of an inode to its new names. `scans` are the first and
/// the last that found them.
fn adopt(
    transaction: &Transaction<'_>,
    scans: (ScanId, ScanId),
    ignore_ctime: bool,
) -> Result<u64, CatalogError> {
    collect_newcomers(transaction, scans)?;
    collect_adopted(transaction, scans, ignore_ctime)?;
    let adopted = transaction.execute(
        &format!(
            "UPDATE files SET {} FROM temp.adopted
              WHERE files.folder = adopted.folder AND files.name = adopted.name",
            terms::take_content("adopted")
        ),
        [],
    )?;
    transaction.execute_batch("DROP TABLE temp.newcomers; DROP TABLE temp.adopted;")?;
    // What is known of the inode includes that it is corrupted.
    corrupted::spread(transaction)?;
    Ok(adopted as u64)
}

fn collect_newcomers(
    transaction: &Transaction<'_>,
    (first, last): (ScanId, ScanId),
) -> rusqlite::Result<()> {
    transaction.execute_batch(&format!(
        "DROP TABLE IF EXISTS temp.newcomers;
         CREATE TEMP TABLE newcomers AS
         SELECT folders.volume AS volume, files.folder AS folder, files.name AS name, {}
           FROM files JOIN folders ON folders.id = files.folder
          WHERE files.first_scan BETWEEN {first} AND {last} AND files.removed_in IS NULL
            AND {UNREAD} AND files.ino IS NOT NULL AND files.size > 0;
         CREATE INDEX temp.newcomers_by_inode ON newcomers (ino, volume);",
        terms::state_of("files")
    ))
}

fn collect_adopted(
    transaction: &Transaction<'_>,
    (first, last): (ScanId, ScanId),
    ignore_ctime: bool,
) -> rusqlite::Result<()> {
    let newcomer = CopyColumns::of("newcomers.volume", "newcomers.ino");
    transaction.execute_batch(&format!(
        "DROP TABLE IF EXISTS temp.adopted;
         CREATE TEMP TABLE adopted AS
         SELECT newcomers.folder AS folder, newcomers.name AS name, {content},
                files.removed_in NOT BETWEEN {first} AND {last} AS was_gone
           FROM files JOIN folders ON folders.id = files.folder
           JOIN temp.newcomers ON {same_copy}
                AND newcomers.size = files.size AND newcomers.mtime_ns = files.mtime_ns
          WHERE NOT {UNREAD} AND files.racy = 0
            AND (newcomers.ctime_ns = files.ctime_ns
                 OR ({ignore_ctime} AND files.removed_in BETWEEN {first} AND {last}));
         -- Others may have joined the class while the name was gone.
         UPDATE temp.adopted SET settled_in = NULL WHERE was_gone;",
        content = terms::content(),
        same_copy = newcomer.is(&COPY),
    ))
}
