//! What is done once per scan, over the whole catalog: ending it, changing the
//! algorithm, and forgetting what can no longer be trusted.

use rusqlite::Connection;

use super::audits::corrupted;
use super::scans::set_totals;
use super::summary;
use crate::catalog::store::terms::{
    self, COMPARED, FORGET_DIGEST, IN_SCOPE, UNREAD, UNRESOLVED, several_copies,
};
use crate::catalog::store::{CatalogError, Exclusive, sql};
use crate::catalog::write::{WriterHandle, hash_states, set_state, subtree, unsettle};
use crate::model::{Algorithm, FolderId, RootId, ScanId, ScanState, Stage, Summary};

impl Exclusive {
    /// Makes `algorithm` the catalog's; returns how many digests became stale.
    pub fn set_algorithm(&mut self, algorithm: Algorithm) -> Result<u64, CatalogError> {
        let transaction = self.connection.transaction()?;
        transaction.execute("UPDATE catalog SET algorithm = ?1", [algorithm.name()])?;
        let stale = transaction.execute(
            &format!("UPDATE files SET {FORGET_DIGEST} WHERE digest IS NOT NULL"),
            [],
        )?;
        if stale > 0 {
            unsettle(&transaction)?;
        }
        transaction.commit()?;
        Ok(stale as u64)
    }

    /// Forgets every probe and digest below a folder, and which files are corrupted;
    /// returns how many of those there were.
    pub fn distrust(&mut self, top: FolderId) -> Result<u64, CatalogError> {
        let transaction = self.connection.transaction()?;
        let forget = format!(
            "UPDATE files SET {} WHERE folder = ?1 AND NOT {UNREAD}",
            terms::forget_content()
        );
        let mut corrupted = 0;
        for folder in subtree(&transaction, top)? {
            sql::run(&transaction, &forget, [folder])?;
            corrupted += corrupted::forget(&transaction, folder)? as u64;
        }
        // Also for names outside the folder: they may be names of the same files.
        hash_states::forget_all(&transaction)?;
        unsettle(&transaction)?;
        transaction.commit()?;
        Ok(corrupted)
    }
}

impl WriterHandle {
    /// Moves a scan to another state and stage, after everything sent before.
    pub fn set_scan(
        &self,
        scan: ScanId,
        state: ScanState,
        stage: Stage,
    ) -> Result<(), CatalogError> {
        self.run(move |transaction| Ok(set_state(transaction, scan, state, stage)?))
    }

    /// Reopens settled files in roots that are not `online` if a new file has joined
    /// their class: it is read now, they are not.
    pub fn reopen_offline(&self, online: Vec<RootId>) -> Result<(), CatalogError> {
        self.run(move |transaction| {
            let online: Vec<String> = online.iter().map(ToString::to_string).collect();
            let sql = format!(
                "UPDATE files SET settled_in = NULL
                  WHERE settled_in IS NOT NULL AND removed_in IS NULL
                    AND folder IN (SELECT id FROM folders WHERE root NOT IN ({}))
                    AND (size, probe) IN (
                        SELECT size, probe FROM files
                         WHERE removed_in IS NULL AND probe IS NOT NULL AND {UNRESOLVED})",
                online.join(", ")
            );
            transaction.execute(&sql, [])?;
            Ok(())
        })
    }

    /// Ends scans with a summary of the whole catalog.
    pub fn complete(&self, scans: Vec<ScanId>, found: Summary) -> Result<(), CatalogError> {
        self.run(move |transaction| {
            if let Some(last) = scans.iter().max() {
                summary::keep(transaction, *last, &found)?;
            }
            transaction.execute(
                "UPDATE catalog SET unsettled = ?1",
                [found.totals.unchecked > 0],
            )?;
            if let Some(first) = scans.iter().min() {
                drop_moot_faults(transaction, *first)?;
            }
            hash_states::forget_stale(transaction)?;
            corrupted::forget_stale(transaction)?;
            for scan in scans {
                set_totals(transaction, scan, &found.totals)?;
                set_state(transaction, scan, ScanState::Complete, Stage::Settle)?;
            }
            Ok(())
        })
    }
}

/// Forgets older dead letters of files that need not be read any more: they are
/// resolved now, or the only copy of their size.
fn drop_moot_faults(connection: &Connection, first: ScanId) -> rusqlite::Result<()> {
    let any = "SELECT EXISTS (SELECT 1 FROM faults WHERE scan < ?1 AND length(name) > 0)";
    if sql::value(connection, any, [first])? {
        connection.execute(
            &format!(
                "WITH wanted AS MATERIALIZED (
                     SELECT files.size AS size
                       FROM files JOIN folders ON folders.id = files.folder
                      WHERE files.removed_in IS NULL AND {COMPARED} AND files.size IN (
                            SELECT failed.size FROM faults JOIN files AS failed
                                ON failed.folder = faults.folder AND failed.name = faults.name)
                      GROUP BY files.size HAVING {several})
                 DELETE FROM faults WHERE scan < ?1 AND EXISTS (
                     SELECT 1 FROM files
                      WHERE files.folder = faults.folder AND files.name = faults.name
                        AND (files.removed_in IS NOT NULL OR NOT {UNRESOLVED} OR NOT {IN_SCOPE}
                             OR files.size NOT IN (SELECT size FROM wanted)))",
                several = several_copies()
            ),
            [first],
        )?;
    }
    Ok(())
}
