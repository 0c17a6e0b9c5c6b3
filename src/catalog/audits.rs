//! Audits: which files are to be read again, and what came of it. An audit
//! that was stopped goes on, since every file that was found sound says in
//! which run that was.

use std::collections::VecDeque;
use std::path::Path;

use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::apply::{Sums, apply};
use super::candidates::{WorkCopy, WorkName};
use super::files::FileFilter;
use super::places::Extent;
use super::records::{FileOutcome, FileResult, FileState, Record};
use super::rows::{self, blob, path_blob, unsigned};
use super::{CatalogError, Exclusive, FolderPaths, ReadOnly, WriterHandle, summary};
use crate::model::{Digest, FolderId, Probe, RootId, ScanId, Timestamp, VolumeId};

/// Rows fetched at once.
const PAGE: u32 = 1_000;
/// A run that was stopped longer ago is begun afresh.
const STALE_SECONDS: i64 = 30 * 86_400;
/// Stands for "no scan" where a digest or a fault comes from an audit.
pub const NO_SCAN: ScanId = ScanId(0);

/// Number of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditId(i64);

/// An audit that is under way.
#[derive(Debug, Clone, Copy)]
pub struct AuditRun {
    /// Its number.
    pub id: AuditId,
    /// When it was started.
    pub started: Timestamp,
    /// Whether it was stopped before, and goes on.
    pub resumed: bool,
}

/// A copy to read again.
#[derive(Debug, Clone)]
pub struct AuditCopy {
    /// The copy.
    pub copy: WorkCopy,
    /// What its content should hash to; `None` where that is to be found out.
    pub digest: Option<Digest>,
    /// Whether it was read too shortly after its last change for its times to
    /// tell a later one.
    pub racy: bool,
}

/// Which files are to be read again.
#[derive(Debug, Clone, Default)]
pub struct AuditScope {
    /// The folders.
    pub tops: Vec<FolderId>,
    /// Roots whose files can be opened now.
    pub online: Vec<RootId>,
    /// Only files that were not audited since.
    pub before: Option<Timestamp>,
    /// Also files without a digest.
    pub baseline: bool,
}

/// How many files have a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Live files.
    pub files: u64,
    /// Those with a digest, or empty.
    pub digested: u64,
}

/// What reading a copy again showed, for the writer.
#[derive(Debug)]
pub struct AuditNote {
    /// Its names.
    pub names: Vec<WorkName>,
    /// The state it was read in.
    pub state: FileState,
    /// A digest that was not known before, the probe that goes with it, and
    /// whether the file was too fresh to trust its times.
    pub made: Option<(Digest, Option<Probe>, bool)>,
}

impl Exclusive {
    /// Begins an audit of a place, or goes on with one that was stopped. The
    /// empty path stands for everything.
    pub fn begin_audit(&self, place: &Path) -> Result<AuditRun, CatalogError> {
        let now = Timestamp::now();
        let unfinished: Option<(i64, i64)> = self
            .connection
            .query_row(
                "SELECT id, started_at FROM audit_runs
                  WHERE place = ?1 AND finished_at IS NULL AND started_at > ?2
                  ORDER BY id DESC LIMIT 1",
                params![path_blob(place), now.0 - STALE_SECONDS],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        if let Some((id, started)) = unfinished {
            return Ok(AuditRun {
                id: AuditId(id),
                started: Timestamp(started),
                resumed: true,
            });
        }
        self.connection.execute(
            "INSERT INTO audit_runs (place, started_at) VALUES (?1, ?2)",
            params![path_blob(place), now.0],
        )?;
        Ok(AuditRun {
            id: AuditId(self.connection.last_insert_rowid()),
            started: now,
            resumed: false,
        })
    }
}

impl WriterHandle {
    /// Notes copies that were found sound, or got their first digest.
    pub fn note_audits(&self, run: AuditId, notes: Vec<AuditNote>) -> Result<(), CatalogError> {
        self.run(move |transaction| {
            let now = Timestamp::now();
            for note in &notes {
                store_made(transaction, note)?;
                for name in &note.names {
                    store_note(transaction, run, now, name, &note.state)?;
                }
            }
            Ok(())
        })
    }

