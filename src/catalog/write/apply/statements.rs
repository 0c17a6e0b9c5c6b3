//! The statements that write rows of files, held for a whole batch: looking one
//! up costs as much as inserting a row does.

use std::sync::LazyLock;

use rusqlite::{CachedStatement, Connection};

use crate::catalog::store::terms::{self, STILL_IN_STATE};

/// What a listing says of a file that has a row already.
const TAKE_METADATA: &str = "size = excluded.size, allocated = excluded.allocated,
    mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns,
    ino = excluded.ino, nlink = excluded.nlink, removed_in = NULL";

/// A file that is new, or no longer what its row says: what was known of its
/// content is forgotten, but for what the listing itself read.
static INSERT_FILE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "INSERT INTO files (folder, name, size, allocated, mtime_ns, ctime_ns, ino, nlink,
                            first_scan, probe, digest, hashed_in, racy)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
         ON CONFLICT (folder, name) DO UPDATE SET {TAKE_METADATA}, {}",
        terms::take_content("excluded")
    )
});

/// A file whose content is what it was.
static UPDATE_FILE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "INSERT INTO files (folder, name, size, allocated, mtime_ns, ctime_ns, ino, nlink,
                            first_scan)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (folder, name) DO UPDATE SET {TAKE_METADATA},
             -- Others may have joined its class while it was away.
             settled_in = CASE WHEN files.removed_in IS NULL THEN files.settled_in END"
    )
});

/// Writes rows of files.
pub(crate) struct Statements<'t> {
    pub(crate) insert_file: CachedStatement<'t>,
    pub(crate) update_file: CachedStatement<'t>,
    pub(crate) probed: CachedStatement<'t>,
    pub(crate) digested: CachedStatement<'t>,
    pub(crate) settled: CachedStatement<'t>,
}

impl<'t> Statements<'t> {
    pub(crate) fn new(connection: &'t Connection) -> rusqlite::Result<Self> {
        // By compare-and-set: only on a row that is still in the state that
        // something was learned of.
        let store = |columns: &str| {
            connection.prepare_cached(&format!(
                "UPDATE files SET {columns} WHERE {STILL_IN_STATE}"
            ))
        };
        Ok(Self {
            insert_file: connection.prepare_cached(&INSERT_FILE)?,
            update_file: connection.prepare_cached(&UPDATE_FILE)?,
            probed: store("probe = ?7, racy = racy | ?8")?,
            digested: store(
                "digest = ?7, compared = ?8, racy = racy | ?9, hashed_in = ?10, settled_in = NULL",
            )?,
            settled: store("settled_in = ?7, racy = racy | ?8")?,
        })
    }
}
