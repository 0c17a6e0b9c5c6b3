//! Audits: reading files again to see whether they still match their digests, and
//! making the digests of files that have none. An audit runs on the same pool,
//! with the same retries, breaker and watchdog, as a scan.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::access::{OpenRoots, VolumeTops, meet_volumes, open_online};
use crate::catalog::{
    AuditCopy, AuditFinding, AuditId, AuditList, AuditNote, AuditScope, CatalogError, Exclusive,
    FileFilter, RootRow, WorkCopy, Writer, WriterHandle,
};
use crate::model::{Findings, FolderId, Limits, ScanOptions, Timestamp};
use crate::platform::VolumeTable;
use crate::scan::context::RunContext;
use crate::scan::devices::Throttle;
use crate::scan::engine::{
    AuditVerdict, Audited, Controls, Engine, Expected, Feed, InOrder, Item, ItemResult, StageEnd,
};
use crate::scan::error::ScanError;
use crate::scan::observe::{Metrics, Notice};
use crate::scan::start::{be_nice, start_engine, start_writer};

/// Files in one work item, unless they are large.
const BATCH_FILES: usize = 32;
/// Bytes after which an item takes no further file.
const BATCH_BYTES: u64 = 8 << 20;
/// How often what was found is saved.
const SAVE_EVERY: Duration = Duration::from_millis(250);

/// What is to be audited.
pub struct AuditRequest {
    /// The path that was named; empty for everything.
    pub place: PathBuf,
    /// Its folders.
    pub tops: Vec<FolderId>,
    /// Which files.
    pub filter: FileFilter,
    /// Only files that were not audited since.
    pub before: Option<Timestamp>,
    /// Make digests where there are none.
    pub baseline: bool,
    /// Priority and rate of reading.
    pub options: ScanOptions,
}

/// How an audit ended.
pub struct AuditOutcome {
    /// Whether shutdown was requested; what was found is saved.
    pub interrupted: bool,
    /// What went wrong.
    pub findings: Findings,
    /// Copies that were to be read, and bytes in them.
    pub planned: (u64, u64),
    /// Copies that were dealt with.
    pub done: u64,
    /// Files skipped because they were audited before.
    pub skipped: u64,
    /// Files skipped because their root is offline.
    pub offline: u64,
}

/// Who is told of things as they happen.
pub struct Listener<'a> {
    /// What the user should know.
    pub notify: &'a mut dyn FnMut(Notice),
    /// Every copy that was looked at.
    pub tell: &'a mut dyn FnMut(&Audited),
}

/// Audits, and hands everything found to the listener as it comes.
pub fn audit(
    catalog: Exclusive,
    request: AuditRequest,
    controls: &Controls,
    listener: Listener<'_>,
) -> Result<AuditOutcome, ScanError> {
    let Listener { notify, tell } = listener;
    let metrics = &controls.metrics;
    metrics.enter_audit();
    if request.options.nice {
        be_nice();
    }
    let run = catalog.begin_audit(&request.place)?;
    if run.resumed {
        notify(Notice::AuditResumed(run.started));
    }
    let volumes = meet_volumes(&catalog.roots()?);
    let roots = open_roots(&catalog, &request.place, &volumes, notify)?;
    let tops = VolumeTops::look(catalog.reader()?.volume_tops()?, &roots, &volumes);
    let bwlimit = request.options.bwlimit;
    let list = collect(&catalog, run.id, request, &roots)?;
    metrics.bytes_to_hash.add(list.bytes);
    metrics.files_to_audit.add(list.copies);
    if list.copies > 0 {
        notify(Notice::ToRead(list.copies, list.bytes));
    }
    let (path, algorithm) = (catalog.path().to_owned(), catalog.reader()?.algorithm()?);
    let writer = start_writer(catalog, controls)?;
    let context = Arc::new(RunContext {
        throttle: bwlimit.map(Throttle::new),
        volumes,
        tops,
        ..RunContext::new(path, writer.handle(), metrics, roots, algorithm)
    });
    let engine = start_engine(&context, &writer, controls)?;
    let source = AuditSource::new(list, run.id, writer.handle(), metrics, tell);
    let source = InOrder::new(source, &context.disks);
    work_off(engine, source, writer, &controls.limits)
}

/// Runs to the end or until shutdown, and saves everything found.
fn work_off(
    mut engine: Engine,
    mut source: InOrder<AuditSource<'_>>,
    writer: Writer,
    limits: &Limits,
) -> Result<AuditOutcome, ScanError> {
    let ended = engine.run_stage(&mut source);
    let mut source = source.feed;
    let mut saved = source.save();
    if saved.is_ok() {
        saved = writer.handle().spread_corruption();
    }
    let findings = engine.stop(Instant::now() + limits.shutdown);
    let is_whole = findings.given_up.is_empty() && source.list.offline == 0;
    if matches!(ended, Ok(StageEnd::Finished)) && is_whole && saved.is_ok() {
        saved = writer.handle().finish_audit(source.run);
    }
    // If the writer died, its own error says why.
    writer.finish()?;
    saved?;
    Ok(AuditOutcome {
        interrupted: ended? == StageEnd::Interrupted,
        findings,
        planned: (source.list.copies, source.list.bytes),
        done: source.done,
        skipped: source.list.skipped,
        offline: source.list.offline,
    })
}

