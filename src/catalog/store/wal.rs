//! Keeps the write-ahead log short: when to copy it into the main file, and the
//! warning when a reader prevents that.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::connection::BUSY_TIMEOUT;
use super::error::CatalogError;

/// A WAL of this size is more than a busy scan needs: a reader holds it up.
const LARGE: u64 = 256 << 20;
/// Longest wait for readers to let a large WAL start over. dupescan's own are
/// done sooner.
const PATIENCE: Duration = Duration::from_millis(100);
/// Rows whose pages take longer to write than a disk takes to sync.
const MANY_ROWS: usize = 5_000;
/// A page that changes again soon would be copied twice, so there is no
/// checkpoint after a short stage.
const SPACING: Duration = Duration::from_secs(3);
/// Bytes of a frame beside its page.
const FRAME_HEADER: u64 = 24;

/// A moment when others have enough to do without the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// Another stage follows, and changes rows again.
    Stage,
    /// Hardly any row is changed after this.
    Last,
}

/// The WAL as the one writer sees it.
pub(crate) struct Wal {
    every: Duration,
    last: Instant,
    /// Whether something was committed since the last checkpoint.
    dirty: bool,
    /// About how many rows were committed since then.
    rows: usize,
    /// The size from which a warning is due.
    warn_at: u64,
}

/// What a checkpoint found.
pub(crate) struct Found {
    busy: bool,
    bytes: u64,
}

impl Wal {
    /// Checkpoints at least this often while there is something to copy.
    pub(crate) fn new(every: Duration) -> Self {
        Self {
            every,
            last: Instant::now(),
            dirty: false,
            rows: 0,
            warn_at: LARGE,
        }
    }

    /// Counts a commit of about this many rows.
    pub(crate) fn committed(&mut self, rows: usize) {
        self.dirty = true;
        self.rows += rows;
    }

    /// When the next checkpoint is due; `None` while there is nothing to copy.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.dirty.then(|| self.last + self.every)
    }

    /// Checkpoints when it is time to.
    pub(crate) fn checkpoint_if_due(
        &mut self,
        connection: &Connection,
    ) -> Result<(), CatalogError> {
        if self.dirty && self.last.elapsed() >= self.every {
            self.checkpoint(connection)?;
        }
        Ok(())
    }

    /// Whether a checkpoint would take a while and is better done now, while others
    /// work, than at the end, when all wait for it.
    pub(crate) fn is_long(&self, pause: Pause) -> bool {
        self.rows >= MANY_ROWS && (pause == Pause::Last || self.last.elapsed() >= SPACING)
    }

    /// Copies what readers allow, now. They may be this program's own, which is no
    /// reason to warn of them or to wait.
    pub(crate) fn passive(&mut self, connection: &Connection) -> Result<Found, CatalogError> {
        self.last = Instant::now();
        self.dirty = false;
        self.rows = 0;
        run(connection, "PASSIVE")
    }

    /// Copies what readers allow. A large WAL is made to start over, since
    /// readers that follow each other closely may otherwise never let it.
    fn checkpoint(&mut self, connection: &Connection) -> Result<(), CatalogError> {
        let mut found = self.passive(connection)?;
        if found.bytes >= LARGE.min(self.warn_at) {
            connection.busy_timeout(PATIENCE)?;
            found = run(connection, "RESTART")?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
        }
        if found.busy {
            self.warn(found.bytes);
        }
        Ok(())
    }

    /// The last checkpoint: leaves an empty file. A reader's snapshot is no
    /// reason to wait: then the WAL stays for later.
    pub(crate) fn finish(&mut self, connection: &Connection) -> Result<(), CatalogError> {
        connection.busy_timeout(Duration::ZERO)?;
        run(connection, "TRUNCATE").map(drop)
    }

    /// Warns when the WAL is large, and again each time it has doubled.
    fn warn(&mut self, bytes: u64) {
        if bytes >= self.warn_at {
            self.warn_at = bytes.saturating_mul(2);
            tracing::warn!(
                event = "catalog.wal_large",
                bytes,
                "the catalog's -wal file cannot shrink while another program keeps reading the \
                 catalog in one transaction"
            );
        }
    }
}