    /// Ends an audit.
    pub fn finish_audit(&self, run: AuditId) -> Result<(), CatalogError> {
        self.run(move |transaction| {
            transaction.execute(
                "UPDATE audit_runs SET finished_at = ?2 WHERE id = ?1",
                params![run.0, Timestamp::now().0],
            )?;
            Ok(())
        })
    }
}

/// Stores a new digest as a scan would, without a scan to count it for.
fn store_made(transaction: &Transaction<'_>, note: &AuditNote) -> Result<(), CatalogError> {
    let Some((digest, probe, racy)) = note.made else {
        return Ok(());
    };
    let result = |outcome| FileResult {
        names: note.names.clone(),
        state: note.state,
        outcome,
    };
    let mut results = Vec::new();
    if let Some(probe) = probe {
        results.push(result(FileOutcome::Probed { probe, racy }));
    }
    results.push(result(FileOutcome::Digested {
        digest,
        compared: None,
        racy,
    }));
    let record = Record::Files {
        scan: NO_SCAN,
        bytes_read: 0,
        results,
    };
    let mut sums = Sums::default();
    apply(transaction, &record, &mut sums)?;
    sums.write(transaction)?;
    summary::forget(transaction)?;
    Ok(())
}

fn store_note(
    transaction: &Transaction<'_>,
    run: AuditId,
    now: Timestamp,
    (folder, name): &WorkName,
    state: &FileState,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO audits (folder, name, run, audited_at, mtime_ns, ctime_ns)
             SELECT folder, name, ?3, ?4, ?5, ?6 FROM files WHERE folder = ?1 AND name = ?2
             ON CONFLICT (folder, name) DO UPDATE SET
                 run = excluded.run, audited_at = excluded.audited_at,
                 mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns",
        )?
        .execute(params![
            folder.0,
            blob(name),
            run.0,
            now.0,
            state.mtime_ns,
            state.ctime_ns
        ])?;
    // It could be read: an error of an earlier attempt is healed.
    transaction
        .prepare_cached("DELETE FROM faults WHERE folder = ?1 AND name = ?2")?
        .execute(params![folder.0, blob(name)])?;
    Ok(())
}

/// The copies to read again, handed out in the order in which they lie on
/// their volumes.
pub struct AuditList {
    catalog: ReadOnly,
    paths: FolderPaths,
    filter: FileFilter,
    last: i64,
    page: VecDeque<AuditRow>,
    /// Copies in all, and bytes in them, before names are filtered.
    pub copies: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Files that are left out because they were audited before.
    pub skipped: u64,
    /// Files that are left out because their root is offline.
    pub offline: u64,
}

struct AuditRow {
    name: WorkName,
    volume: VolumeId,
    state: FileState,
    digest: Option<Digest>,
    racy: bool,
}

/// Live files below the places that an audit may read, with what earlier
/// audits say about their present state. Empty ones have nothing to rot.
const IN_SCOPE: &str = "temp.places JOIN files ON files.folder = places.folder
    JOIN folders ON folders.id = files.folder
    LEFT JOIN temp.audited_roots AS online ON online.root = folders.root
    LEFT JOIN audits ON audits.folder = files.folder AND audits.name = files.name
        AND audits.mtime_ns = files.mtime_ns AND audits.ctime_ns = files.ctime_ns
   WHERE files.removed_in IS NULL AND files.size > 0 AND files.size BETWEEN ?1 AND ?2
     AND (files.digest IS NOT NULL OR ?3)";

/// True of a file that was audited before, as far as that matters now.
const DONE: &str = "(audits.run = ?4 OR audits.audited_at >= ?5)";

