//! How far large files were hashed when a scan was stopped.

use rusqlite::{Connection, params};

use super::records::{HashState, WorkName};
use crate::catalog::store::terms::{self, STILL_IN_STATE, UNRESOLVED, same_state};
use crate::catalog::store::{CatalogError, ReadOnly, blob, signed, sql, unsigned};
use crate::model::{Algorithm, FileState, FolderId};

/// Saves how far a file was hashed, if its row is still in that state.
pub(crate) fn save(
    connection: &Connection,
    folder: FolderId,
    name: &[u8],
    state: &FileState,
    partly: &HashState,
) -> rusqlite::Result<()> {
    // Nothing refers to a row, so replacing it is as good as changing it.
    let mut save = connection.prepare_cached(&format!(
        "INSERT OR REPLACE INTO hash_states
             (folder, name, size, mtime_ns, ctime_ns, ino, algorithm, format, offset, state)
         SELECT folder, name, size, mtime_ns, ctime_ns, ino, ?7, ?8, ?9, ?10 FROM files
          WHERE {STILL_IN_STATE} AND digest IS NULL"
    ))?;
    let hasher = params![
        partly.algorithm.name(),
        partly.format,
        signed(partly.offset),
        partly.state
    ];
    let state = terms::state_values(state);
    let file = params![folder, name];
    sql::execute(&mut save, &[file, &sql::values(&state), hasher]).map(drop)
}

/// Forgets how far a file was hashed.
pub(crate) fn forget(
    connection: &Connection,
    folder: FolderId,
    name: &[u8],
) -> rusqlite::Result<()> {
    let forget = "DELETE FROM hash_states WHERE folder = ?1 AND name = ?2";
    sql::run(connection, forget, params![folder, name]).map(drop)
}

/// Forgets all of them: nothing that was read before is trusted.
pub(crate) fn forget_all(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("DELETE FROM hash_states")
}

/// Forgets the states of files that are gone, changed or done.
pub(crate) fn forget_stale(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "DELETE FROM hash_states WHERE NOT EXISTS (
             SELECT 1 FROM files
              WHERE files.folder = hash_states.folder AND files.name = hash_states.name
                AND {} AND files.removed_in IS NULL AND {UNRESOLVED})",
        same_state("files", "hash_states")
    ))
}

impl ReadOnly {
    /// How far a file in this state was hashed with this algorithm.
    pub fn hash_state(
        &self,
        name: &WorkName,
        state: &FileState,
        algorithm: Algorithm,
    ) -> Result<Option<HashState>, CatalogError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT format, offset, state FROM hash_states
              WHERE {STILL_IN_STATE} AND algorithm = ?7"
        ))?;
        let (folder, name) = name;
        let file = params![folder, blob(name)];
        let state = terms::state_values(state);
        let algorithm_name = params![algorithm.name()];
        sql::bind(
            &mut statement,
            &[file, &sql::values(&state), algorithm_name],
        )?;
        let found = statement.raw_query().mapped(|row| {
            Ok(HashState {
                algorithm,
                format: row.get(0)?,
                offset: unsigned(row.get(1)?),
                state: row.get(2)?,
            })
        });
        Ok(found.last().transpose()?)
    }
}
