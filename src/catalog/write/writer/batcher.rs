//! What the writer thread does: it collects records into transactions. Each
//! commit is a checkpoint that a resume can start from.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use rusqlite::Connection;

use super::message::{BusyTime, Message, Task};
use crate::catalog::store::{CatalogError, Wal, sql};
use crate::catalog::write::apply::Applier;
use crate::catalog::write::backlog::Backlog;
use crate::catalog::write::records::Record;

/// Results per transaction, for each page of the catalog. Rows of listings are
/// consecutive, but results are scattered: a few thousand of them touch every
/// page, and more cost little extra. On the other hand, everybody waits while the
/// last ones are written.
const RESULTS_PER_PAGE: usize = 16;
/// Most results per transaction, in batches of rows: they take memory, and a stop
/// waits until they are written.
const MOST_BATCHES: usize = 12;
/// With synchronous=NORMAL only a checkpoint makes commits survive a power
/// cut. With the time that a checkpoint itself takes on a busy disk, less than
/// 10 s of work can be lost to one.
const CHECKPOINT: Duration = Duration::from_secs(7);
/// Waking a waiting thread costs the sender more than the record itself. A writer
/// that sleeps for a moment finds several records.
const REST: Duration = Duration::from_micros(2_000);

/// What the writer does without being asked.
enum Due {
    Commit,
    Checkpoint,
}

/// Collects records into transactions.
pub(crate) struct Batcher {
    connection: Connection,
    batch_rows: usize,
    batch_time: Duration,
    pending: Vec<Record>,
    /// Pending rows of listings, and of results.
    rows: usize,
    results: usize,
    oldest: Option<Instant>,
    /// Pages of the catalog after the last commit.
    pages: usize,
    wal: Wal,
    busy: Arc<BusyTime>,
    backlog: Arc<Backlog>,
    /// Whether the last message was a record, so that more will follow soon.
    expects_more: bool,
}

impl Batcher {
    /// A batch is committed after `batch_rows` rows or `batch_time`.
    pub(crate) fn new(
        connection: Connection,
        batch_rows: usize,
        batch_time: Duration,
        busy: Arc<BusyTime>,
        backlog: Arc<Backlog>,
    ) -> Self {
        Self {
            connection,
            batch_rows,
            batch_time,
            pending: Vec::new(),
            rows: 0,
            results: 0,
            oldest: None,
            pages: 0,
            wal: Wal::new(CHECKPOINT),
            busy,
            backlog,
            expects_more: false,
        }
    }

    /// Runs until every handle is gone or the catalog fails.
    pub(crate) fn run(mut self, messages: &Receiver<Message>) -> Result<(), CatalogError> {
        self.pages = page_count(&self.connection)?;
        while let Some(message) = self.next(messages)? {
            if matches!(message, Message::Finish) {
                break;
            }
            let began = Instant::now();
            self.expects_more = matches!(message, Message::Record(_));
            self.handle(message)?;
            self.busy.add_since(began);
        }
        self.commit()?;
        self.wal.finish(&self.connection)
    }

    fn handle(&mut self, message: Message) -> Result<(), CatalogError> {
        match message {
            Message::Record(record) => self.add(record)?,
            Message::Task(task, reply) => {
                self.commit()?;
                // A caller that stopped waiting is no reason to fail.
                reply.send(self.run_task(task)).ok();
            }
            Message::Checkpoint(pause) => {
                if self.wal.is_long(pause) {
                    self.commit()?;
                    self.wal.passive(&self.connection)?;
                }
            }
            Message::Finish => {}
        }
        Ok(())
    }

