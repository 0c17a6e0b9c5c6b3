//! SQLite's own checks of the file.

use rusqlite::{Connection, ErrorCode};

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
    let mut statement = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'files'")?;
    let tables = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut found = Vec::new();
    for table in tables {
        let quoted = table?.replace('"', "\"\"");
        found.append(&mut complaints(
            connection,
            &format!("PRAGMA quick_check(\"{quoted}\")"),
        )?);
    }
    Ok(found)
}

fn complaints(connection: &Connection, check: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(check)?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    let lines: Vec<String> = lines.collect::<Result<_, _>>()?;
    Ok(lines
        .into_iter()
        .filter(|line| line != "ok" && !line.starts_with("CHECK constraint failed"))
        .map(|line| format!("SQLite's integrity check: {}", line.replace('\n', " ")))
        .collect())
}
