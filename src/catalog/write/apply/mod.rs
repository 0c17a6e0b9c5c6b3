//! Turns a batch of records into rows, inside the writer's transaction.

mod listing;
mod results;
mod statements;

use std::sync::LazyLock;

use rusqlite::{Connection, Transaction, params};
use statements::Statements;

use crate::catalog::store::{blob, sql, terms, unsigned};
use crate::catalog::write::claims::{forget_summary, unsettle};
use crate::catalog::write::records::{FaultRecord, FolderListing, Record};
use crate::catalog::write::scan_rows::set_state;
use crate::model::{FolderId, RootId, ScanCounters, ScanId, ScanState, Timestamp};

/// Applies records to one transaction.
pub(crate) struct Applier<'t> {
    transaction: &'t Transaction<'t>,
    statements: Statements<'t>,
    /// Whether there is any fault that a success could clear.
    has_faults: bool,
    sums: Sums,
}

impl<'t> Applier<'t> {
    /// Begins a batch.
    pub(crate) fn new(transaction: &'t Transaction<'t>) -> rusqlite::Result<Self> {
        Ok(Self {
            transaction,
            statements: Statements::new(transaction)?,
            has_faults: sql::value(transaction, "SELECT EXISTS (SELECT 1 FROM faults)", [])?,
            sums: Sums::default(),
        })
    }

    /// Applies the records of a batch, in the order of the rows they touch where
    /// the order does not matter otherwise: inserts become appends, and each page
    /// is fetched once.
    pub(crate) fn apply_all(mut self, records: &mut [Record]) -> rusqlite::Result<()> {
        for run in records.chunk_by_mut(may_change_places) {
            if let [Record::Files { .. }, ..] = run {
                self.apply_results(run)?;
                continue;
            }
            // A new folder's id is higher than its parent's, whose record
            // makes the folder's row.
            run.sort_by_key(|record| listed(record).map(|listing| listing.files.folder));
            run.iter().try_for_each(|record| self.apply(record))?;
        }
        self.sums.write(self.transaction)
    }

    fn apply(&mut self, record: &Record) -> rusqlite::Result<()> {
        match record {
            Record::Listed(listing) => self.apply_listing(listing),
            Record::Part(part, volume) => {
                let set_volume = "UPDATE folders SET volume = ?2 WHERE id = ?1";
                sql::run(self.transaction, set_volume, params![part.folder, volume])?;
                self.apply_part(part)
            }
            Record::Visited { folder, scan } => visit(self.transaction, *folder, *scan),
            files @ Record::Files { .. } => self.apply_results(std::slice::from_ref(files)),
            Record::Fault(fault) => self.apply_fault(fault),
            Record::Stage { scan, stage } => {
                set_state(self.transaction, *scan, ScanState::Running, *stage)
            }
        }
    }

    /// Marks a live file as deleted; returns its size.
    fn remove_file(
        &mut self,
        scan: ScanId,
        folder: FolderId,
        name: &[u8],
    ) -> rusqlite::Result<Option<u64>> {
        self.clear_fault(folder, name)?;
        let remove = "UPDATE files SET removed_in = ?3
             WHERE folder = ?1 AND name = ?2 AND removed_in IS NULL RETURNING size";
        let values = params![folder, name, scan];
        sql::first(self.transaction, remove, values, |row| {
            row.get(0).map(unsigned)
        })
    }

    fn apply_fault(&mut self, record: &FaultRecord) -> rusqlite::Result<()> {
        let fault = &record.fault;
        self.has_faults = true;
        self.transaction
            .prepare_cached(
                "INSERT INTO faults (root, folder, name, scan, step, class, errno, attempts,
                                     first_at, last_at, message, hint)
                 VALUES ((SELECT root FROM folders WHERE id = ?1), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,
                         ?9, ?10, ?11)
                 ON CONFLICT (folder, name) DO UPDATE SET
                     scan = excluded.scan, step = excluded.step, class = excluded.class,
                     errno = excluded.errno, attempts = faults.attempts + excluded.attempts,
                     last_at = excluded.last_at, message = excluded.message, hint = excluded.hint",
            )?
            .execute(params![
                record.folder,
                blob(&record.name),
                record.scan,
                fault.step.name(),
                fault.class.name(),
                fault.errno,
                record.attempts,
                record.first_at,
                Timestamp::now(),
                fault.message,
                fault.hint(),
            ])?;
        if record.name.is_empty() {
            visit(self.transaction, record.folder, record.scan)?;
        }
        self.sums.scan(record.scan).faults += 1;
        Ok(())
    }

    fn clear_fault(&self, folder: FolderId, name: &[u8]) -> rusqlite::Result<()> {
        if self.has_faults {
            let clear = "DELETE FROM faults WHERE folder = ?1 AND name = ?2";
            sql::run(self.transaction, clear, params![folder, name])?;
        }
        Ok(())
    }
}

