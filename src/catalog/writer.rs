//! The one thread that writes during a scan. Records arrive through a bounded
//! channel and are committed in batches; each commit is a checkpoint that a
//! resume can start from.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, select};
use rusqlite::{Connection, Transaction};

use super::apply::Applier;
use super::backlog::Backlog;
use super::groups::RunningCount;
use super::lock::Lock;
use super::records::Record;
use super::wal::{Pause, Wal};
use super::{CatalogError, Exclusive};
use crate::model::FolderId;

/// Messages waiting for the writer; rows are bounded by the [`Backlog`].
const CHANNEL: usize = 4_096;
/// Results that count as one row of a listing. Rows of listings follow each
/// other; results lie scattered, so that each is a page to be written, and the
/// fewer transactions the fewer pages.
const RESULTS_PER_ROW: usize = 4;
/// So many results are a rush, and may wait longer for more: what comes so fast
/// is soon learned again, if it is lost.
const RUSH: usize = 5_000;
const PATIENCE_IN_A_RUSH: Duration = Duration::from_millis(750);
/// With synchronous=NORMAL only a checkpoint makes commits survive a power
/// cut. With the time that a checkpoint itself takes on a busy disk, less than
/// 10 s of work can be lost to one.
const CHECKPOINT: Duration = Duration::from_secs(7);
/// A thread that waits is woken for every record, which costs its sender more
/// than the record itself. One that rests for a moment finds several.
const REST: Duration = Duration::from_micros(2_000);

