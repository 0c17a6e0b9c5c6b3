//! Reading files again to see whether they are still what their digests say,
//! and making the digests of files that have none. Runs on the same pool, with
//! the same retries, breaker and watchdog, as a scan.

mod reading;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(super) use reading::audit_batch;

use super::access::{OpenRoot, OpenRoots};
use super::engine::{Engine, Findings, Source, StageEnd};
use super::item::{Item, ItemReport};
use super::limits::Limits;
use super::metrics::Metrics;
use super::options::{ListingOptions, ScanOptions};
use super::presence::online_state;
use super::scope::Scope;
use super::shared::Shared;
use super::shutdown::Shutdown;
use super::throttle::Throttle;
use super::{Notice, ScanError};
use crate::catalog::{
    AuditId, AuditList, AuditNote, AuditScope, CatalogError, Exclusive, FileFilter, FileState,
    NO_SCAN, ReadOnly, WorkName, Writer, WriterHandle,
};
use crate::model::{Digest, FolderId, Probe, Timestamp, now_ns};
use crate::platform::{Links, VolumeTable, lower_priority};

/// Files in one work item, unless they are large.
const BATCH_FILES: usize = 32;
/// Bytes after which an item takes no further file.
const BATCH_BYTES: u64 = 8 << 20;
/// How often what was found is saved.
const SAVE_EVERY: Duration = Duration::from_millis(250);

/// What reading a file again showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditVerdict {
    /// Its content is what its digest says.
    Sound,
    /// It had no digest, and has one now.
    New(Digest, Option<Probe>),
    /// Its content differs though its metadata does not: this is its digest.
    Rotten(Digest),
    /// It was changed since it was scanned.
    Changed,
    /// It is gone.
    Gone,
}

/// One copy that was looked at.
#[derive(Debug)]
pub struct Audited {
    /// The first of its names.
    pub path: PathBuf,
    /// What its digest should be, where there is one.
    pub expected: Option<Digest>,
    /// Size and times as scanned.
    pub state: FileState,
    /// What came of it.
    pub verdict: AuditVerdict,
    pub(super) names: Vec<WorkName>,
    pub(super) racy: bool,
}

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
    /// Files left out because they were audited before.
    pub skipped: u64,
    /// Files left out because their root is offline.
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
    limits: &Limits,
    shutdown: &Shutdown,
    metrics: &Arc<Metrics>,
    listener: Listener<'_>,
) -> Result<AuditOutcome, ScanError> {
    let Listener { notify, tell } = listener;
    if request.options.nice
        && let Err(error) = lower_priority()
    {
        tracing::warn!("cannot lower the priority: {error}");
    }
    catalog.mark_orphans()?;
    let path = catalog.path().to_owned();
    let run = catalog.begin_audit(&request.place)?;
    if run.resumed {
        notify(Notice::AuditResumed(run.started));
    }
    let roots = open_roots(&catalog, notify)?;
    let scope = AuditScope {
        tops: request.tops,
        online: roots.keys().copied().collect(),
        before: request.before,
        baseline: request.baseline,
    };
    let list = AuditList::build(ReadOnly::open(&path)?, run.id, &scope, request.filter)?;
    catalog.set_durability(limits.durability)?;
    let algorithm = catalog.reader()?.algorithm()?;
    let writer = Writer::start(catalog, limits.batch_rows, limits.batch_time)?;
    let shared = Arc::new(Shared {
        catalog: path,
        writer: writer.handle(),
        roots,
        scope: Scope::new(&ListingOptions::default())
            .map_err(|(glob, reason)| ScanError::BadGlob { glob, reason })?,
        listing: ListingOptions::default(),
        ignore_ctime: false,
        allow_empty: false,
        algorithm,
        lead: NO_SCAN,
        throttle: request.options.bwlimit.map(Throttle::new),
        own_files: Vec::new(),
        volumes: VolumeTable::new(),
        volume_rows: Mutex::default(),
        visited: Mutex::default(),
        next_comparison: AtomicI64::new(now_ns()),
    });
    metrics.bytes_to_hash.add(list.bytes);
    if list.copies > 0 {
        notify(Notice::ToRead(list.copies, list.bytes));
    }
    let mut engine = Engine::start(&shared, writer.died().clone(), limits, shutdown, metrics)?;
    let mut source = AuditSource {
        planned: (list.copies, list.bytes),
        skipped: list.skipped,
        offline: list.offline,
        list,
        run: run.id,
        writer: writer.handle(),
        notes: Vec::new(),
        saved: Instant::now(),
        failed: None,
        done: 0,
        tell,
    };
    let ended = engine.run_stage(&mut source);
    let saved = source.save();
    let findings = engine.stop(Instant::now() + limits.shutdown);
    let is_whole = findings.given_up.is_empty() && source.offline == 0;
    let finished = match (&ended, is_whole) {
        (Ok(StageEnd::Finished), true) => writer.handle().finish_audit(run.id),
        _ => Ok(()),
    };
    writer.finish()?;
    if let Some(error) = source.failed.take() {
        return Err(error.into());
    }
    saved?;
    finished?;
    Ok(AuditOutcome {
        interrupted: ended? == StageEnd::Interrupted,
        findings,
        planned: source.planned,
        done: source.done,
        skipped: source.skipped,
        offline: source.offline,
    })
}

