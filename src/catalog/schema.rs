//! The tables of the catalog and the ordered steps that bring an older
//! catalog up to date. `docs/CATALOG.md` explains every column.

use rusqlite::{Connection, TransactionBehavior};

use super::CatalogError;

/// Marks a SQLite file as a dupescan catalog ("dupe").
pub(crate) const APPLICATION_ID: i32 = 0x6475_7065;

/// The version this program writes: the number of migration steps.
#[allow(clippy::cast_possible_truncation, reason = "a handful of steps")]
pub(crate) const VERSION: i32 = MIGRATIONS.len() as i32;

/// Step `n` turns version `n` into version `n + 1`. Steps that have been
/// released are never edited.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/001_first.sql"),
    include_str!("migrations/002_audits.sql"),
    include_str!("migrations/003_top_folders.sql"),
];

/// Creates the tables in a new file, or runs the steps an older one lacks,
/// all in one transaction. A newer catalog is refused untouched.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), CatalogError> {
    let found = version(connection)?;
    if found == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let missing = usize::try_from(found)
        .ok()
        .and_then(|found| MIGRATIONS.get(found..))
        .unwrap_or_default();
    for step in missing {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(())
}

/// The catalog's version; an error when the file is not a catalog or newer
/// than this program. 0 means: an empty file.
pub(crate) fn version(connection: &Connection) -> Result<i32, CatalogError> {
    let version: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 && version == 0 {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        return Err(CatalogError::Foreign);
    }
    if version > VERSION {
        return Err(CatalogError::Newer {
            found: version,
            known: VERSION,
        });
    }
    Ok(version)
}
