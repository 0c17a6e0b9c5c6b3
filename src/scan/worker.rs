//! One worker's own state, and the way from an item to its report.

use std::sync::Arc;

use crate::access::Opener;
use crate::catalog::{CatalogError, ReadOnly};
use crate::pool::{WorkItem, WorkerContext};
use crate::scan::context::{ItemContext, RunContext};
use crate::scan::devices::{Pace, Turn};
use crate::scan::engine::{Item, ItemReport, Work};
use crate::scan::list::list;
use crate::scan::read::{Buffers, Sampler, read};

/// What a worker thread keeps between items.
pub(crate) struct Worker {
    run: Arc<RunContext>,
    retries: u32,
    opener: Result<Opener, Option<CatalogError>>,
    sampler: Sampler,
    chunks: Buffers,
    /// How long its reads take.
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
        run: &Arc<RunContext>,
        retries: u32,
    ) -> impl Fn() -> Self + Send + Sync + 'static {
        let run = Arc::clone(run);
        move || Self::new(Arc::clone(&run), retries)
    }

    /// A worker with a read connection of its own.
    fn new(run: Arc<RunContext>, retries: u32) -> Self {
        let opener = ReadOnly::open(&run.catalog)
            .map(|catalog| Opener::new(catalog, Arc::clone(&run.roots)))
            .map_err(Some);
        Self {
            run,
            retries,
            opener,
            sampler: Sampler::new(),
            chunks: Buffers::default(),
            pace: Pace::default(),
        }
    }

    /// Does one item.
    fn run(&mut self, work: &Work, context: &WorkerContext) -> ItemReport {
        let opener = match &mut self.opener {
            Ok(opener) => opener,
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
            // These take little, and wait for each other where they are made.
            asking if asking.is_locating() || asking.is_trial() => Turn::default(),
            reading => self.run.disks.turn(&reading.volumes(), context),
        };
        let mut item = ItemContext::new(&self.run, context, opener, &mut self.pace);
        match &work.item {
            Item::List(folder) => {
                let is_last_attempt = work.failed >= self.retries;
                list(&mut item, folder, is_last_attempt, &mut self.sampler);
            }
            Item::Read(files) => read(&mut item, files, &mut self.sampler, &mut self.chunks),
        }
        item.finish()
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
