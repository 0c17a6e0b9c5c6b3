//! What is done once between stages, over the whole catalog: starting and
//! ending scans, changing the algorithm, letting new names inherit what is
//! known of their inode, and counting what stays undetermined.

use rusqlite::{Connection, Transaction, params};

use super::audits::corrupted;
use super::scans::NewScan;
use super::{scans, summary};
use crate::catalog::store::terms::{
    self, COPY, CopyColumns, FORGET_DIGEST, UNREAD, UNRESOLVED, several_copies,
};
use crate::catalog::store::{CatalogError, Exclusive, ReadOnly, unsigned};
use crate::catalog::write::{WriterHandle, apply, hash_states};
use crate::model::{Algorithm, FolderId, RootId, ScanId, ScanState, Stage, Summary};

/// Whether anything is left to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Every file is a known duplicate or known unique.
    Yes,
    /// New or changed files, or files that could not be read, remain.
    No,
}

impl Exclusive {
    /// Marks scans left running by a killed process as interrupted.
    pub fn mark_orphans(&self) -> Result<(), CatalogError> {
        Ok(scans::mark_orphans(&self.connection)?)
    }

    /// Inserts a running scan.
    pub fn begin_scan(&self, scan: &NewScan<'_>) -> Result<ScanId, CatalogError> {
        Ok(scans::begin(&self.connection, scan)?)
    }

    /// Marks an unfinished scan running again.
    pub fn continue_scan(&self, scan: ScanId, stage: Stage) -> Result<(), CatalogError> {
        Ok(scans::set_state(
            &self.connection,
            scan,
            ScanState::Running,
            stage,
        )?)
    }

    /// Marks an unfinished scan that a fresh one replaces.
    pub fn supersede_scan(&self, scan: ScanId) -> Result<(), CatalogError> {
        Ok(scans::supersede(&self.connection, scan)?)
    }

    /// Makes `algorithm` the catalog's; returns how many digests became stale.
    pub fn set_algorithm(&mut self, algorithm: Algorithm) -> Result<u64, CatalogError> {
        let transaction = self.connection.transaction()?;
        transaction.execute("UPDATE catalog SET algorithm = ?1", [algorithm.name()])?;
        let stale = transaction.execute(
            &format!("UPDATE files SET {FORGET_DIGEST} WHERE digest IS NOT NULL"),
            [],
        )?;
        if stale > 0 {
            transaction.execute("UPDATE catalog SET unsettled = 1", [])?;
        }
        transaction.commit()?;
        Ok(stale as u64)
    }

    /// Forgets every probe and digest below a folder, and which files are rotten;
    /// returns how many of those there were.
    pub fn distrust(&mut self, top: FolderId) -> Result<u64, CatalogError> {
        let transaction = self.connection.transaction()?;
        let forget = format!(
            "UPDATE files SET {} WHERE folder = ?1 AND NOT {UNREAD}",
            terms::forget_content()
        );
        let mut rotten = 0;
        for folder in apply::subtree(&transaction, top)? {
            transaction.prepare_cached(&forget)?.execute([folder.0])?;
            rotten += corrupted::forget(&transaction, folder)? as u64;
        }
        // Also of names outside the folder: they may be of the same files.
        hash_states::forget_all(&transaction)?;
        transaction.execute("UPDATE catalog SET unsettled = 1", [])?;
        transaction.commit()?;
        Ok(rotten)
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
        self.run(move |transaction| Ok(scans::set_state(transaction, scan, state, stage)?))
    }

    /// Registers a volume met during a scan.
    pub fn register_volume(
        &self,
        volume: super::roots::VolumeRow,
    ) -> Result<crate::model::VolumeId, CatalogError> {
        self.run(move |transaction| Ok(super::roots::upsert_volume(transaction, &volume)?))
    }

    /// Lets names first seen by `scans` inherit probe and digest from another
    /// name of the same inode in the same state: moved folders, new mount
    /// points and hard links cost nothing. With `ignore_ctime` a renamed file
    /// inherits too, though renaming moved its ctime.
    pub fn adopt(&self, scans: Vec<ScanId>, ignore_ctime: bool) -> Result<u64, CatalogError> {
        self.run(move |transaction| {
            let (Some(first), Some(last)) = (scans.iter().min(), scans.iter().max()) else {
                return Ok(0);
            };
            if !may_adopt(transaction, *first)? {
                return Ok(0);
            }
            adopt(transaction, (*first, *last), ignore_ctime)
        })
    }

