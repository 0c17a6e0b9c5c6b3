//! The rows of `scans`: one run over one root, with its stage, options and
//! counters.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::catalog::store::{CatalogError, ReadOnly, path_blob, rows, signed, unsigned};
use crate::model::{
    Algorithm, AsOf, ListingOptions, Mode, RootId, ScanCounters, ScanId, ScanOptions, ScanState,
    Stage, Timestamp, Totals,
};

/// A scan to be started.
#[derive(Debug)]
pub struct NewScan<'a> {
    /// The root.
    pub root: RootId,
    /// Path below the root for a partial scan; empty for the whole root.
    pub subpath: &'a Path,
    /// `all`, `folders`, `files` or `retry`.
    pub mode: &'a str,
    /// The digest algorithm.
    pub algorithm: Algorithm,
    /// The options.
    pub options: &'a ScanOptions,
}

/// A scan as the catalog knows it.
#[derive(Debug, Clone)]
pub struct ScanRow {
    /// Its number.
    pub id: ScanId,
    /// Its root.
    pub root: RootId,
    /// Path below the root for a partial scan; empty for the whole root.
    pub subpath: PathBuf,
    /// Its state.
    pub state: ScanState,
    /// How far it came.
    pub stage: Stage,
    /// `all`, `folders`, `files` or `retry`.
    pub mode: String,
    /// The options; `None` where they cannot be read.
    pub options: Option<ScanOptions>,
    /// What it counted.
    pub counters: ScanCounters,
    /// The groups in the whole catalog when it ended.
    pub totals: Option<Totals>,
    /// When it started.
    pub started: Timestamp,
    /// When it last committed something.
    pub updated: Timestamp,
    /// When it ended.
    pub finished: Option<Timestamp>,
}

const COLUMNS: &str = "id, root, subpath, state, stage, mode, options, folders, files, bytes,
    added, changed, ctime_only, restored, removed, probed, hashed, bytes_read, faults,
    groups, copies, reclaimable, unchecked, started_at, updated_at, finished_at";

fn scan_row(row: &Row<'_>) -> rusqlite::Result<ScanRow> {
    let count = |index| row.get(index).map(unsigned);
    let groups: Option<i64> = row.get(19)?;
    let totals = match groups {
        Some(groups) => Some(Totals {
            groups: unsigned(groups),
            copies: count(20)?,
            reclaimable: count(21)?,
            unchecked: count(22)?,
        }),
        None => None,
    };
    Ok(ScanRow {
        id: ScanId(row.get(0)?),
        root: RootId(row.get(1)?),
        subpath: rows::path(row, 2)?,
        state: rows::word(row, 3, ScanState::parse)?,
        stage: rows::word(row, 4, Stage::parse)?,
        mode: row.get(5)?,
        options: options(row, 6)?,
        counters: ScanCounters {
            folders: count(7)?,
            files: count(8)?,
            bytes: count(9)?,
            added: count(10)?,
            changed: count(11)?,
            ctime_only: count(12)?,
            restored: count(13)?,
            removed: count(14)?,
            probed: count(15)?,
            hashed: count(16)?,
            bytes_read: count(17)?,
            faults: count(18)?,
        },
        totals,
        started: Timestamp(row.get(23)?),
        updated: Timestamp(row.get(24)?),
        finished: row.get::<_, Option<i64>>(25)?.map(Timestamp),
    })
}

/// Inserts a running scan.
pub(crate) fn begin(connection: &Connection, scan: &NewScan<'_>) -> rusqlite::Result<ScanId> {
    let now = Timestamp::now().0;
    connection.execute(
        "INSERT INTO scans (root, subpath, state, stage, mode, algorithm, options,
                            started_at, updated_at)
         VALUES (?1, ?2, 'running', 'list', ?3, ?4, ?5, ?6, ?6)",
        params![
            scan.root.0,
            path_blob(scan.subpath),
            scan.mode,
            scan.algorithm.name(),
            scan.options.to_json(),
            now
        ],
    )?;
    Ok(ScanId(connection.last_insert_rowid()))
}

/// Marks a scan that a new one replaces.
pub(crate) fn supersede(connection: &Connection, scan: ScanId) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE scans SET state = 'superseded' WHERE id = ?1",
        [scan.0],
    )?;
    Ok(())
}

/// Marks scans that a killed process left running as interrupted.
pub(crate) fn mark_orphans(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE scans SET state = 'interrupted' WHERE state = 'running'",
        [],
    )?;
    Ok(())
}

