//! What reading files showed, stored on rows that are still in the state it
//! was learned from.

use std::sync::LazyLock;

use rusqlite::{Connection, params};

use super::Applier;
use crate::catalog::store::terms::{self, EXCLUDED, STANDING_BY_SIZE, STILL_IN_STATE};
use crate::catalog::store::{blob, sql};
use crate::catalog::write::records::{FileOutcome, FileResult, Record};
use crate::catalog::write::{hash_states, signature};
use crate::model::sampling::LARGE;
use crate::model::{FileMeta, FileState, FolderId, RootId, ScanId};

impl Applier<'_> {
    /// Applies results in the order of the files. Results about one file keep their
    /// order: the last one wins.
    pub(crate) fn apply_results(&mut self, records: &[Record]) -> rusqlite::Result<()> {
        let mut all = Vec::new();
        for record in records {
            if let Record::Files {
                scan,
                bytes_read,
                results,
            } = record
            {
                self.sums.scan(*scan).bytes_read += bytes_read;
                all.extend(results.iter().map(|result| (*scan, result)));
            }
        }
        all.sort_by(|(_, one), (_, other)| one.names.first().cmp(&other.names.first()));
        all.into_iter()
            .try_for_each(|(scan, result)| self.apply_result(scan, result))
    }

    fn apply_result(&mut self, scan: ScanId, result: &FileResult) -> rusqlite::Result<()> {
        for (folder, name) in &result.names {
            let name = blob(name);
            match &result.outcome {
                FileOutcome::Vanished => {
                    if let Some(root) = root_of(self.transaction, *folder)? {
                        let gone = self.remove_file(scan, *folder, name)?;
                        signature::forget(self.transaction, *folder)?;
                        self.sums.count_removed(scan, root, gone);
                    }
                }
                FileOutcome::Partly(partly) => {
                    hash_states::save(self.transaction, *folder, name, &result.state, partly)?;
                }
                FileOutcome::Changed(meta, ino) => {
                    self.change_file((*folder, name), &result.state, (meta, *ino))?;
                }
                _ => self.store(scan, *folder, name, result)?,
            }
        }
        match &result.outcome {
            FileOutcome::Probed { .. } => self.sums.scan(scan).probed += 1,
            FileOutcome::Digested { .. } | FileOutcome::Settled { .. } => {
                self.sums.scan(scan).hashed += 1;
            }
            FileOutcome::Partly(_) | FileOutcome::Changed(..) | FileOutcome::Vanished => {}
        }
        Ok(())
    }

    /// Stores what was learned, where the row is still in the state it was
    /// learned from.
    fn store(
        &mut self,
        scan: ScanId,
        folder: FolderId,
        name: &[u8],
        result: &FileResult,
    ) -> rusqlite::Result<()> {
        let state = terms::state_values(&result.state);
        let (row, state) = (params![folder, name], &sql::values(&state));
        let statements = &mut self.statements;
        let racy = match &result.outcome {
            FileOutcome::Probed { probe, racy } => {
                sql::execute(&mut statements.probed, &[row, state, params![racy, probe]])?;
                *racy
            }
            FileOutcome::Digested {
                digest,
                compared,
                racy,
            } => {
                let learned = params![racy, digest.as_bytes(), compared, scan];
                sql::execute(&mut statements.digested, &[row, state, learned])?;
                *racy
            }
            FileOutcome::Settled { racy } => {
                sql::execute(&mut statements.settled, &[row, state, params![racy, scan]])?;
                *racy
            }
            FileOutcome::Partly(_) | FileOutcome::Changed(..) | FileOutcome::Vanished => false,
        };
        if racy {
            signature::forget(self.transaction, folder)?;
        }
        if result.state.size >= LARGE {
            hash_states::forget(self.transaction, folder, name)?;
        }
        self.clear_fault(folder, name)
    }

    /// Replaces the metadata of a row that is still in the state the reader
    /// expected, and forgets what belonged to that state.
    fn change_file(
        &mut self,
        (folder, name): (FolderId, &[u8]),
        state: &FileState,
        (meta, ino): (&FileMeta, Option<u64>),
    ) -> rusqlite::Result<()> {
        let mut change = self.transaction.prepare_cached(&format!(
            "UPDATE files SET {}, {} WHERE {STILL_IN_STATE} AND removed_in IS NULL",
            terms::set_metadata(7),
            terms::forget_content()
        ))?;
        let metadata = terms::metadata_values(meta, ino);
        let before = terms::state_values(state);
        let row = params![folder, name];
        let values = [row, &sql::values(&before), &sql::values(&metadata)];
        if sql::execute(&mut change, &values)? > 0 {
            self.sums.unsettled = true;
            signature::forget(self.transaction, folder)?;
            sql::run(self.transaction, &RESIZED, row)?;
            if let Some(root) = root_of(self.transaction, folder)? {
                self.sums.root(root).bytes += i128::from(meta.size) - i128::from(state.size);
            }
        }
        Ok(())
    }
}

/// Looks again at how the file with folder ?1 and name ?2 stands to the limits of its
/// root.
static RESIZED: LazyLock<String> = LazyLock::new(|| {
    format!(
        "UPDATE files SET scope = (
             SELECT {STANDING_BY_SIZE} FROM folders JOIN roots ON roots.id = folders.root
              WHERE folders.id = files.folder)
          WHERE folder = ?1 AND name = ?2 AND NOT {EXCLUDED}"
    )
});

fn root_of(connection: &Connection, folder: FolderId) -> rusqlite::Result<Option<RootId>> {
    let root = "SELECT root FROM folders WHERE id = ?1";
    sql::first(connection, root, [folder], |row| row.get(0))
}