    /// Reopens what was settled in roots that are not `online` where another
    /// file has joined the class: it is read now, they are not.
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
                [found.totals.undetermined > 0],
            )?;
            if let Some(first) = scans.iter().min() {
                drop_moot_faults(transaction, *first)?;
            }
            hash_states::forget_stale(transaction)?;
            corrupted::forget_stale(transaction)?;
            for scan in scans {
                scans::set_totals(transaction, scan, &found.totals)?;
                scans::set_state(transaction, scan, ScanState::Complete, Stage::Settle)?;
            }
            Ok(())
        })
    }
}

/// Forgets older dead letters of files that nobody needs to read any more:
/// resolved by now, or the only copy of their size.
fn drop_moot_faults(connection: &Connection, first: ScanId) -> rusqlite::Result<()> {
    let any: bool = connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM faults WHERE scan < ?1 AND length(name) > 0)",
        [first.0],
        |row| row.get(0),
    )?;
    if any {
        connection.execute(
            &format!(
                "WITH wanted AS MATERIALIZED (
                     SELECT files.size AS size
                       FROM files JOIN folders ON folders.id = files.folder
                      WHERE files.removed_in IS NULL AND files.size IN (
                            SELECT failed.size FROM faults JOIN files AS failed
                                ON failed.folder = faults.folder AND failed.name = faults.name)
                      GROUP BY files.size HAVING {several})
                 DELETE FROM faults WHERE scan < ?1 AND EXISTS (
                     SELECT 1 FROM files
                      WHERE files.folder = faults.folder AND files.name = faults.name
                        AND (files.removed_in IS NOT NULL OR NOT {UNRESOLVED}
                             OR files.size NOT IN (SELECT size FROM wanted)))",
                several = several_copies()
            ),
            [first.0],
        )?;
    }
    Ok(())
}

/// Whether there can be something to inherit: an earlier scan read files, and
/// one of these scans found new names.
fn may_adopt(connection: &Connection, first: ScanId) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM scans WHERE probed + hashed > 0)
            AND EXISTS (SELECT 1 FROM scans WHERE id >= ?1 AND added > 0)",
        [first.0],
        |row| row.get(0),
    )
}

/// Copies what is known of an inode to its new names. `scans` are the first and
/// the last that found them.
fn adopt(
    transaction: &Transaction<'_>,
    scans: (ScanId, ScanId),
    ignore_ctime: bool,
) -> Result<u64, CatalogError> {
    transaction.execute_batch(
        "DROP TABLE IF EXISTS temp.newcomers;
         DROP TABLE IF EXISTS temp.adopted;",
    )?;
    collect_newcomers(transaction, scans)?;
    collect_adopted(transaction, scans, ignore_ctime)?;
    let adopted = transaction.execute(
        &format!(
            "UPDATE files SET {} FROM temp.adopted
              WHERE files.folder = adopted.folder AND files.name = adopted.name",
            terms::take_content("adopted")
        ),
        [],
    )?;
    transaction.execute_batch("DROP TABLE temp.newcomers; DROP TABLE temp.adopted;")?;
    // What is known of the inode includes that it is corrupted.
    corrupted::spread(transaction)?;
    Ok(adopted as u64)
}

fn collect_newcomers(
    transaction: &Transaction<'_>,
    (first, last): (ScanId, ScanId),
) -> rusqlite::Result<()> {
    transaction.execute(
        &format!(
            "CREATE TEMP TABLE newcomers AS
             SELECT folders.volume AS volume, files.folder AS folder, files.name AS name, {}
               FROM files JOIN folders ON folders.id = files.folder
              WHERE files.first_scan BETWEEN ?1 AND ?2 AND files.removed_in IS NULL
                AND {UNREAD} AND files.ino IS NOT NULL AND files.size > 0",
            terms::state_of("files")
        ),
        params![first.0, last.0],
    )?;
    transaction.execute_batch("CREATE INDEX temp.newcomers_by_inode ON newcomers (ino, volume)")
}