/// Runs a checkpoint. "busy" (a reader holds an old snapshot) is an answer,
/// not an error.
fn run(connection: &Connection, kind: &str) -> Result<Found, CatalogError> {
    let began = Instant::now();
    let sql = format!("PRAGMA wal_checkpoint({kind})");
    let (busy, frames, moved): (bool, i64, i64) =
        connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    // Both are -1 where there is no WAL.
    let [frames, moved, page] = [frames, moved, page].map(|n| u64::try_from(n).unwrap_or(0));
    let bytes = frames * (page + FRAME_HEADER);
    tracing::debug!(
        event = "catalog.checkpoint",
        kind = kind.to_ascii_lowercase(),
        busy,
        frames,
        moved,
        bytes,
        elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        "checkpoint"
    );
    Ok(Found { busy, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database with a WAL, and a second connection that reads it.
    fn database(folder: &std::path::Path) -> (Connection, Connection) {
        let path = folder.join("test.db");
        let writer = Connection::open(&path).unwrap();
        writer
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x)",
            )
            .unwrap();
        let reader = Connection::open(&path).unwrap();
        (writer, reader)
    }

    fn hold(reader: &Connection) {
        reader.execute_batch("BEGIN").unwrap();
        let rows = reader.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0));
        rows.unwrap();
    }

    fn insert(writer: &Connection, wal: &mut Wal) {
        writer
            .execute("INSERT INTO t VALUES (randomblob(9000))", [])
            .unwrap();
        wal.committed(1);
    }

    #[test]
    fn a_checkpoint_is_due_only_after_a_commit() {
        let mut wal = Wal::new(Duration::ZERO);
        assert!(wal.due().is_none());
        wal.committed(1);
        assert!(wal.due().is_some());
        let folder = tempfile::tempdir().unwrap();
        let (writer, _reader) = database(folder.path());
        wal.checkpoint_if_due(&writer).unwrap();
        assert!(wal.due().is_none());
    }

    #[test]
    fn only_many_rows_are_moved_ahead_of_time_and_seldom() {
        let folder = tempfile::tempdir().unwrap();
        let (writer, _reader) = database(folder.path());
        let mut wal = Wal::new(Duration::from_secs(3_600));
        wal.committed(MANY_ROWS);
        assert!(!wal.is_long(Pause::Stage), "too soon");
        assert!(wal.is_long(Pause::Last));
        wal.last -= SPACING;
        wal.rows = MANY_ROWS - 1;
        assert!(!wal.is_long(Pause::Stage) && !wal.is_long(Pause::Last));
        wal.committed(1);
        assert!(wal.is_long(Pause::Stage));
        wal.passive(&writer).unwrap();
        assert!(!wal.is_long(Pause::Last), "nothing to copy");
        assert!(wal.due().is_none());
    }

    #[test]
    fn a_large_wal_starts_over_once_its_reader_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let (writer, reader) = database(folder.path());
        let mut wal = Wal::new(Duration::ZERO);
        wal.warn_at = 20_000;
        hold(&reader);
        for _ in 0..10 {
            insert(&writer, &mut wal);
            wal.checkpoint_if_due(&writer).unwrap();
        }
        assert!(wal.warn_at > 80_000, "it was warned of: {}", wal.warn_at);
        reader.execute_batch("COMMIT").unwrap();
        insert(&writer, &mut wal);
        wal.checkpoint_if_due(&writer).unwrap();
        insert(&writer, &mut wal);
        let left = run(&writer, "PASSIVE").unwrap();
        assert!(!left.busy && left.bytes < 30_000, "{} bytes", left.bytes);
    }
}
