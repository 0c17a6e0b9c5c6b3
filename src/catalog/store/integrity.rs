//! SQLite's own checks of the file.

use rusqlite::{Connection, ErrorCode};

use super::error::CatalogError;
use super::rows::WRONG_LENGTH;
use super::schema::words;
use super::sql;

/// Most lines taken over from SQLite's integrity check.
const MOST_LINES: u32 = 20;

/// Whether an error means that the file itself is broken.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// What SQLite's own check complains about; empty if nothing. CHECK constraints
/// are left to the rules, which can be repaired.
pub(crate) fn integrity(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    complaints(connection, &format!("PRAGMA integrity_check({MOST_LINES})"))
}

/// The same for every table but `files`, which is most of a large catalog.
pub(crate) fn integrity_beside_files(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'files'";
    let tables: Vec<String> = sql::all(connection, tables, [], |row| row.get(0))?;
    let mut found = Vec::new();
    for table in tables {
        let quoted = table.replace('"', "\"\"");
        let check = format!("PRAGMA quick_check(\"{quoted}\")");
        found.append(&mut complaints(connection, &check)?);
    }
    Ok(found)
}

/// Fails unless a check found nothing. What keeps it from reading is damage too.
pub(crate) fn refuse_damage(complaints: rusqlite::Result<Vec<String>>) -> Result<(), CatalogError> {
    match complaints {
        Ok(complaints) if complaints.is_empty() => Ok(()),
        Err(error) if !is_damage(&error) => Err(error.into()),
        _ => Err(CatalogError::Damaged),
    }
}

fn complaints(connection: &Connection, check: &str) -> rusqlite::Result<Vec<String>> {
    let lines: Vec<String> = sql::all(connection, check, [], |row| row.get(0))?;
    Ok(lines
        .into_iter()
        .filter(|line| line != "ok" && !line.starts_with("CHECK constraint failed"))
        .map(|line| format!("SQLite's integrity check: {}", line.replace('\n', " ")))
        .collect())
}

/// Refuses a `table` that holds a digest which dupescan did not write: it would
/// equal nothing, and the file would pass for unique.
pub(crate) fn refuse_malformed(connection: &Connection, table: &str) -> Result<(), CatalogError> {
    let lengths = words::half_digest_lengths();
    let any = format!(
        "SELECT EXISTS (SELECT 1 FROM {table} WHERE length(digest) / 2 NOT IN ({lengths}))"
    );
    match sql::value(connection, &any, [])? {
        true => Err(CatalogError::DamagedRows(WRONG_LENGTH.to_owned())),
        false => Ok(()),
    }
}
