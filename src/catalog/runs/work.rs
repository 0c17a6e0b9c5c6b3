//! Copies to be read, on their way out of the catalog. They are collected in a
//! temporary table once and read back in pages, so that no statement stays open
//! while files are read and memory does not grow with their number.

use rusqlite::{Connection, Row};

use crate::catalog::store::terms::{self, CopyColumns, OCCUPIED};
use crate::catalog::store::{rows, unsigned};
use crate::catalog::write::WorkName;
use crate::model::{CopyId, FileState, VolumeId, occupied};

/// One copy to be opened, under all the names that share its state.
#[derive(Debug, Clone)]
pub struct WorkCopy {
    /// Its names; at least one.
    pub names: Vec<WorkName>,
    /// The state the catalog holds.
    pub state: FileState,
    /// Bytes that have to be read for all of it: holes need not be.
    pub to_read: u64,
    /// Its volume.
    pub volume: VolumeId,
}

impl WorkCopy {
    /// Whether another one is the same file in the same state, under other names.
    pub fn is_same_file(&self, other: &Self) -> bool {
        CopyId::is_shared(self.id(), other.id()) && self.state == other.state
    }

    /// What copies are sorted by before they are read; `READ_ORDER` in SQL.
    pub fn read_order(&self) -> impl Ord + use<> {
        // Signed, as SQLite compares them.
        (self.volume, self.state.ino.map(u64::cast_signed))
    }

    fn id(&self) -> Option<CopyId> {
        CopyId::of(Some(self.volume), self.state.ino)
    }

    /// Adds its names to `last` if both are the same file; returns it otherwise.
    pub(crate) fn join(self, last: Option<&mut Self>) -> Option<Self> {
        match last {
            Some(last) if last.is_same_file(&self) => {
                last.names.extend(self.names);
                None
            }
            _ => Some(self),
        }
    }
}

/// The columns that every table of work has; `id` is in front of them.
const COLUMNS: &str = "volume, folder, name, size, mtime_ns, ctime_ns, ino, allocated";
/// The number of columns that [`work_copy`] reads, `id` included.
pub(crate) const WIDTH: usize = 9;

/// A temporary table of work, with columns of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkTable {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static str,
}

impl WorkTable {
    pub(crate) fn create(&self, connection: &Connection) -> rusqlite::Result<()> {
        let Self { name, columns } = self;
        connection.execute_batch(&format!(
            "DROP TABLE IF EXISTS temp.{name};
             CREATE TEMP TABLE {name} (id INTEGER PRIMARY KEY, {COLUMNS}, {columns});"
        ))
    }

    /// The beginning of a statement that fills the table from `files` and
    /// `folders`, with `values` for the table's own columns.
    pub(crate) fn insert(&self, values: &str) -> String {
        let Self { name, columns } = self;
        let state = terms::state_of("files");
        format!(
            "INSERT INTO temp.{name} ({COLUMNS}, {columns})
             SELECT folders.volume, files.folder, files.name, {state}, files.allocated, {values}"
        )
    }

    /// Selects the rows of the next page.
    pub(crate) fn page(&self) -> String {
        let Self { name, columns } = self;
        format!(
            "SELECT id, {COLUMNS}, {columns} FROM temp.{name}
              WHERE id > ?1 ORDER BY id LIMIT ?2"
        )
    }

    /// The number of copies in the table, and the bytes to read of them.
    pub(crate) fn copies(&self, connection: &Connection) -> rusqlite::Result<(u64, u64)> {
        // Rows of one copy are names of one file: it is read once.
        let copy = CopyColumns::of("volume", "ino");
        let sql = format!(
            "SELECT count(*), {} FROM (
                 SELECT {OCCUPIED} AS bytes FROM temp.{} AS files GROUP BY {}, size)",
            terms::sum_of_sizes("bytes"),
            self.name,
            copy.key(&["id"])
        );
        connection.query_row(&sql, [], two_counts)
    }
}

/// Makes a temporary table of numbers, which statements look values up in.
pub(crate) fn number_table(
    connection: &Connection,
    table: &str,
    column: &str,
    numbers: impl Iterator<Item = i64>,
) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "DROP TABLE IF EXISTS temp.{table};
         CREATE TEMP TABLE {table} ({column} INTEGER PRIMARY KEY);"
    ))?;
    let mut insert =
        connection.prepare(&format!("INSERT OR IGNORE INTO temp.{table} VALUES (?1)"))?;
    for number in numbers {
        insert.execute([number])?;
    }
    Ok(())
}

/// One name of a copy, from the columns that every table of work has.
pub(crate) fn work_copy(row: &Row<'_>) -> rusqlite::Result<WorkCopy> {
    let state = rows::state(row, 4)?;
    Ok(WorkCopy {
        names: vec![(row.get(2)?, rows::name(row, 3)?)],
        to_read: occupied(state.size, unsigned(row.get(WIDTH - 1)?)),
        state,
        volume: row.get(1)?,
    })
}

pub(crate) fn two_counts(row: &Row<'_>) -> rusqlite::Result<(u64, u64)> {
    Ok((unsigned(row.get(0)?), unsigned(row.get(1)?)))
}