/// Opens every root that can be read; says which cannot.
fn open_roots(catalog: &Exclusive, notify: &mut dyn FnMut(Notice)) -> Result<OpenRoots, ScanError> {
    let volumes = VolumeTable::new();
    let mut open = HashMap::new();
    for root in catalog.roots()? {
        let opened = online_state(&root, &volumes).and_then(|(dir, _)| {
            let dev = dir.stat().map_err(|error| error.to_string())?.dev;
            Ok((dir, dev))
        });
        match opened {
            Ok((dir, dev)) => {
                let links = if root.follow {
                    Links::Follow
                } else {
                    Links::Refuse
                };
                let path = root.path;
                open.insert(
                    root.id,
                    OpenRoot {
                        dir,
                        path,
                        links,
                        dev,
                    },
                );
            }
            Err(reason) => notify(Notice::AuditOffline(root.path, reason)),
        }
    }
    Ok(Arc::new(open))
}

/// Feeds the pool, and passes on what comes back.
struct AuditSource<'a> {
    list: AuditList,
    run: AuditId,
    writer: WriterHandle,
    notes: Vec<AuditNote>,
    saved: Instant,
    /// Saving failed; the writer's end says why.
    failed: Option<CatalogError>,
    planned: (u64, u64),
    done: u64,
    skipped: u64,
    offline: u64,
    tell: &'a mut dyn FnMut(&Audited),
}

impl AuditSource<'_> {
    fn save(&mut self) -> Result<(), CatalogError> {
        self.saved = Instant::now();
        match self.notes.is_empty() {
            true => Ok(()),
            false => self
                .writer
                .note_audits(self.run, std::mem::take(&mut self.notes)),
        }
    }

    fn take(&mut self, audited: Audited) {
        self.done += 1;
        (self.tell)(&audited);
        let made = match audited.verdict {
            AuditVerdict::Sound => None,
            AuditVerdict::New(digest, probe) => Some((digest, probe, audited.racy)),
            AuditVerdict::Rotten(_) | AuditVerdict::Changed | AuditVerdict::Gone => return,
        };
        self.notes.push(AuditNote {
            names: audited.names,
            state: audited.state,
            made,
        });
    }
}

impl Source for AuditSource<'_> {
    fn next(&mut self) -> Result<Option<Item>, ScanError> {
        if let Some(error) = self.failed.take() {
            return Err(error.into());
        }
        let batch = self.list.next_batch(BATCH_FILES, BATCH_BYTES)?;
        Ok((!batch.is_empty()).then_some(Item::Audit(batch)))
    }

    fn accept(&mut self, report: &mut ItemReport) {
        for audited in report.audited.drain(..) {
            self.take(audited);
        }
        // Told apart by verdict above.
        report.changed.clear();
        if self.saved.elapsed() >= SAVE_EVERY
            && let Err(error) = self.save()
        {
            self.failed = Some(error);
        }
    }
}
