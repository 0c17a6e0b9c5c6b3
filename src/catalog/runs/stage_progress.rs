//! How far an unfinished scan has come in its stage, derived from the rows, so
//! that a scan need not keep count for it.

use rusqlite::Connection;

use super::scans::ScanRow;
use super::work::two_counts;
use crate::catalog::store::terms::{
    COMPARED, OCCUPIED, UNREAD, UNRESOLVED, same_state, several_copies, sum_of_sizes,
};
use crate::catalog::store::{CatalogError, ReadOnly, signed};
use crate::model::sampling::LARGE;
use crate::model::{Mode, Stage};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressUnit {
    /// Folders visited, of those known so far.
    Folders,
    /// Files with a probe or digest, of those that share a size.
    Files,
    /// Bytes to read of resolved files and of the saved parts of large ones, of
    /// those that share size and probe.
    Bytes,
}

impl ProgressUnit {
    /// The word used in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Folders => "folders",
            Self::Files => "files",
            Self::Bytes => "bytes",
        }
    }

    /// What is counted as a whole: `scan`, or `catalog` where all scans read
    /// together.
    pub const fn of(self) -> &'static str {
        match self {
            Self::Folders => "scan",
            Self::Files | Self::Bytes => "catalog",
        }
    }
}

/// How much of a stage is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageProgress {
    /// What is counted.
    pub unit: ProgressUnit,
    /// How much is done.
    pub done: u64,
    /// Of how much; more than zero.
    pub total: u64,
}

/// Which files a scan reads, as far as its progress depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Smallest size that is read.
    pub min_size: Option<u64>,
    /// Largest size that is read.
    pub max_size: Option<u64>,
    /// Every file, not only possible duplicates.
    pub hash_all: bool,
}

impl Wanted {
    /// What a scan reads by its options.
    pub fn by(scan: &ScanRow) -> Self {
        let options = scan.options.as_ref();
        Self {
            min_size: options.and_then(|options| options.min_size),
            max_size: options.and_then(|options| options.max_size),
            hash_all: options.is_some_and(|options| options.hash_all),
        }
    }
}

impl ReadOnly {
    /// How much of its stage a scan has done; `None` if the catalog cannot tell: while
    /// it settles, for a retry of single paths, and while nothing is known yet.
    ///
    /// Listing counts folders of the scan. Probing and hashing work on the
    /// whole catalog, and so do their figures; they take a pass over all file
    /// rows.
    pub fn stage_progress(
        &self,
        scan: &ScanRow,
        wanted: &Wanted,
    ) -> Result<Option<StageProgress>, CatalogError> {
        if scan.mode == Mode::RETRY {
            return Ok(None);
        }
        let (unit, (done, total)) = match scan.stage {
            Stage::List => (ProgressUnit::Folders, self.visited(scan)?),
            Stage::Probe => (ProgressUnit::Files, probed(&self.connection, wanted)?),
            Stage::Hash => (ProgressUnit::Bytes, hashed(&self.connection, wanted)?),
            Stage::Settle => return Ok(None),
        };
        Ok((total > 0).then_some(StageProgress { unit, done, total }))
    }

    fn visited(&self, scan: &ScanRow) -> Result<(u64, u64), CatalogError> {
        let roots = self.roots()?;
        let Some(root) = roots.iter().find(|root| root.id == scan.root) else {
            return Ok((0, 0));
        };
        if scan.subpath.as_os_str().is_empty() {
            let visited = "SELECT coalesce(sum(visited_in IS ?2), 0), count(*) FROM folders
                  WHERE root = ?1 AND removed_in IS NULL";
            let values = [root.id.0, scan.id.0];
            return Ok(self.connection.query_row(visited, values, two_counts)?);
        }
        let Some(top) = self.folder_at(&root.path.join(&scan.subpath))? else {
            return Ok((0, 0));
        };
        // UNION, not UNION ALL: a damaged catalog may have rings.
        let visited = "WITH RECURSIVE below (id) AS (
                 VALUES (?1)
                 UNION
                 SELECT folders.id FROM below JOIN folders ON folders.parent = below.id
                  WHERE folders.removed_in IS NULL)
             SELECT coalesce(sum(visited_in IS ?2), 0), count(*)
               FROM below JOIN folders USING (id)";
        let values = [top.0, scan.id.0];
        Ok(self.connection.query_row(visited, values, two_counts)?)
    }
}

fn probed(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<(u64, u64)> {
    sums(
        connection,
        wanted,
        &format!("count(*) AS total, sum(NOT {UNREAD}) AS done"),
        "true",
        "files.size",
    )
}

fn hashed(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<(u64, u64)> {
    let resolved = if wanted.hash_all {
        "files.digest IS NOT NULL".to_owned()
    } else {
        format!("NOT {UNRESOLVED}")
    };
    let saved = format!(
        "(SELECT min(saved.offset, {OCCUPIED}) FROM hash_states AS saved
           WHERE files.size >= {LARGE} AND saved.folder = files.folder AND saved.name = files.name
             AND {} AND saved.algorithm = (SELECT algorithm FROM catalog))",
        same_state("saved", "files")
    );
    let done = format!("CASE WHEN {resolved} THEN {OCCUPIED} ELSE coalesce({saved}, 0) END");
    sums(
        connection,
        wanted,
        &format!(
            "{} AS total, {} AS done",
            sum_of_sizes(OCCUPIED),
            sum_of_sizes(&done)
        ),
        "files.probe IS NOT NULL",
        "files.size, files.probe",
    )
}

/// Adds `columns` up over the groups of rows that the scan reads.
fn sums(
    connection: &Connection,
    wanted: &Wanted,
    columns: &str,
    condition: &str,
    group: &str,
) -> rusqlite::Result<(u64, u64)> {
    let having = if wanted.hash_all {
        "true".to_owned()
    } else {
        several_copies()
    };
    let sql = format!(
        "SELECT {}, {} FROM (
             SELECT {columns} FROM files JOIN folders ON folders.id = files.folder
              WHERE files.removed_in IS NULL AND {COMPARED} AND {condition}
                AND files.size BETWEEN ?1 AND ?2
              GROUP BY {group} HAVING {having})",
        sum_of_sizes("done"),
        sum_of_sizes("total")
    );
    let low = signed(wanted.min_size.unwrap_or(1).max(1));
    let high = wanted.max_size.map_or(i64::MAX, signed);
    connection.query_row(&sql, [low, high], two_counts)
}