/// Whether two records may be applied in any order.
fn may_change_places(one: &Record, other: &Record) -> bool {
    match (one, other) {
        // Results about one file keep their order, see `apply_results`.
        (Record::Files { .. }, Record::Files { .. }) => true,
        _ => listed(one).is_some() && listed(other).is_some(),
    }
}

/// The listing in a record whose order among others does not matter.
fn listed(record: &Record) -> Option<&FolderListing> {
    match record {
        Record::Listed(listing) if listing.is_independent() => Some(listing),
        _ => None,
    }
}

fn visit(connection: &Connection, folder: FolderId, scan: ScanId) -> rusqlite::Result<()> {
    let visit = "UPDATE folders SET visited_in = ?2 WHERE id = ?1";
    sql::run(connection, visit, params![folder, scan]).map(drop)
}

/// A folder and all folders below it, including deleted ones.
pub(crate) fn subtree(connection: &Connection, top: FolderId) -> rusqlite::Result<Vec<FolderId>> {
    let below = "WITH RECURSIVE below (id) AS (
             VALUES (?1)
             UNION ALL
             SELECT folders.id FROM below JOIN folders ON folders.parent = below.id)
         SELECT id FROM below";
    sql::all(connection, below, [top], |row| row.get(0))
}

/// Sums that would cost one row update per record; written once per
/// transaction instead.
#[derive(Debug, Default)]
struct Sums {
    // A transaction concerns a few scans and roots, and every row is counted:
    // searching a short list is faster than hashing.
    scans: Vec<(ScanId, ScanCounters)>,
    roots: Vec<(RootId, RootDelta)>,
    unsettled: bool,
    has_regrouped: bool,
}

/// How much the live files of a root changed.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RootDelta {
    pub(crate) folders: i64,
    pub(crate) files: i64,
    /// Sizes of many files can be more than an integer of SQLite holds.
    pub(crate) bytes: i128,
}

impl RootDelta {
    /// Adds it to the counters of a root. Bytes stop at the largest integer; what
    /// is left when files go again is then counted.
    pub(crate) fn add_to(self, connection: &Connection, root: RootId) -> rusqlite::Result<()> {
        let add = "UPDATE roots SET folders = folders + ?2, files = files + ?3, bytes = ?4
             WHERE id = ?1";
        let bytes: i64 = sql::value(connection, "SELECT bytes FROM roots WHERE id = ?1", [root])?;
        let bytes = match bytes {
            i64::MAX if self.bytes < 0 => sql::value(connection, &LIVE_BYTES, [root])?,
            bytes => i64::try_from(i128::from(bytes) + self.bytes).unwrap_or(i64::MAX),
        };
        sql::run(
            connection,
            add,
            params![root, self.folders, self.files, bytes],
        )
        .map(drop)
    }
}

/// The bytes of the live files of a root, as they are now.
static LIVE_BYTES: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM folders JOIN files ON files.folder = folders.id
          WHERE folders.root = ?1 AND files.removed_in IS NULL",
        terms::sum_of_sizes("size")
    )
});

/// The sums of one scan or root.
fn sum_of<K: PartialEq, V: Default>(sums: &mut Vec<(K, V)>, of: K) -> &mut V {
    let at = sums.iter().position(|(key, _)| *key == of);
    let at = at.unwrap_or_else(|| {
        sums.push((of, V::default()));
        sums.len() - 1
    });
    &mut sums[at].1
}

impl Sums {
    fn scan(&mut self, scan: ScanId) -> &mut ScanCounters {
        sum_of(&mut self.scans, scan)
    }

    fn root(&mut self, root: RootId) -> &mut RootDelta {
        sum_of(&mut self.roots, root)
    }

    fn count_removed(&mut self, scan: ScanId, root: RootId, gone: Option<u64>) {
        if let Some(size) = gone {
            self.has_regrouped = true;
            self.scan(scan).removed += 1;
            let delta = self.root(root);
            delta.files -= 1;
            delta.bytes -= i128::from(size);
        }
    }

    fn write(self, connection: &Connection) -> rusqlite::Result<()> {
        for (scan, counters) in self.scans {
            counters.add_to(connection, scan)?;
        }
        for (root, delta) in self.roots {
            delta.add_to(connection, root)?;
        }
        if self.has_regrouped {
            forget_summary(connection)?;
        }
        if self.unsettled {
            unsettle(connection)?;
        }
        Ok(())
    }
}