    /// The next message, after doing what falls due while waiting for it;
    /// `None` when there are no more.
    fn next(&mut self, messages: &Receiver<Message>) -> Result<Option<Message>, CatalogError> {
        loop {
            if self.expects_more && messages.is_empty() {
                std::thread::sleep(REST);
                self.expects_more = false;
            }
            let Some((due, work)) = self.due() else {
                return Ok(messages.recv().ok());
            };
            // Asked first: as long as messages keep coming, waiting for one never
            // runs into the deadline.
            if due > Instant::now() {
                match messages.recv_deadline(due) {
                    Ok(message) => return Ok(Some(message)),
                    Err(RecvTimeoutError::Disconnected) => return Ok(None),
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
            let began = Instant::now();
            match work {
                Due::Commit => self.commit()?,
                Due::Checkpoint => self.wal.checkpoint_if_due(&self.connection)?,
            }
            self.busy.add_since(began);
        }
    }

    /// What falls due next, and when.
    fn due(&self) -> Option<(Instant, Due)> {
        let commit = self
            .oldest
            .map(|since| (since + self.batch_time, Due::Commit));
        let checkpoint = self.wal.due().map(|at| (at, Due::Checkpoint));
        let dues = [commit, checkpoint].into_iter().flatten();
        dues.min_by_key(|(at, _)| *at)
    }

    fn add(&mut self, record: Record) -> Result<(), CatalogError> {
        let weight = record.weight();
        self.backlog.remove(weight);
        match &record {
            Record::Files { .. } => self.results += weight,
            _ => self.rows += weight,
        }
        self.pending.push(record);
        self.oldest.get_or_insert_with(Instant::now);
        if self.rows >= self.batch_rows || self.results >= self.most_results() {
            self.commit()?;
        }
        Ok(())
    }

    /// How many results one transaction takes.
    fn most_results(&self) -> usize {
        let worthwhile = RESULTS_PER_PAGE.saturating_mul(self.pages);
        let most = MOST_BATCHES.saturating_mul(self.batch_rows);
        worthwhile.clamp(self.batch_rows, most)
    }

    fn commit(&mut self) -> Result<(), CatalogError> {
        if !self.pending.is_empty() {
            let transaction = self.connection.transaction()?;
            Applier::new(&transaction)?.apply_all(&mut self.pending)?;
            self.pages = page_count(&transaction)?;
            transaction.commit()?;
            self.pending.clear();
            let rows = std::mem::take(&mut self.rows) + std::mem::take(&mut self.results);
            self.wal.committed(rows);
        }
        self.oldest = None;
        self.wal.checkpoint_if_due(&self.connection)
    }

    fn run_task(&mut self, task: Task) -> Result<(), CatalogError> {
        let transaction = self.connection.transaction()?;
        task(&transaction)?;
        transaction.commit()?;
        self.wal.committed(1);
        Ok(())
    }
}

fn page_count(connection: &Connection) -> rusqlite::Result<usize> {
    let pages: i64 = sql::value(connection, "PRAGMA page_count", [])?;
    Ok(usize::try_from(pages).unwrap_or(0))
}

/// However the thread ends, by a panic too, nobody waits for it any longer.
impl Drop for Batcher {
    fn drop(&mut self) {
        self.backlog.close();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crossbeam_channel::{bounded, unbounded};

    use super::*;
    use crate::catalog::store::{Exclusive, Lock};
    use crate::model::{Algorithm, FolderId, ScanId};

    const CATALOG: &str = "catalog.db";

    /// A batcher for a new catalog.
    fn batcher(folder: &Path, rows: usize, time: Duration) -> (Batcher, Lock) {
        let path = folder.join(CATALOG);
        let catalog = Exclusive::open_or_create(&path, "scan", Algorithm::Sha256).unwrap();
        let (connection, lock) = catalog.into_parts();
        let (busy, backlog) = (Arc::default(), Arc::default());
        let batcher = Batcher::new(connection, rows, time, busy, backlog);
        (batcher, lock)
    }

    #[test]
    fn a_commit_falls_due_though_records_keep_coming() {
        let folder = tempfile::tempdir().unwrap();
        let time = Duration::from_millis(1);
        let (mut batcher, _lock) = batcher(folder.path(), 1_000, time);
        let (folder, scan) = (FolderId(1), ScanId(1));
        batcher.add(Record::Visited { folder, scan }).unwrap();
        assert_eq!(batcher.pages, 0);
        std::thread::sleep(2 * time);
        let (sender, receiver) = unbounded();
        let next = Message::Record(Record::Visited { folder, scan });
        sender.send(next).unwrap();
        assert!(batcher.next(&receiver).unwrap().is_some());
        assert!(batcher.pending.is_empty(), "it waits for a pause");
        assert!(batcher.pages > 0);
    }

    #[test]
    fn a_larger_catalog_takes_more_results_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (mut batcher, _lock) = batcher(folder.path(), 1_000, Duration::from_secs(1));
        let mut most = |pages: usize| {
            batcher.pages = pages;
            batcher.most_results()
        };
        assert_eq!(most(10), 1_000, "never fewer than rows");
        assert_eq!(most(100), 1_600);
        assert_eq!(most(1_000_000), 12_000, "what waits takes memory");
    }

    #[test]
    fn what_was_committed_reaches_the_main_file_though_nothing_follows() {
        let folder = tempfile::tempdir().unwrap();
        let (mut batcher, _lock) = batcher(folder.path(), 1_000, Duration::from_millis(10));
        batcher.wal = Wal::new(Duration::from_millis(20));
        let (sender, receiver) = unbounded();
        let writer = std::thread::spawn(move || batcher.run(&receiver));
        let task: Task = Box::new(|transaction| {
            transaction.execute("UPDATE catalog SET created_at = 7", [])?;
            Ok(())
        });
        let (reply, _done) = bounded(1);
        sender.send(Message::Task(task, reply)).unwrap();
        // Without its -wal a copy holds what a power cut would leave at worst.
        let copy = folder.path().join("copy.db");
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            std::fs::copy(folder.path().join(CATALOG), &copy).unwrap();
            let found = Connection::open(&copy).and_then(|copy| {
                copy.query_row("SELECT created_at FROM catalog", [], |row| {
                    row.get::<_, i64>(0)
                })
            });
            if found.is_ok_and(|created| created == 7) {
                break;
            }
            assert!(Instant::now() < deadline, "it stayed in the WAL");
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(sender);
        writer.join().unwrap().unwrap();
    }
}
