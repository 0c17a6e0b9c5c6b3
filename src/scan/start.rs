//! Starting a run: priority, roots, the writer, what the workers share, and the
//! workers themselves.

use std::path::Path;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};

use super::context::Shared;
use super::devices::{Disks, Throttle};
use super::engine::{Controls, Engine, Setup};
use super::error::ScanError;
use super::observe::Notice;
use super::plan::{Plan, open_roots};
use super::read::{Probed, Sizes};
use super::scope::Scope;
use super::worker::Worker;
use crate::catalog::{Exclusive, Writer, own_files};
use crate::model::{Mode, ScanId, now_ns};
use crate::platform::{FileId, VolumeTable, lower_priority, most_open_files};

/// File descriptors kept for SQLite, folders, logs and the like.
const RESERVED_FILES: u64 = 64;

/// A run whose workers wait for work.
pub(crate) struct Started {
    pub(crate) writer: Writer,
    pub(crate) shared: Arc<Shared>,
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
    let roots = open_roots(&mut catalog, plan, notify)?;
    let path = catalog.path().to_owned();
    let algorithm = catalog.reader()?.algorithm()?;
    let is_first_scan = plan.options.mode == Mode::All && !catalog.reader()?.has_files()?;
    let writer = start_writer(catalog, controls)?;
    let (own_files, own_folder) = files_of_catalog(&path);
    let scans = plan.roots.iter().map(|root| root.scan);
    let shared = Arc::new(Shared {
        catalog: path,
        writer: writer.handle(),
        metrics: Arc::clone(&controls.metrics),
        roots: Arc::new(roots),
        scope: Scope::new(&plan.options.listing)
            .map_err(|(glob, reason)| ScanError::BadGlob { glob, reason })?,
        listing: plan.options.listing.clone(),
        ignore_ctime: plan.options.ignore_ctime,
        allow_empty: plan.allow_empty,
        algorithm,
        lead: scans.max().unwrap_or(ScanId(0)),
        throttle: plan.options.bwlimit.map(Throttle::new),
        files_at_once: files_at_once(controls.limits.most_workers()),
        own_folder,
        own_files,
        volumes: VolumeTable::new(),
        volume_rows: Mutex::default(),
        visited: Mutex::default(),
        next_comparison: AtomicI64::new(now_ns()),
        disks: Arc::new(Disks::new(plan.options.io)),
        sizes: is_first_scan.then(|| Sizes::new(&plan.options)),
        // With `hash_all` files that are alone in their class are read too.
        probed: (is_first_scan && !plan.options.hash_all).then(Probed::new),
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
    shared: &Arc<Shared>,
    writer: &Writer,
    controls: &Controls,
) -> Result<Engine, ScanError> {
    let setup = Setup {
        controls: controls.clone(),
        writer: writer.handle(),
        writer_died: writer.died().clone(),
        lead: shared.lead,
        disks: Arc::clone(&shared.disks),
    };
    Engine::start(setup, Worker::maker(shared, controls.limits.retries))
}

/// Leaves processor and disk to other programs. Not being allowed to is no
/// reason to stop.
pub(crate) fn be_nice() {
    if let Err(error) = lower_priority() {
        tracing::warn!("cannot lower the priority: {error}");
    }
}

/// The files of the catalog, and the folder it is in.
fn files_of_catalog(path: &Path) -> (Vec<FileId>, Option<FileId>) {
    // SQLite keeps its other files beside what a link leads to.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let files = own_files(&path);
    let files = files.iter().filter_map(|file| FileId::of_path(file).ok());
    let folder = path
        .parent()
        .and_then(|folder| FileId::of_path(folder).ok());
    (files.collect(), folder)
}

/// How many files one worker may have open at once, so that all workers stay
/// within the limit of the process. One is always enough to make progress.
fn files_at_once(workers: usize) -> usize {
    let each = most_open_files().saturating_sub(RESERVED_FILES) / (workers as u64).max(1);
    usize::try_from(each.saturating_sub(10).max(1)).unwrap_or(usize::MAX)
}
