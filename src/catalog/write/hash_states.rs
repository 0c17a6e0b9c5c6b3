//! How far large files were hashed when a scan was stopped.

use rusqlite::{Connection, OptionalExtension, params};

use super::records::{HashState, WorkName};
use crate::catalog::store::terms::{STILL_IN_STATE, UNRESOLVED, same_state};
use crate::catalog::store::{CatalogError, ReadOnly, blob, signed, unsigned};
use crate::model::{Algorithm, FileState, FolderId};

/// Saves how far a file was hashed, if its row is still in that state.
pub(crate) fn save(
    connection: &Connection,
    folder: FolderId,
    name: &[u8],
    state: &FileState,
    partly: &HashState,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            // Nothing refers to a row, so replacing it is as good as changing it.
            &format!(
                "INSERT OR REPLACE INTO hash_states
                     (folder, name, size, mtime_ns, ctime_ns, ino, algorithm, format, offset, state)
                 SELECT folder, name, size, mtime_ns, ctime_ns, ino, ?7, ?8, ?9, ?10 FROM files
                  WHERE {STILL_IN_STATE} AND digest IS NULL"
            ),
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

/// Forgets all of them: nothing that was read before is trusted.
pub(crate) fn forget_all(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM hash_states", [])?;
    Ok(())
}

/// Forgets the states of files that are gone, changed or done.
pub(crate) fn forget_stale(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute(
        &format!(
            "DELETE FROM hash_states WHERE NOT EXISTS (
                 SELECT 1 FROM files
                  WHERE files.folder = hash_states.folder AND files.name = hash_states.name
                    AND {} AND files.removed_in IS NULL AND {UNRESOLVED})",
            same_state("files", "hash_states")
        ),
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
            .prepare_cached(&format!(
                "SELECT format, offset, state FROM hash_states
                  WHERE {STILL_IN_STATE} AND algorithm = ?7"
            ))?
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
