//! The one thread that writes during a scan, and the handles through which
//! others send it records and tasks.

mod batcher;
mod message;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use batcher::Batcher;
use crossbeam_channel::{Receiver, Sender, bounded, select, unbounded};
use message::{BusyTime, Message};
use rusqlite::Transaction;

use crate::catalog::store::{CatalogError, Exclusive, Lock, Pause, sql};
use crate::catalog::write::backlog::Backlog;
use crate::catalog::write::records::Record;
use crate::model::FolderId;

/// The writer thread and the catalog's lock.
pub struct Writer {
    handle: WriterHandle,
    thread: JoinHandle<Result<(), CatalogError>>,
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
        let highest: i64 = sql::value(&connection, "SELECT coalesce(max(id), 0) FROM folders", [])?;
        // The backlog bounds what waits, by rows: a record can hold many.
        let (sender, receiver) = unbounded();
        let (alive, died) = bounded(0);
        let busy = Arc::new(BusyTime::default());
        let backlog = Arc::new(Backlog::default());
        let shared = (Arc::clone(&busy), Arc::clone(&backlog));
        let thread = std::thread::Builder::new()
            .name("dupescan-writer".to_owned())
            .spawn(move || {
                let (busy, backlog) = shared;
                let batcher = Batcher::new(connection, batch_rows, batch_time, busy, backlog);
                let ended = batcher.run(&receiver);
                // In this order: whoever hears of the end finds the channel closed.
                drop(receiver);
                drop(alive);
                ended
            })
            .map_err(CatalogError::io(&path))?;
        Ok(Self {
            handle: WriterHandle {
                sender,
                died,
                next_folder: Arc::new(AtomicI64::new(highest + 1)),
                backlog,
                busy,
            },
            thread,
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
        &self.handle.died
    }

    /// Commits what was sent before, moves the WAL into the main file and
    /// ends the thread. Handles that are used later get an error.
    pub fn finish(self) -> Result<(), CatalogError> {
        // If the thread has ended already, joining it gives its error.
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
        self.run(|_| Ok(()))
    }

    /// Asks for a checkpoint if it would take a while; does not wait for it.
    pub fn checkpoint(&self, pause: Pause) -> Result<(), CatalogError> {
        self.post(Message::Checkpoint(pause))
    }

    /// Runs `task` after everything sent before, in a transaction of its own,
    /// and returns its result after the commit.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Transaction<'_>) -> Result<T, CatalogError> + Send + 'static,
    ) -> Result<T, CatalogError> {
        let (value_in, value_out) = bounded(1);
        let (reply, done) = bounded(1);
        let run = Box::new(move |transaction: &Transaction<'_>| {
            let value = task(transaction)?;
            // The caller waits below; the channel has room for this value.
            value_in.send(value).map_err(|_| CatalogError::WriterGone)
        });
        self.post(Message::Task(run, reply))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Algorithm, ScanId};

    fn start(folder: &std::path::Path) -> Writer {
        let path = folder.join("catalog.db");
        let catalog = Exclusive::open_or_create(&path, "scan", Algorithm::Sha256).unwrap();
        Writer::start(catalog, 1_000, Duration::from_millis(250)).unwrap()
    }

    /// A record that breaks a constraint when it is applied.
    fn poison() -> Record {
        Record::Fault(Box::new(crate::catalog::write::records::FaultRecord {
            scan: ScanId(1),
            folder: FolderId(99),
            name: "x".into(),
            fault: crate::model::Fault::internal("test"),
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
}
