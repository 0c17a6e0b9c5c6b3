//! How far large files were hashed when a scan was stopped.

use rusqlite::{Connection, OptionalExtension, params};

use super::records::HashState;
use crate::catalog::runs::WorkName;
use crate::catalog::store::{CatalogError, ReadOnly, blob, signed, unsigned};
use crate::model::{Algorithm, FileState, FolderId};

/// Keeps how far a file was hashed, if its row is still in that state.
pub(crate) fn save(
    connection: &Connection,
    folder: FolderId,
    name: &[u8],
    state: &FileState,
    partly: &HashState,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO hash_states
                 (folder, name, size, mtime_ns, ctime_ns, ino, algorithm, format, offset, state)
             SELECT folder, name, size, mtime_ns, ctime_ns, ino, ?7, ?8, ?9, ?10 FROM files
              WHERE folder = ?1 AND name = ?2 AND size = ?3 AND mtime_ns = ?4 AND ctime_ns = ?5
                AND ino IS ?6 AND digest IS NULL
             ON CONFLICT (folder, name) DO UPDATE SET
                 size = excluded.size, mtime_ns = excluded.mtime_ns,
                 ctime_ns = excluded.ctime_ns, ino = excluded.ino,
                 algorithm = excluded.algorithm, format = excluded.format,
                 offset = excluded.offset, state = excluded.state",
        )?
        .execute(params![
            folder.0,
            name,
            signed(state.size),
            state.mtime_ns,
            state.ctime_ns,
            state.ino.map(u64::cast_signed),
            partly.algorithm.name(),
            partly.format,
            signed(partly.offset),
            partly.state,
        ])?;
    Ok(())
}

/// Forgets how far a file was hashed.
pub(crate) fn forget(
    connection: &Connection,
    folder: FolderId,
    name: &[u8],
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM hash_states WHERE folder = ?1 AND name = ?2")?
        .execute(params![folder.0, name])?;
    Ok(())
}

/// Forgets all of them: nothing that was read before is to be trusted.
pub(crate) fn forget_all(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM hash_states", [])?;
    Ok(())
}

/// Forgets the states of files that are gone, changed or done.
pub(crate) fn forget_stale(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute(
        "DELETE FROM hash_states WHERE NOT EXISTS (
             SELECT 1 FROM files
              WHERE files.folder = hash_states.folder AND files.name = hash_states.name
                AND files.size = hash_states.size AND files.mtime_ns = hash_states.mtime_ns
                AND files.ctime_ns = hash_states.ctime_ns AND files.ino IS hash_states.ino
                AND files.removed_in IS NULL AND files.digest IS NULL
                AND files.settled_in IS NULL)",
        [],
    )?;
    Ok(())
}

impl ReadOnly {
    /// How far a file in this state was hashed with this algorithm.
    pub fn hash_state(
        &self,
        name: &WorkName,
        state: &FileState,
        algorithm: Algorithm,
    ) -> Result<Option<HashState>, CatalogError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT format, offset, state FROM hash_states
                  WHERE folder = ?1 AND name = ?2 AND size = ?3 AND mtime_ns = ?4
                    AND ctime_ns = ?5 AND ino IS ?6 AND algorithm = ?7",
            )?
            .query_row(
                params![
                    name.0.0,
                    blob(&name.1),
                    signed(state.size),
                    state.mtime_ns,
                    state.ctime_ns,
                    state.ino.map(u64::cast_signed),
                    algorithm.name(),
                ],
                |row| {
                    Ok(HashState {
                        algorithm,
                        format: row.get(0)?,
                        offset: unsigned(row.get(1)?),
                        state: row.get(2)?,
                    })
                },
            )
            .optional()?;
        Ok(found)
    }
}