type Work = Box<dyn FnOnce(&Transaction<'_>) -> Result<(), CatalogError> + Send>;

/// A task that runs on the write connection, in a transaction of its own.
struct Task {
    run: Work,
    /// Whether it may do something to rows of files.
    touches_files: bool,
}

enum Message {
    Record(Record),
    Task(Task, Sender<Result<(), CatalogError>>),
    Flush(Sender<()>),
    /// Asks for the count of what was written, which ends with it.
    Count(Sender<Option<RunningCount>>),
    /// A stage ended.
    Checkpoint(Pause),
    /// Not left to the channel's end: a worker stuck in the kernel keeps its
    /// handle for ever.
    Finish,
}

/// The writer thread and the catalog's lock.
pub struct Writer {
    handle: WriterHandle,
    thread: JoinHandle<Result<(), CatalogError>>,
    died: Receiver<()>,
    path: PathBuf,
    _lock: Lock,
}

/// Sends records to the writer; cheap to clone, safe from any thread.
#[derive(Clone)]
pub struct WriterHandle {
    sender: Sender<Message>,
    died: Receiver<()>,
    next_folder: Arc<AtomicI64>,
    backlog: Arc<Backlog>,
    busy: Arc<BusyTime>,
}

/// How long the writer thread was at work rather than waiting for it.
#[derive(Debug, Default)]
struct BusyTime(AtomicU64);

impl BusyTime {
    fn add_since(&self, began: Instant) {
        let elapsed = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(elapsed, Ordering::Relaxed);
    }

    fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

impl Writer {
    /// Starts the thread. A transaction is committed after `batch_rows` rows
    /// or `batch_time`, whichever comes first.
    pub fn start(
        catalog: Exclusive,
        batch_rows: usize,
        batch_time: Duration,
    ) -> Result<Self, CatalogError> {
        let path = catalog.path().to_owned();
        let (connection, lock) = catalog.into_parts();
        let (highest, is_empty): (i64, bool) = connection.query_row(
            "SELECT (SELECT coalesce(max(id), 0) FROM folders),
                    NOT EXISTS (SELECT 1 FROM files)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let (sender, receiver) = bounded(CHANNEL);
        let (alive, died) = bounded(0);
        let busy = Arc::new(BusyTime::default());
        let backlog = Arc::new(Backlog::default());
        let shared = (Arc::clone(&busy), Arc::clone(&backlog));
        let thread = std::thread::Builder::new()
            .name("dupescan-writer".to_owned())
            .spawn(move || {
                let (busy, backlog) = shared;
                let mut batcher = Batcher::new(connection, batch_rows, batch_time, busy, backlog);
                batcher.count = is_empty.then(RunningCount::new);
                let ended = batcher.run(&receiver);
                // In this order: who is told of the end finds no open channel.
                drop(receiver);
                drop(alive);
                ended
            })
            .map_err(|source| CatalogError::Io {
                path: path.clone(),
                source,
            })?;
        Ok(Self {
            handle: WriterHandle {
                sender,
                died: died.clone(),
                next_folder: Arc::new(AtomicI64::new(highest + 1)),
                backlog,
                busy,
            },
            thread,
            died,
            path,
            _lock: lock,
        })
    }

    /// A handle to send records with.
    pub fn handle(&self) -> WriterHandle {
        self.handle.clone()
    }

    /// A channel that disconnects when the writer thread has ended.
    pub fn died(&self) -> &Receiver<()> {
        &self.died
    }

    /// Commits what was sent before, moves the WAL into the main file and
    /// ends the thread. Handles that live on get an error when used.
    pub fn finish(self) -> Result<(), CatalogError> {
        // Where the thread ended before, joining it gives its error.
        self.handle.post(Message::Finish).ok();
        match self.thread.join() {
            Ok(result) => result.map_err(|error| error.at(&self.path)),
            Err(_) => Err(CatalogError::WriterGone),
        }
    }
}

impl WriterHandle {
    /// Hands over a record; blocks while the writer is behind.
    pub fn send(&self, record: Record) -> Result<(), CatalogError> {
        self.backlog.add(record.weight());
        self.post(Message::Record(record))
    }

    /// Returns when everything sent before is committed.
    pub fn flush(&self) -> Result<(), CatalogError> {
        let (reply, done) = bounded(1);
        self.post(Message::Flush(reply))?;
        self.answer(&done)
    }

    /// Returns when everything sent before is committed, with the count of all
    /// rows if the catalog was empty in the beginning and nothing was done but
    /// fill it.
    pub fn flush_and_count(&self) -> Result<Option<RunningCount>, CatalogError> {
        let (reply, count) = bounded(1);
        self.post(Message::Count(reply))?;
        self.answer(&count)
    }

    /// Asks for a checkpoint if it would take a while; does not wait for it.
    pub fn checkpoint(&self, pause: Pause) -> Result<(), CatalogError> {
        self.post(Message::Checkpoint(pause))
    }

    /// Runs `task` after everything sent before, in a transaction of its own,
    /// and returns its result after the commit.
    pub(super) fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Transaction<'_>) -> Result<T, CatalogError> + Send + 'static,
    ) -> Result<T, CatalogError> {
        self.run_task(true, task)
    }

    /// As [`WriterHandle::run`], for a task that leaves all files alone.
    pub(super) fn run_beside_files<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Transaction<'_>) -> Result<T, CatalogError> + Send + 'static,
    ) -> Result<T, CatalogError> {
        self.run_task(false, task)
    }

    fn run_task<T: Send + 'static>(
        &self,
        touches_files: bool,
        task: impl FnOnce(&Transaction<'_>) -> Result<T, CatalogError> + Send + 'static,
    ) -> Result<T, CatalogError> {
        let (value_in, value_out) = bounded(1);
        let (reply, done) = bounded(1);
        let run = Box::new(move |transaction: &Transaction<'_>| {
            let value = task(transaction)?;
            // The caller waits below; the channel has room for this value.
            value_in.send(value).map_err(|_| CatalogError::WriterGone)
        });
        let task = Task { run, touches_files };
        self.post(Message::Task(task, reply))?;
        self.answer(&done)??;
        value_out.recv().map_err(|_| CatalogError::WriterGone)
    }

    /// Waits for a reply, or for the writer's end: a message that the thread
    /// never took keeps its reply channel open.
    fn answer<T>(&self, reply: &Receiver<T>) -> Result<T, CatalogError> {
        select! {
            recv(reply) -> value => value.map_err(|_| CatalogError::WriterGone),
            recv(self.died) -> _ => reply.try_recv().map_err(|_| CatalogError::WriterGone),
        }
    }

    /// An id for a folder that the catalog does not know yet.
    pub fn allocate_folder(&self) -> FolderId {
        FolderId(self.next_folder.fetch_add(1, Ordering::Relaxed))
    }

    /// How long the writer was at work so far.
    pub fn busy(&self) -> Duration {
        self.busy.get()
    }

    fn post(&self, message: Message) -> Result<(), CatalogError> {
        self.sender
            .send(message)
            .map_err(|_| CatalogError::WriterGone)
    }
}

