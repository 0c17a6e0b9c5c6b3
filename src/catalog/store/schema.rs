//! The tables of the catalog and the ordered steps that bring an older
//! catalog up to date. `docs/CATALOG.md` explains every column.

use std::collections::HashSet;

use rusqlite::{Connection, Transaction};

use super::error::CatalogError;

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
    include_str!("migrations/004_whole_probes.sql"),
    include_str!("migrations/005_rot.sql"),
    include_str!("migrations/006_absences.sql"),
    include_str!("migrations/007_signatures.sql"),
    include_str!("migrations/008_short_files.sql"),
    include_str!("migrations/009_short_files_48k.sql"),
];

/// Creates the tables in a new file, or runs the steps an older one lacks. A
/// newer catalog is refused untouched.
pub(crate) fn migrate(transaction: &Transaction<'_>) -> Result<(), CatalogError> {
    let found = version(transaction)?;
    if found == VERSION {
        return Ok(());
    }
    let missing = usize::try_from(found)
        .ok()
        .and_then(|found| MIGRATIONS.get(found..))
        .unwrap_or_default();
    for step in missing {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(())
}

/// Whether everything that the steps up to `version` made is still there, word
/// for word. A damaged definition can be valid SQL, and would be noticed only
/// by a statement that misses a column, after others have changed the file.
pub(crate) fn is_intact(connection: &Connection, version: i32) -> rusqlite::Result<bool> {
    let made = Connection::open_in_memory()?;
    run_steps(&made, version)?;
    let found = definitions(connection)?;
    Ok(definitions(&made)?.is_subset(&found))
}

fn run_steps(connection: &Connection, version: i32) -> rusqlite::Result<()> {
    let steps = MIGRATIONS.iter();
    for step in steps.take(usize::try_from(version).unwrap_or(0)) {
        connection.execute_batch(step)?;
    }
    Ok(())
}

/// Makes a catalog as an older program made it.
#[cfg(test)]
pub(crate) fn make(connection: &Connection, version: i32) -> rusqlite::Result<()> {
    run_steps(connection, version)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", version)
}

fn definitions(connection: &Connection) -> rusqlite::Result<HashSet<(String, Option<String>)>> {
    let mut statement = connection.prepare("SELECT name, sql FROM sqlite_schema")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
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
