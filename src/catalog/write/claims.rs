//! What the catalog claims about itself, so that a scan that finds nothing
//! changed need not read all files: whether every file is resolved, and whether
//! the last summary still holds.

use rusqlite::Connection;

/// Takes back the claim that every file is a known duplicate or known unique.
pub(crate) fn unsettle(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .execute("UPDATE catalog SET unsettled = 1 WHERE unsettled = 0", [])
        .map(drop)
}

/// Forgets the summary: groups have changed.
pub(crate) fn forget_summary(connection: &Connection) -> rusqlite::Result<()> {
    let forget = "UPDATE catalog SET grouped_in = NULL WHERE grouped_in IS NOT NULL";
    connection.execute(forget, []).map(drop)
}