/// Stores the totals of the whole catalog with a scan.
pub(crate) fn set_totals(
    connection: &Connection,
    scan: ScanId,
    totals: &Totals,
) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE scans SET groups = ?2, copies = ?3, reclaimable = ?4, unchecked = ?5
         WHERE id = ?1",
        params![
            scan.0,
            signed(totals.groups),
            signed(totals.copies),
            signed(totals.reclaimable),
            signed(totals.unchecked)
        ],
    )?;
    Ok(())
}

/// Column `index` as options.
fn options(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<ScanOptions>> {
    Ok(ScanOptions::from_json(row.get_ref(index)?.as_str()?))
}

impl ScanRow {
    /// Whether it ended after reading every file of its root again.
    fn has_read_all_again(&self) -> bool {
        let is_whole = self.subpath.as_os_str().is_empty() && self.mode == Mode::All.name();
        let rehashes = self.options.as_ref().is_some_and(|it| it.rehash);
        self.state == ScanState::Complete && is_whole && rehashes
    }
}

impl ReadOnly {
    /// Whether a root was scanned with `--ignore-ctime` since all of it was
    /// last read again: a digest may belong to an older state of its file.
    pub fn has_ignored_ctime(&self, root: RootId) -> Result<bool, CatalogError> {
        let scans = self.scans_where(&format!("root = {root} ORDER BY id"))?;
        Ok(scans.iter().fold(false, |has_ignored, scan| {
            let ignores = scan.options.as_ref().is_none_or(|it| it.ignore_ctime);
            ignores || (has_ignored && !scan.has_read_all_again())
        }))
    }

    /// The scan with this number.
    pub fn scan(&self, id: ScanId) -> Result<Option<ScanRow>, CatalogError> {
        let sql = format!("SELECT {COLUMNS} FROM scans WHERE id = ?1");
        Ok(self
            .connection
            .query_row(&sql, [id.0], scan_row)
            .optional()?)
    }

    /// Scans that are neither complete nor superseded, oldest first.
    pub fn unfinished_scans(&self) -> Result<Vec<ScanRow>, CatalogError> {
        self.scans_where("state IN ('running', 'interrupted') ORDER BY id")
    }

    /// The newest scans, newest first.
    pub fn recent_scans(&self, limit: u32) -> Result<Vec<ScanRow>, CatalogError> {
        self.scans_where(&format!("true ORDER BY id DESC LIMIT {limit}"))
    }

    /// The newest scan that counted the groups of the whole catalog.
    pub fn last_settled_scan(&self) -> Result<Option<ScanRow>, CatalogError> {
        Ok(self
            .scans_where("groups IS NOT NULL ORDER BY id DESC LIMIT 1")?
            .pop())
    }

    /// The newest complete scan of a whole root.
    pub fn last_complete_scan(&self, root: RootId) -> Result<Option<ScanRow>, CatalogError> {
        let condition = format!(
            "root = {root} AND state = 'complete' AND length(subpath) = 0
             AND mode IN ('all', 'folders') ORDER BY id DESC LIMIT 1"
        );
        Ok(self.scans_where(&condition)?.pop())
    }

    /// The options of a root's newest scan, where they can be read.
    pub fn last_options(&self, root: RootId) -> Result<Option<ScanOptions>, CatalogError> {
        let condition = format!(
            "root = {root} AND mode <> '{}' ORDER BY id DESC LIMIT 1",
            Mode::RETRY
        );
        let newest = self.scans_where(&condition)?.pop();
        Ok(newest.and_then(|scan| scan.options))
    }

    /// The scans that listed everything.
    pub fn scans_without_filters(
        &self,
        may_hide: impl Fn(&ListingOptions) -> bool,
    ) -> Result<HashSet<ScanId>, CatalogError> {
        let scans = self.scans_where("true")?.into_iter();
        let is_open = |scan: &ScanRow| {
            let options = scan.options.as_ref();
            options.is_some_and(|options| !may_hide(&options.listing))
        };
        Ok(scans.filter(is_open).map(|scan| scan.id).collect())
    }

    /// The newest scan, which answers are as of; `None` before the first.
    pub fn as_of(&self) -> Result<Option<AsOf>, CatalogError> {
        Ok(self.recent_scans(1)?.pop().map(|scan| AsOf {
            scan: scan.id,
            finished: scan.finished,
        }))
    }

    /// The catalog's digest algorithm.
    pub fn algorithm(&self) -> Result<Algorithm, CatalogError> {
        Ok(self
            .connection
            .query_row("SELECT algorithm FROM catalog", [], |row| {
                rows::algorithm(row, 0)
            })?)
    }

    fn scans_where(&self, condition: &str) -> Result<Vec<ScanRow>, CatalogError> {
        let sql = format!("SELECT {COLUMNS} FROM scans WHERE {condition}");
        let mut statement = self.connection.prepare(&sql)?;
        let rows = statement.query_map([], scan_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