impl AuditList {
    /// Collects what an audit has to read.
    pub fn build(
        catalog: ReadOnly,
        run: AuditId,
        scope: &AuditScope,
        filter: FileFilter,
    ) -> Result<Self, CatalogError> {
        let connection = &catalog.connection;
        connection.execute_batch(
            "BEGIN;
             DROP TABLE IF EXISTS temp.audited_roots;
             CREATE TEMP TABLE audited_roots (root INTEGER PRIMARY KEY);
             DROP TABLE IF EXISTS temp.to_audit;
             CREATE TEMP TABLE to_audit (
                 id INTEGER PRIMARY KEY, volume INTEGER, ino INTEGER, size INTEGER,
                 mtime_ns INTEGER, ctime_ns INTEGER, folder INTEGER, name BLOB, digest BLOB,
                 racy INTEGER);",
        )?;
        for root in &scope.online {
            connection.execute("INSERT INTO temp.audited_roots VALUES (?1)", [root.0])?;
        }
        catalog.collect_places("places", &scope.tops, Extent::Live)?;
        let (low, high) = filter.sizes();
        let before = scope.before.map_or(i64::MAX, |before| before.0);
        let values = params![low, high, scope.baseline, run.0, before];
        connection.execute(
            &format!(
                "INSERT INTO temp.to_audit (volume, ino, size, mtime_ns, ctime_ns, folder, name,
                                            digest, racy)
                 SELECT folders.volume, files.ino, files.size, files.mtime_ns, files.ctime_ns,
                        files.folder, files.name, files.digest, files.racy
                   FROM {IN_SCOPE} AND online.root IS NOT NULL AND {DONE} IS NOT TRUE
                  ORDER BY folders.volume, files.ino, files.folder, files.name"
            ),
            values,
        )?;
        let (skipped, offline): (i64, i64) = connection.query_row(
            &format!(
                "SELECT count(*) FILTER (WHERE {DONE} AND online.root IS NOT NULL),
                        count(*) FILTER (WHERE online.root IS NULL)
                   FROM {IN_SCOPE}"
            ),
            values,
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let (copies, bytes): (i64, i64) = connection.query_row(
            "SELECT count(*), coalesce(sum(size), 0) FROM (
                 SELECT size FROM temp.to_audit GROUP BY volume, ifnull(ino, -id), size)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        connection.execute_batch("COMMIT")?;
        Ok(Self {
            catalog,
            paths: FolderPaths::default(),
            filter,
            last: 0,
            page: VecDeque::new(),
            copies: unsigned(copies),
            bytes: unsigned(bytes),
            skipped: unsigned(skipped),
            offline: unsigned(offline),
        })
    }

    /// The next copies, at most `files` of them and not many more than `bytes`
    /// bytes; empty at the end.
    pub fn next_batch(&mut self, files: usize, bytes: u64) -> Result<Vec<AuditCopy>, CatalogError> {
        let mut batch: Vec<AuditCopy> = Vec::new();
        let mut size = 0;
        while let Some(row) = self.next_row()? {
            if let Some(last) = batch.last_mut()
                && row.is_name_of(&last.copy)
            {
                last.copy.names.push(row.name);
                continue;
            }
            if batch.len() >= files || size >= bytes {
                self.page.push_front(row);
                break;
            }
            let (folder, name) = &row.name;
            if !self
                .filter
                .admits(&self.catalog, &mut self.paths, *folder, name)?
            {
                continue;
            }
            size += row.state.size;
            batch.push(AuditCopy {
                copy: WorkCopy {
                    names: vec![row.name],
                    state: row.state,
                    volume: row.volume,
                },
                digest: row.digest,
                racy: row.racy,
            });
        }
        Ok(batch)
    }

    fn next_row(&mut self) -> Result<Option<AuditRow>, CatalogError> {
        if self.page.is_empty() {
            let mut statement = self.catalog.connection.prepare_cached(
                "SELECT id, folder, name, volume, size, mtime_ns, ctime_ns, ino, digest, racy
                   FROM temp.to_audit WHERE id > ?1 ORDER BY id LIMIT ?2",
            )?;
            let mut rows = statement.query(params![self.last, PAGE])?;
            while let Some(row) = rows.next()? {
                self.last = row.get(0)?;
                self.page.push_back(audit_row(row)?);
            }
        }
        Ok(self.page.pop_front())
    }
}

impl AuditRow {
    fn is_name_of(&self, copy: &WorkCopy) -> bool {
        self.state.ino.is_some() && self.volume == copy.volume && self.state == copy.state
    }
}

fn audit_row(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    Ok(AuditRow {
        name: (FolderId(row.get(1)?), rows::name(row, 2)?),
        volume: VolumeId(row.get(3)?),
        state: FileState {
            size: unsigned(row.get(4)?),
            mtime_ns: row.get(5)?,
            ctime_ns: row.get(6)?,
            ino: row.get::<_, Option<i64>>(7)?.map(i64::cast_unsigned),
        },
        digest: rows::digest(row, 8)?,
        racy: row.get(9)?,
    })
}

impl ReadOnly {
    /// How many live files at and below `tops` have a digest.
    pub fn coverage(&self, tops: &[FolderId]) -> Result<Coverage, CatalogError> {
        self.collect_places("covered", tops, Extent::Live)?;
        let (files, digested): (i64, i64) = self.connection.query_row(
            "SELECT count(*), count(*) FILTER (WHERE files.size = 0 OR files.digest IS NOT NULL)
               FROM temp.covered JOIN files ON files.folder = covered.folder
              WHERE files.removed_in IS NULL",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        Ok(Coverage {
            files: unsigned(files),
            digested: unsigned(digested),
        })
    }
}

#[cfg(test)]
mod tests;
