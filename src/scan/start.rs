//! Starting a run: priority, roots, the writer, what the workers share, and the
//! workers themselves.

use std::sync::Arc;

use super::context::{ListingContext, RunContext};
use super::devices::{Disks, Throttle};
use super::engine::{Controls, Engine, Setup};
use super::error::ScanError;
use super::first_scan::FirstScan;
use super::observe::Notice;
use super::plan::{Plan, open_roots};
use super::worker::Worker;
use crate::access::meet_volumes;
use crate::catalog::{CatalogError, Exclusive, ReadOnly, Writer};
use crate::model::{Mode, ScanId};
use crate::platform::{lower_priority, most_open_files};

/// File descriptors kept for SQLite, folders, logs and the like.
const RESERVED_FILES: u64 = 64;

/// A run whose workers wait for work.
pub(crate) struct Started {
    pub(crate) writer: Writer,
    pub(crate) shared: Arc<RunContext>,
    pub(crate) engine: Engine,
}

/// Starts the writer and the workers of a scan.
pub(crate) fn start(
    mut catalog: Exclusive,
    plan: &Plan,
    controls: &Controls,
    notify: &mut dyn FnMut(Notice),
) -> Result<Started, ScanError> {
    if plan.options.nice {
        be_nice();
    }
    let volumes = meet_volumes(&catalog.roots()?);
    let roots = open_roots(&mut catalog, plan, &volumes, notify)?;
    let path = catalog.path().to_owned();
    let algorithm = catalog.reader()?.algorithm()?;
    let first_scan = match plan.options.mode {
        Mode::All => FirstScan::begun(&plan.options, &catalog.reader()?)?,
        Mode::Folders | Mode::Files => None,
    };
    let writer = start_writer(catalog, controls)?;
    let scans = plan.roots.iter().map(|root| root.scan);
    let options = &plan.options;
    let shared = Arc::new(RunContext {
        lead: scans.max().unwrap_or(ScanId(0)),
        throttle: options.bwlimit.map(Throttle::new),
        disks: Arc::new(Disks::new(options.io)),
        files_at_once: files_at_once(controls.limits.most_workers()),
        listing: Some(ListingContext::new(
            options,
            plan.scopes()?,
            plan.allow_empty,
            &path,
        )),
        first_scan,
        volumes,
        ..RunContext::new(path, writer.handle(), &controls.metrics, roots, algorithm)
    });
    let engine = start_engine(&shared, &writer, controls)?;
    Ok(Started {
        writer,
        shared,
        engine,
    })
}

/// Starts the writer.
pub(crate) fn start_writer(catalog: Exclusive, controls: &Controls) -> Result<Writer, ScanError> {
    let limits = &controls.limits;
    catalog.set_durability(limits.durability)?;
    Ok(Writer::start(
        catalog,
        limits.batch_rows,
        limits.batch_time,
    )?)
}

/// Starts the workers.
pub(crate) fn start_engine(
    shared: &Arc<RunContext>,
    writer: &Writer,
    controls: &Controls,
) -> Result<Engine, ScanError> {
    meet_disks(shared)?;
    let setup = Setup {
        controls: controls.clone(),
        writer: writer.handle(),
        writer_died: writer.died().clone(),
        lead: shared.lead,
        disks: Arc::clone(&shared.disks),
    };
    Engine::start(setup, Worker::maker(shared, controls.limits.retries))
}

/// Gets to know the disks of the roots: how many threads are started depends on them.
fn meet_disks(shared: &RunContext) -> Result<(), CatalogError> {
    for root in ReadOnly::open(&shared.catalog)?.roots()? {
        if let Some(open) = shared.roots.get(&root.id)
            && let Ok(volume) = shared.volumes.of(&open.dir, open.dev)
        {
            shared.disks.meet(root.volume_id, &volume);
        }
    }
    Ok(())
}

/// Leaves processor and disk to other programs. Not being allowed to is no
/// reason to stop.
pub(crate) fn be_nice() {
    if let Err(error) = lower_priority() {
        tracing::warn!("cannot lower the priority: {error}");
    }
}

/// How many files one worker may have open at once, so that all workers stay
/// within the limit of the process. One is always enough to make progress.
fn files_at_once(workers: usize) -> usize {
    let each = most_open_files().saturating_sub(RESERVED_FILES) / (workers as u64).max(1);
    usize::try_from(each.saturating_sub(10).max(1)).unwrap_or(usize::MAX)
}