fn collect(
    catalog: &Exclusive,
    run: AuditId,
    request: AuditRequest,
    roots: &OpenRoots,
) -> Result<AuditList, CatalogError> {
    let scope = AuditScope {
        tops: request.tops,
        online: roots.keys().copied().collect(),
        before: request.before,
        baseline: request.baseline,
    };
    AuditList::build(catalog.reader()?, run, &scope, request.filter)
}

/// Opens every root at, above or below a place that can be read; says which
/// cannot. The empty place is everywhere.
fn open_roots(
    catalog: &Exclusive,
    place: &Path,
    volumes: &VolumeTable,
    notify: &mut dyn FnMut(Notice),
) -> Result<OpenRoots, ScanError> {
    let is_near = |root: &RootRow| root.path.starts_with(place) || place.starts_with(&root.path);
    let roots = catalog.roots()?.into_iter().filter(is_near);
    let tell = |path, reason| notify(Notice::AuditOffline(path, reason));
    Ok(open_online(roots, volumes, tell))
}

/// Feeds the pool, and passes on what comes back.
struct AuditSource<'a> {
    list: AuditList,
    run: AuditId,
    writer: WriterHandle,
    notes: Vec<AuditNote>,
    saved: Instant,
    /// Saving failed, which is told when the next work is asked for.
    failed: Option<CatalogError>,
    done: u64,
    metrics: &'a Metrics,
    tell: &'a mut dyn FnMut(&Audited),
}

impl<'a> AuditSource<'a> {
    fn new(
        list: AuditList,
        run: AuditId,
        writer: WriterHandle,
        metrics: &'a Metrics,
        tell: &'a mut dyn FnMut(&Audited),
    ) -> Self {
        Self {
            list,
            run,
            writer,
            notes: Vec::new(),
            saved: Instant::now(),
            failed: None,
            done: 0,
            metrics,
            tell,
        }
    }

    fn save(&mut self) -> Result<(), CatalogError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.saved = Instant::now();
        let notes = std::mem::take(&mut self.notes);
        match notes.is_empty() {
            true => Ok(()),
            false => self.writer.note_audits(self.run, notes),
        }
    }

    fn count(&self, audited: &Audited) {
        self.metrics.files_audited.add(1);
        match audited.verdict {
            AuditVerdict::Corrupted(_) => self.metrics.files_corrupted.add(1),
            AuditVerdict::Sound
            | AuditVerdict::New(..)
            | AuditVerdict::Changed
            | AuditVerdict::Gone => {}
        }
    }

    fn take(&mut self, audited: Audited) {
        self.done += 1;
        self.count(&audited);
        (self.tell)(&audited);
        let finding = match (audited.verdict, audited.expected) {
            (AuditVerdict::Sound, _) => AuditFinding::Sound,
            (AuditVerdict::New(digest, probe), _) => {
                AuditFinding::Made(digest, probe, audited.racy)
            }
            (AuditVerdict::Corrupted(_), Some(expected)) => AuditFinding::Corrupted(expected),
            (AuditVerdict::Corrupted(_) | AuditVerdict::Changed | AuditVerdict::Gone, _) => {
                AuditFinding::Moved
            }
        };
        self.notes.push(AuditNote {
            names: audited.names,
            state: audited.state,
            finding,
        });
    }
}

impl Feed for AuditSource<'_> {
    type What = Expected;

    fn more(&mut self) -> Result<Vec<(Expected, WorkCopy)>, ScanError> {
        if let Some(error) = self.failed.take() {
            return Err(error.into());
        }
        let batch = self.list.next_batch(BATCH_FILES, BATCH_BYTES)?;
        let expected = |audited: AuditCopy| {
            let AuditCopy { copy, digest, racy } = audited;
            (Expected { digest, racy }, copy)
        };
        Ok(batch.into_iter().map(expected).collect())
    }

    fn limits(&self) -> (usize, u64) {
        (BATCH_FILES, BATCH_BYTES)
    }

    fn item(&self, files: Vec<(Expected, WorkCopy)>) -> Item {
        Item::audit(files)
    }

    fn visit(&self) -> fn(Vec<(Expected, WorkCopy)>) -> Item {
        Item::audit
    }

    fn accept(&mut self, found: ItemResult) {
        if let ItemResult::Audited(all) = found {
            all.into_iter().for_each(|audited| self.take(audited));
        }
        if self.saved.elapsed() >= SAVE_EVERY
            && let Err(error) = self.save()
        {
            self.failed = Some(error);
        }
    }
}
