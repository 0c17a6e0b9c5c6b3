//! One worker's own state, and the way from an item to its report.

use std::sync::Arc;

use crate::access::Opener;
use crate::catalog::{CatalogError, ReadOnly};
use crate::pool::{WorkItem, WorkerContext};
use crate::scan::context::Shared;
use crate::scan::devices::{Pace, Turn};
use crate::scan::engine::{Item, ItemReport, Work};
use crate::scan::list::list;
use crate::scan::read::{
    Buffers, SampleReader, audit_batch, hash_classes, probe_batch, sift_batch,
};

/// What a worker thread keeps between items.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    retries: u32,
    access: Result<Opener, Option<CatalogError>>,
    samples: SampleReader,
    chunks: Buffers,
    /// How long reading chunks takes.
    pace: Pace,
}

impl WorkItem for Work {
    type Worker = Worker;
    type Report = ItemReport;

    fn label(&self) -> &'static str {
        self.item.kind().name()
    }

    fn run(&self, worker: &mut Worker, context: &WorkerContext) -> ItemReport {
        worker.run(self, context)
    }
}

impl Worker {
    /// Makes the workers of a run.
    pub(crate) fn maker(
        shared: &Arc<Shared>,
        retries: u32,
    ) -> impl Fn() -> Self + Send + Sync + 'static {
        let shared = Arc::clone(shared);
        move || Self::new(Arc::clone(&shared), retries)
    }

    /// A worker with a read connection of its own.
    fn new(shared: Arc<Shared>, retries: u32) -> Self {
        let access = ReadOnly::open(&shared.catalog)
            .map(|catalog| Opener::new(catalog, Arc::clone(&shared.roots)))
            .map_err(Some);
        Self {
            shared,
            retries,
            access,
            samples: SampleReader::new(),
            chunks: Buffers::default(),
            pace: Pace::default(),
        }
    }

    /// Does one item.
    fn run(&mut self, work: &Work, context: &WorkerContext) -> ItemReport {
        let access = match &mut self.access {
            Ok(access) => access,
            Err(error) => {
                return ItemReport {
                    fatal: Some(error.take().unwrap_or(CatalogError::WriterGone)),
                    ..ItemReport::default()
                };
            }
        };
        panic_if_asked(work.label());
        let _turn = match &work.item {
            Item::List(_) => Turn::default(),
            reading => self.shared.disks.turn(&reading.volumes(), context),
        };
        match &work.item {
            Item::List(item) => {
                let is_last_attempt = work.failed >= self.retries;
                list(
                    access,
                    &self.shared,
                    item,
                    is_last_attempt,
                    &mut self.samples,
                    context,
                )
            }
            Item::Probe(copies) => {
                probe_batch(access, &self.shared, copies, &mut self.samples, context)
            }
            Item::Hash(classes) => {
                let (chunks, pace) = (&mut self.chunks, &mut self.pace);
                hash_classes(access, &self.shared, classes, chunks, pace, context)
            }
            Item::Sift(item) => sift_batch(access, &self.shared, item, &mut self.chunks, context),
            Item::Audit(copies) => {
                audit_batch(access, &self.shared, copies, &mut self.chunks, context)
            }
        }
    }
}

/// Lets a test see what a panic in a worker does; debug builds only.
fn panic_if_asked(label: &str) {
    let is_asked =
        || std::env::var_os("DUPESCAN_TEST_PANIC").is_some_and(|wanted| wanted == *label);
    assert!(
        !cfg!(debug_assertions) || !is_asked(),
        "asked for by DUPESCAN_TEST_PANIC"
    );
}
