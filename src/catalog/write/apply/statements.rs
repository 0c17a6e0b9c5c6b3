//! The statements that write rows of files, held for a whole batch: looking one
//! up costs as much as inserting a row does.

use std::sync::LazyLock;

use rusqlite::{CachedStatement, Connection};

use crate::catalog::store::terms::{self, METADATA, STILL_IN_STATE};

/// A file that is new, or no longer what its row says: what was known of its
/// content is forgotten, but for what the listing itself read.
static INSERT_FILE: LazyLock<String> = LazyLock::new(|| {
    insert(
        ", probe, digest, hashed_in, racy",
        &terms::take_content("excluded"),
    )
});

/// A file whose content is what it was. Others may have joined its class while it
/// was away.
static UPDATE_FILE: LazyLock<String> = LazyLock::new(|| {
    let settled = "settled_in = CASE WHEN files.removed_in IS NULL THEN files.settled_in END";
    insert("", settled)
});

/// Inserts folder, name, scan, link, scope and metadata of a file and `learned`, or
/// changes its row.
fn insert(learned: &str, changes: &str) -> String {
    let columns = format!(
        "folder, name, first_scan, link, scope, {}{learned}",
        METADATA.join(", ")
    );
    let values = vec!["?"; columns.split(',').count()].join(", ");
    format!(
        "INSERT INTO files ({columns}) VALUES ({values})
         ON CONFLICT (folder, name) DO UPDATE SET {}, link = excluded.link,
             scope = excluded.scope, removed_in = NULL, {changes}",
        terms::take_metadata("excluded")
    )
}

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
                "UPDATE files SET racy = racy | ?7, {columns} WHERE {STILL_IN_STATE}"
            ))
        };
        Ok(Self {
            insert_file: connection.prepare_cached(&INSERT_FILE)?,
            update_file: connection.prepare_cached(&UPDATE_FILE)?,
            probed: store("probe = ?8")?,
            digested: store("digest = ?8, compared = ?9, hashed_in = ?10, settled_in = NULL")?,
            settled: store("settled_in = ?8")?,
        })
    }
}