fn collect_adopted(
    transaction: &Transaction<'_>,
    (first, last): (ScanId, ScanId),
    ignore_ctime: bool,
) -> rusqlite::Result<()> {
    let newcomer = CopyColumns {
        volume: "newcomers.volume",
        ino: "newcomers.ino",
    };
    transaction.execute(
        &format!(
            "CREATE TEMP TABLE adopted AS
             SELECT newcomers.folder AS folder, newcomers.name AS name, {content},
                    files.removed_in NOT BETWEEN ?1 AND ?2 AS was_gone
               FROM files JOIN folders ON folders.id = files.folder
               JOIN temp.newcomers ON {same_copy}
                    AND newcomers.size = files.size AND newcomers.mtime_ns = files.mtime_ns
              WHERE NOT {UNREAD} AND files.racy = 0
                AND (newcomers.ctime_ns = files.ctime_ns
                     OR (?3 AND files.removed_in BETWEEN ?1 AND ?2))",
            content = terms::content(),
            same_copy = newcomer.is(&COPY),
        ),
        params![first.0, last.0, ignore_ctime],
    )?;
    // Others may have joined the class while the name was gone.
    transaction.execute_batch("UPDATE temp.adopted SET settled_in = NULL WHERE was_gone")
}

impl ReadOnly {
    /// Whether every file is resolved; if so, no stage after listing is needed.
    pub fn settled(&self) -> Result<Settled, CatalogError> {
        let unsettled: bool =
            self.connection
                .query_row("SELECT unsettled FROM catalog", [], |row| row.get(0))?;
        Ok(if unsettled { Settled::No } else { Settled::Yes })
    }

    /// Number of files that are neither known duplicates nor known unique: in
    /// a size class with a member nothing is known of, or in a class of equal
    /// probes with a member that was not read.
    pub fn undetermined(&self) -> Result<u64, CatalogError> {
        if self.settled()? == Settled::Yes {
            return Ok(0);
        }
        count_undetermined(&self.connection)
    }
}

/// The tables `open_sizes` (`size`) and `open_classes` (`size`, `probe`) of a
/// WITH clause: in them a file may equal another that was not read.
pub(crate) fn open_classes() -> String {
    format!(
        "open_sizes AS MATERIALIZED (
             SELECT files.size AS size
               FROM files JOIN folders ON folders.id = files.folder
              WHERE files.removed_in IS NULL AND files.size > 0
              GROUP BY files.size
             HAVING {several} AND sum({UNREAD}) > 0),
         open_classes AS MATERIALIZED (
             SELECT files.size AS size, files.probe AS probe
               FROM files JOIN folders ON folders.id = files.folder
              WHERE files.removed_in IS NULL AND files.probe IS NOT NULL
              GROUP BY files.size, files.probe
             HAVING {several} AND sum({UNRESOLVED}) > 0)",
        several = several_copies()
    )
}

/// [`ReadOnly::undetermined`] without the shortcut: counts whatever the
/// catalog claims.
pub(crate) fn count_undetermined(connection: &Connection) -> Result<u64, CatalogError> {
    let open = open_classes();
    let sql = format!(
        "WITH {open},
         doubtful AS MATERIALIZED (
             SELECT files.digest AS digest FROM files
              WHERE files.removed_in IS NULL AND files.size > 0
                AND (files.size IN (SELECT size FROM open_sizes)
                     OR (files.size, files.probe) IN (SELECT size, probe FROM open_classes))),
         duplicated AS MATERIALIZED (
             SELECT files.digest AS digest
               FROM files JOIN folders ON folders.id = files.folder
              WHERE files.removed_in IS NULL
                AND files.digest IN (SELECT digest FROM doubtful)
              GROUP BY files.digest HAVING {several})
         SELECT count(*) FROM doubtful
          WHERE digest IS NULL OR digest NOT IN (SELECT digest FROM duplicated)",
        several = several_copies()
    );
    let count: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
    Ok(unsigned(count))
}
