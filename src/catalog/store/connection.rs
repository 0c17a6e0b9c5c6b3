//! Connections to the file, with the pragmas that each of them needs.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::CatalogError;

/// How long a statement waits for another process's short locks.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// SQLite 3.51.3 fixed a WAL-reset bug that could corrupt a database.
const MIN_SQLITE: i32 = 3_051_003;

pub(crate) fn check_sqlite() -> Result<(), CatalogError> {
    if rusqlite::version_number() < MIN_SQLITE {
        return Err(CatalogError::OldSqlite(rusqlite::version()));
    }
    Ok(())
}

pub(crate) fn open_read_only(path: &Path, mode: &str) -> Result<Connection, CatalogError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file_uri(path, mode), flags)?;
    connection.pragma_update(None, "cache_size", -1024)?;
    configure(&connection)?;
    // On read-only media sorts spill to the system's folder instead.
    temp_files_beside(&connection, path).ok();
    // The first read of a WAL catalog needs its -shm: find out now.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// A `file:` URI with every byte outside the unreserved set escaped.
fn file_uri(path: &Path, mode: &str) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            write!(uri, "%{byte:02X}").expect("writing to a String cannot fail");
        }
    }
    uri + "?" + mode
}

pub(crate) fn configure(connection: &Connection) -> Result<(), CatalogError> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // Damaged pages are found when they are read, not when they did harm.
    connection.pragma_update(None, "cell_size_check", true)?;
    // Otherwise a statement with a bound range is planned again for every value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Sorts spill to disk; beside the catalog there is room, in /tmp often not.
/// The pragma is deprecated in favour of an environment variable, which a
/// program with threads cannot set safely.
pub(crate) fn temp_files_beside(connection: &Connection, path: &Path) -> Result<(), CatalogError> {
    if let Some(folder) = path
        .parent()
        .and_then(Path::to_str)
        .filter(|f| !f.is_empty())
    {
        connection.pragma_update(None, "temp_store_directory", folder)?;
    }
    Ok(())
}

pub(crate) fn is_cant_open(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
    )
}