/// What the writer does without being asked.
enum Due {
    Commit,
    Checkpoint,
}

/// Collects records into transactions.
struct Batcher {
    connection: Connection,
    batch_rows: usize,
    batch_time: Duration,
    pending: Vec<Record>,
    /// Rows in what is pending that listings touch, and that results do.
    rows: usize,
    results: usize,
    oldest: Option<Instant>,
    wal: Wal,
    /// The count of a catalog that was empty in the beginning.
    count: Option<RunningCount>,
    busy: Arc<BusyTime>,
    backlog: Arc<Backlog>,
    /// Whether the last message was a record, so that more will follow.
    is_rush: bool,
}

impl Batcher {
    fn new(
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
            wal: Wal::new(CHECKPOINT),
            count: None,
            busy,
            backlog,
            is_rush: false,
        }
    }

    /// Runs until every handle is gone or the catalog fails.
    fn run(mut self, messages: &Receiver<Message>) -> Result<(), CatalogError> {
        while let Some(message) = self.next(messages)? {
            if matches!(message, Message::Finish) {
                break;
            }
            let began = Instant::now();
            self.is_rush = matches!(message, Message::Record(_));
            self.handle(message)?;
            self.busy.add_since(began);
        }
        self.commit()?;
        self.wal.finish(&self.connection)
    }

    fn handle(&mut self, message: Message) -> Result<(), CatalogError> {
        match message {
            Message::Record(record) => self.add(record)?,
            Message::Flush(reply) => {
                self.commit()?;
                // A caller that stopped waiting is no reason to fail.
                reply.send(()).ok();
            }
            Message::Count(reply) => {
                self.commit()?;
                let count = self.count.take().filter(RunningCount::is_kept);
                reply.send(count).ok();
            }
            Message::Task(task, reply) => {
                self.commit()?;
                if task.touches_files {
                    self.count = None;
                }
                reply.send(self.run_task(task)).ok();
            }
            Message::Checkpoint(pause) => {
                if self.wal.is_long(pause) {
                    self.commit()?;
                    self.wal.checkpoint_beside_readers(&self.connection)?;
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
            if self.is_rush && messages.is_empty() {
                std::thread::sleep(REST);
                self.is_rush = false;
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
        let patience = match self.results >= RUSH {
            true => self.batch_time + PATIENCE_IN_A_RUSH,
            false => self.batch_time,
        };
        let commit = self.oldest.map(|since| (since + patience, Due::Commit));
        let checkpoint = self.wal.due().map(|at| (at, Due::Checkpoint));
        let dues = [commit, checkpoint].into_iter().flatten();
        dues.min_by_key(|(at, _)| *at)
    }

    fn add(&mut self, record: Record) -> Result<(), CatalogError> {
        let weight = record.weight();
        self.backlog.remove(weight);
        match record {
            Record::Files { .. } => self.results += weight,
            _ => self.rows += weight,
        }
        self.pending.push(record);
        self.oldest.get_or_insert_with(Instant::now);
        if self.rows + self.results / RESULTS_PER_ROW >= self.batch_rows {
            self.commit()?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), CatalogError> {
        if !self.pending.is_empty() {
            let transaction = self.connection.transaction()?;
            let count = self.count.as_mut();
            Applier::new(&transaction, count)?.apply_all(&mut self.pending)?;
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
        (task.run)(&transaction)?;
        transaction.commit()?;
        self.wal.committed(1);
        Ok(())
    }
}

/// However the thread ends, by a panic too, nobody waits for it any longer.
impl Drop for Batcher {
    fn drop(&mut self) {
        self.backlog.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{FileOutcome, FileResult, FileState};
    use crate::model::{Algorithm, ScanId};

    fn start(folder: &std::path::Path) -> Writer {
        let path = folder.join("catalog.db");
        let catalog = Exclusive::open_or_create(&path, "scan", Algorithm::Sha256).unwrap();
        Writer::start(catalog, 1_000, Duration::from_millis(250)).unwrap()
    }

    /// A record that breaks a constraint when it is applied.
    fn poison() -> Record {
        Record::Fault(Box::new(crate::catalog::FaultRecord {
            scan: ScanId(1),
            folder: FolderId(99),
            name: "x".into(),
            fault: crate::fault::Fault::internal("test"),
            attempts: 1,
            first_at: crate::model::Timestamp(0),
        }))
    }

    #[test]
    fn a_dead_writer_answers_every_caller() {
        let folder = tempfile::tempdir().unwrap();
        let writer = start(folder.path());
        let handle = writer.handle();
        handle.send(poison()).unwrap();
        // Whichever of these the thread still takes, none waits for ever.
        let callers: Vec<_> = (0..8)
            .map(|_| {
                let handle = handle.clone();
                std::thread::spawn(move || handle.flush().is_err())
            })
            .collect();
        for caller in callers {
            assert!(caller.join().unwrap());
        }
        assert!(writer.died().recv().is_err());
        assert!(handle.send(poison()).is_err());
        let error = writer.finish().unwrap_err().to_string();
        assert!(error.contains("constraint"), "{error}");
    }

    #[test]
    fn a_failed_task_leaves_the_writer_alive() {
        let folder = tempfile::tempdir().unwrap();
        let writer = start(folder.path());
        let handle = writer.handle();
        let failed = handle.run(|transaction| {
            transaction.execute("UPDATE catalog SET unsettled = 7", [])?;
            Ok(())
        });
        assert!(failed.is_err());
        handle.flush().unwrap();
        writer.finish().unwrap();
    }

    #[test]
    fn a_commit_falls_due_though_records_keep_coming() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog.db");
        let catalog = Exclusive::open_or_create(&path, "scan", Algorithm::Sha256).unwrap();
        let (connection, _lock) = catalog.into_parts();
        let (rows, time) = (1_000, Duration::from_millis(1));
        let mut batcher = Batcher::new(connection, rows, time, Arc::default(), Arc::default());
        let (folder, scan) = (FolderId(1), ScanId(1));
        batcher.add(Record::Visited { folder, scan }).unwrap();
        std::thread::sleep(2 * time);
        let (sender, receiver) = bounded(CHANNEL);
        let next = Message::Record(Record::Visited { folder, scan });
        sender.send(next).unwrap();
        assert!(batcher.next(&receiver).unwrap().is_some());
        assert!(batcher.pending.is_empty(), "it waits for a pause");
    }

    #[test]
    fn many_results_wait_longer_for_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog.db");
        let catalog = Exclusive::open_or_create(&path, "scan", Algorithm::Sha256).unwrap();
        let (connection, _lock) = catalog.into_parts();
        let time = Duration::from_millis(250);
        let rows = RUSH;
        let mut batcher = Batcher::new(connection, rows, time, Arc::default(), Arc::default());
        let mut waits = |results: usize| {
            let name = |number: usize| (FolderId(1), number.to_string().into());
            batcher
                .add(Record::Files {
                    scan: ScanId(1),
                    bytes_read: 0,
                    results: vec![FileResult {
                        names: (0..results).map(name).collect(),
                        state: FileState::default(),
                        outcome: FileOutcome::Settled { racy: false },
                    }],
                })
                .unwrap();
            let (at, _) = batcher.due().unwrap();
            at - batcher.oldest.unwrap()
        };
        assert_eq!(waits(RUSH - 1), time);
        assert_eq!(waits(1), time + PATIENCE_IN_A_RUSH);
    }

    #[test]
    fn what_was_committed_reaches_the_main_file_though_nothing_follows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog.db");
        let catalog = Exclusive::open_or_create(&path, "scan", Algorithm::Sha256).unwrap();
        let (connection, _lock) = catalog.into_parts();
        let (rows, time) = (1_000, Duration::from_millis(10));
        let mut batcher = Batcher::new(connection, rows, time, Arc::default(), Arc::default());
        batcher.wal = Wal::new(Duration::from_millis(20));
        let (sender, receiver) = bounded(CHANNEL);
        let writer = std::thread::spawn(move || batcher.run(&receiver));
        let task = Task {
            run: Box::new(|transaction| {
                transaction.execute("UPDATE catalog SET created_at = 7", [])?;
                Ok(())
            }),
            touches_files: false,
        };
        let (reply, _done) = bounded(1);
        sender.send(Message::Task(task, reply)).unwrap();
        // Without its -wal a copy holds what a power cut would leave at worst.
        let copy = folder.path().join("copy.db");
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            std::fs::copy(&path, &copy).unwrap();
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
