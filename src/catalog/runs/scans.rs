//! The rows of `scans`: one run over one root, with its stage, options and
//! counters.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Row, params};

use crate::catalog::store::{
    CatalogError, Exclusive, ReadOnly, path_blob, rows, signed, sql, unsigned,
};
use crate::catalog::write::set_state;
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

/// The columns that [`scan_row`] reads by number; it reads the counters by name.
const COLUMNS: &str = "id, root, subpath, state, stage, mode, options, groups, copies, reclaimable,
    unchecked, started_at, updated_at, finished_at";

fn scan_row(row: &Row<'_>) -> rusqlite::Result<ScanRow> {
    let mut counters = ScanCounters::default();
    for (name, count) in ScanCounters::NAMES.iter().zip(counters.each()) {
        *count = unsigned(row.get(*name)?);
    }
    Ok(ScanRow {
        id: row.get(0)?,
        root: row.get(1)?,
        subpath: rows::path(row, 2)?,
        state: rows::word(row, 3, ScanState::parse)?,
        stage: rows::word(row, 4, Stage::parse)?,
        mode: row.get(5)?,
        options: ScanOptions::from_json(row.get_ref(6)?.as_str()?),
        counters,
        totals: totals(row, 7)?,
        started: row.get(11)?,
        updated: row.get(12)?,
        finished: row.get(13)?,
    })
}

/// The columns from `first` on as totals; `None` before the scan ended.
fn totals(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<Totals>> {
    if row.get::<_, Option<i64>>(first)?.is_none() {
        return Ok(None);
    }
    let count = |at| row.get(first + at).map(unsigned);
    Ok(Some(Totals {
        groups: count(0)?,
        copies: count(1)?,
        reclaimable: count(2)?,
        unchecked: count(3)?,
    }))
}

impl Exclusive {
    /// Inserts a running scan.
    pub fn begin_scan(&self, scan: &NewScan<'_>) -> Result<ScanId, CatalogError> {
        let insert = "INSERT INTO scans (root, subpath, state, stage, mode, algorithm, options,
                                started_at, updated_at)
             VALUES (?1, ?2, 'running', 'list', ?3, ?4, ?5, ?6, ?6) RETURNING id";
        let values = params![
            scan.root,
            path_blob(scan.subpath),
            scan.mode,
            scan.algorithm.name(),
            scan.options.to_json(),
            Timestamp::now()
        ];
        Ok(sql::value(&self.connection, insert, values)?)
    }

    /// Marks an unfinished scan running again.
    pub fn continue_scan(&self, scan: ScanId, stage: Stage) -> Result<(), CatalogError> {
        let running = ScanState::Running;
        Ok(set_state(&self.connection, scan, running, stage)?)
    }

    /// Marks an unfinished scan that a new one replaces.
    pub fn supersede_scan(&self, scan: ScanId) -> Result<(), CatalogError> {
        let supersede = "UPDATE scans SET state = 'superseded' WHERE id = ?1";
        Ok(sql::run(&self.connection, supersede, [scan]).map(drop)?)
    }

    /// Marks scans that a killed process left running as interrupted.
    pub fn mark_orphans(&self) -> Result<(), CatalogError> {
        let interrupt = "UPDATE scans SET state = 'interrupted' WHERE state = 'running'";
        Ok(sql::run(&self.connection, interrupt, []).map(drop)?)
    }
}

/// Stores the totals of the whole catalog with a scan.
pub(crate) fn set_totals(
    connection: &Connection,
    scan: ScanId,
    totals: &Totals,
) -> rusqlite::Result<()> {
    let set = "UPDATE scans SET groups = ?2, copies = ?3, reclaimable = ?4, unchecked = ?5
         WHERE id = ?1";
    let values = params![
        scan,
        signed(totals.groups),
        signed(totals.copies),
        signed(totals.reclaimable),
        signed(totals.unchecked)
    ];
    sql::run(connection, set, values).map(drop)
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
        Ok(self.scans_where(&format!("id = {id}"))?.pop())
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

    /// Whether any scan is complete.
    pub fn has_complete_scan(&self) -> Result<bool, CatalogError> {
        let any = "SELECT EXISTS (SELECT 1 FROM scans WHERE state = 'complete')";
        Ok(sql::value(&self.connection, any, [])?)
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
        let algorithm = "SELECT algorithm FROM catalog";
        Ok(self
            .connection
            .query_row(algorithm, [], |row| rows::algorithm(row, 0))?)
    }

    /// What tells this catalog from all others, and is the same in its backups.
    pub fn identity(&self) -> Result<String, CatalogError> {
        let identity = "SELECT identity FROM catalog";
        Ok(sql::value(&self.connection, identity, [])?)
    }

    fn scans_where(&self, condition: &str) -> Result<Vec<ScanRow>, CatalogError> {
        let scans = format!("SELECT {COLUMNS}, * FROM scans WHERE {condition}");
        Ok(sql::all(&self.connection, &scans, [], scan_row)?)
    }
}
