//! Audits: which files to read again, and what was found. A stopped audit can be
//! resumed, since every file found OK has the number of the run that read it.

pub(crate) mod corrupted;
mod list;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use list::{AuditCopy, AuditList, AuditScope};
use rusqlite::{Transaction, params};

use crate::catalog::query::Extent;
use crate::catalog::runs::work::two_counts;
use crate::catalog::store::{CatalogError, Exclusive, ReadOnly, blob, path_blob, sql};
use crate::catalog::write::{
    Applier, FileOutcome, FileResult, Record, WorkName, WriterHandle, forget_summary,
};
use crate::model::{Digest, FileState, FolderId, Probe, ScanId, Timestamp};

/// A run that was stopped longer ago starts over.
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
    /// Whether it was stopped before and is resumed.
    pub resumed: bool,
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
    /// What was found.
    pub finding: AuditFinding,
}

/// What reading a copy again found.
#[derive(Debug, Clone, Copy)]
pub enum AuditFinding {
    /// Its content matches its digest.
    Sound,
    /// It had no digest: the new one, the probe that goes with it, and whether the
    /// file was too young to trust.
    Made(Digest, Option<Probe>, bool),
    /// Its content does not match this digest.
    Corrupted(Digest),
    /// It changed or is gone: left to the next scan.
    Moved,
}

impl Exclusive {
    /// Begins an audit of a place, or resumes one that was stopped. The empty path
    /// means everything.
    pub fn begin_audit(&self, place: &Path) -> Result<AuditRun, CatalogError> {
        let now = Timestamp::now();
        let run = |sql, since: i64, resumed| {
            let values = params![path_blob(place), since];
            sql::first(&self.connection, sql, values, |row| {
                Ok(AuditRun {
                    id: AuditId(row.get(0)?),
                    started: row.get(1)?,
                    resumed,
                })
            })
        };
        let unfinished = "SELECT id, started_at FROM audit_runs
              WHERE place = ?1 AND finished_at IS NULL AND started_at > ?2
              ORDER BY id DESC LIMIT 1";
        let new = "INSERT INTO audit_runs (place, started_at) VALUES (?1, ?2)
              RETURNING id, started_at";
        let run = match run(unfinished, now.0 - STALE_SECONDS, true)? {
            None => run(new, now.0, false)?,
            resumed => resumed,
        };
        Ok(run.ok_or(rusqlite::Error::QueryReturnedNoRows)?)
    }
}

impl WriterHandle {
    /// Stores what was found.
    pub fn note_audits(&self, run: AuditId, notes: Vec<AuditNote>) -> Result<(), CatalogError> {
        self.run(move |transaction| {
            let now = Timestamp::now();
            for note in &notes {
                store_made(transaction, note)?;
                for name in &note.names {
                    store_finding(transaction, run, now, name, note)?;
                }
            }
            Ok(())
        })
    }

    /// Ends an audit.
    pub fn finish_audit(&self, run: AuditId) -> Result<(), CatalogError> {
        let finish = "UPDATE audit_runs SET finished_at = ?2 WHERE id = ?1";
        self.run(move |transaction| {
            sql::run(transaction, finish, params![run.0, Timestamp::now()])?;
            Ok(())
        })
    }
}

/// Stores a new digest as a scan would, without a scan to count it for.
fn store_made(transaction: &Transaction<'_>, note: &AuditNote) -> Result<(), CatalogError> {
    let AuditFinding::Made(digest, probe, racy) = note.finding else {
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
    Applier::new(transaction)?.apply_all(&mut [record])?;
    forget_summary(transaction)?;
    Ok(())
}

/// A file that is not OK gets no note: with one, the next audit would not read
/// and report it again.
fn store_finding(
    transaction: &Transaction<'_>,
    run: AuditId,
    now: Timestamp,
    name: &WorkName,
    note: &AuditNote,
) -> rusqlite::Result<()> {
    match &note.finding {
        AuditFinding::Sound | AuditFinding::Made(..) => {
            corrupted::heal(transaction, name)?;
            store_note(transaction, run, now, name, &note.state)
        }
        AuditFinding::Corrupted(digest) => {
            drop_note(transaction, name)?;
            corrupted::mark(transaction, now, name, &note.state, digest)
        }
        AuditFinding::Moved => drop_note(transaction, name),
    }
}

fn drop_note(transaction: &Transaction<'_>, (folder, name): &WorkName) -> rusqlite::Result<()> {
    let delete = "DELETE FROM audits WHERE folder = ?1 AND name = ?2";
    sql::run(transaction, delete, params![folder, blob(name)]).map(drop)
}

fn store_note(
    transaction: &Transaction<'_>,
    run: AuditId,
    now: Timestamp,
    (folder, name): &WorkName,
    state: &FileState,
) -> rusqlite::Result<()> {
    let (name, mtime, ctime) = (blob(name), state.mtime_ns, state.ctime_ns);
    let store = "INSERT OR REPLACE INTO audits (folder, name, run, audited_at, mtime_ns, ctime_ns)
         SELECT folder, name, ?3, ?4, ?5, ?6 FROM files WHERE folder = ?1 AND name = ?2";
    let values = params![folder, name, run.0, now, mtime, ctime];
    sql::run(transaction, store, values)?;
    // It was read: an error of an earlier attempt is over.
    let clear = "DELETE FROM faults WHERE folder = ?1 AND name = ?2";
    sql::run(transaction, clear, params![folder, name]).map(drop)
}

impl ReadOnly {
    /// How many live files at and below `tops` have a digest.
    pub fn coverage(&self, tops: &[FolderId]) -> Result<Coverage, CatalogError> {
        self.collect_places("covered", tops, Extent::Live)?;
        let sql =
            "SELECT count(*), count(*) FILTER (WHERE files.size = 0 OR files.digest IS NOT NULL)
               FROM temp.covered JOIN files ON files.folder = covered.folder
              WHERE files.removed_in IS NULL";
        let (files, digested) = self.connection.query_row(sql, [], two_counts)?;
        Ok(Coverage { files, digested })
    }
}
