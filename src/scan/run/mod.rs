//! One run from the first folder to the summary: list, probe, hash, settle.

mod summary;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::context::RunContext;
use super::engine::{
    Controls, Engine, InOrder, ListSource, ListStart, Place, Probes, Seeds, Source, StageEnd,
    Undone, Whole,
};
use super::error::ScanError;
use super::first_scan::FirstScan;
use super::observe::{Notice, events};
use super::plan::{Plan, RootPlan};
use super::read::{Classes, HashSource};
use super::start::{Started, start};
use crate::access::join;
use crate::catalog::{
    Candidates, CatalogError, Exclusive, FolderPaths, Pause, ProgressUnit, ReadOnly, Record,
    Selection, Wanted, WorkCopy, Writer, WriterHandle,
};
use crate::model::{
    Fault, Mode, NotCompared, Outcome, ScanCounters, ScanId, ScanOptions, ScanState, Stage, Step,
    Summary, Timing, Totals,
};
use crate::platform::give_back_memory;
use summary::summarise;

/// Files that change while they are read get this many chances in one run.
const PASSES: u32 = 3;

/// Runs a plan to its end or until shutdown. Whatever happens, everything
/// learned is in the catalog afterwards.
pub fn run(
    catalog: Exclusive,
    plan: &Plan,
    controls: &Controls,
    notify: &mut dyn FnMut(Notice),
) -> Result<Outcome, ScanError> {
    let began = Instant::now();
    let path = catalog.path().to_owned();
    let Started {
        writer,
        shared,
        engine,
    } = start(catalog, plan, controls, notify)?;
    let mut run = Run {
        plan,
        scans: plan.roots.iter().map(|root| root.scan).collect(),
        controls,
        path,
        writer: writer.handle(),
        shared,
        engine,
        stage: Stage::List,
        has_probed: false,
        adopted: 0,
        unmatched: Vec::new(),
        summary: None,
        whole: None,
        not_compared: None,
        timing: Timing::default(),
        notify,
    };
    run.announce();
    let ended = run.stages();
    run.close(writer, began, ended)
}

/// The state of a run between its stages.
struct Run<'a> {
    plan: &'a Plan,
    scans: Vec<ScanId>,
    controls: &'a Controls,
    path: PathBuf,
    writer: WriterHandle,
    shared: Arc<RunContext>,
    engine: Engine,
    stage: Stage,
    has_probed: bool,
    adopted: u64,
    unmatched: Vec<String>,
    summary: Option<Summary>,
    whole: Option<Totals>,
    not_compared: Option<NotCompared>,
    timing: Timing,
    notify: &'a mut dyn FnMut(Notice),
}

impl Run<'_> {
    /// Tells the log what is about to be done.
    fn announce(&self) {
        self.controls.metrics.enter(Stage::List);
        for root in &self.plan.roots {
            let resumed = matches!(root.seeds, Some(Seeds::Unfinished(_)));
            if let Some(open) = self.shared.roots.get(&root.root) {
                events::scan_begin(root.scan, &open.path, self.options().mode.name(), resumed);
            }
        }
    }

    /// The stages in order.
    fn stages(&mut self) -> Result<StageEnd, ScanError> {
        match self.all_stages() {
            // A long query that shutdown stopped.
            Err(ScanError::Catalog(error)) if error.is_interrupted() => Ok(StageEnd::Interrupted),
            other => other,
        }
    }

    fn all_stages(&mut self) -> Result<StageEnd, ScanError> {
        let listed = self.list()?;
        let resolved = match self.options().mode {
            Mode::All | Mode::Files if listed == StageEnd::Finished => self.resolve()?,
            _ => listed,
        };
        match resolved {
            StageEnd::Finished => self.settle(),
            StageEnd::Interrupted => Ok(StageEnd::Interrupted),
        }
    }

    fn options(&self) -> &ScanOptions {
        &self.plan.options
    }

    /// Lists root after root.
    fn list(&mut self) -> Result<StageEnd, ScanError> {
        let plan = self.plan;
        for root in &plan.roots {
            let Some(seeds) = root.seeds.clone() else {
                continue;
            };
            self.shared.listing().forget_visits();
            let start = ListStart {
                scan: root.scan,
                root: root.root,
                volume: root.volume,
                start_depth: root.start_depth,
            };
            let mut source = ListSource::new(start, seeds, self.reader()?, self.writer.clone());
            events::stage_begin(root.scan, Stage::List, None, None);
            if self.run_stage(root.scan, &mut source)? == StageEnd::Interrupted {
                return Ok(StageEnd::Interrupted);
            }
        }
        let is_whole = |root: &RootPlan| matches!(root.seeds, Some(Seeds::Folders(_)));
        if !plan.roots.is_empty() && plan.roots.iter().all(is_whole) {
            self.unmatched = self.shared.listing().unmatched();
        }
        for (path, fstype) in self.engine.faults.findings.skipped.clone() {
            (self.notify)(Notice::Skipped(path, fstype));
        }
        Ok(StageEnd::Finished)
    }

    /// Probes and hashes until nothing that can be resolved is left. Files
    /// that change underneath get another pass.
    fn resolve(&mut self) -> Result<StageEnd, ScanError> {
        // Workers look up the paths of folders that others listed.
        self.writer.flush()?;
        let is_settled = self.reader()?.is_settled()?;
        if is_settled && !self.options().hash_all {
            return Ok(StageEnd::Finished);
        }
        self.enter(Stage::Probe)?;
        if self.shared.first_scan.is_none() {
            self.adopted = self
                .writer
                .adopt(self.scans.clone(), self.options().ignore_ctime)?;
        }
        for pass in 1..=PASSES {
            self.engine.faults.undone = Undone::default();
            if self.probe()? == StageEnd::Interrupted || self.hash()? == StageEnd::Interrupted {
                return Ok(StageEnd::Interrupted);
            }
            let undone = &self.engine.faults.undone;
            let is_back = undone.is_held && self.engine.faults.findings.given_up.is_empty();
            if undone.changed.is_empty() && !is_back {
                break;
            }
            if pass == PASSES {
                self.give_up_changing()?;
            }
        }
        Ok(StageEnd::Finished)
    }

    fn probe(&mut self) -> Result<StageEnd, ScanError> {
        self.enter(Stage::Probe)?;
        let (lead, disks) = (self.shared.lead, Arc::clone(&self.shared.disks));
        if let Some(deferred) = self.take_deferred() {
            let files = deferred.len() as u64;
            self.controls.metrics.candidates.add(files);
            events::stage_begin(lead, Stage::Probe, Some(files), None);
            let probes = Probes::deferred(deferred, self.whole());
            return self.run_stage(lead, &mut InOrder::new(probes, &disks));
        }
        let candidates = self.candidates(Candidates::to_probe)?;
        self.controls.metrics.candidates.add(candidates.files);
        events::stage_begin(lead, Stage::Probe, Some(candidates.files), None);
        let probes = Probes::of_catalog(candidates, self.whole());
        self.run_stage(lead, &mut InOrder::new(probes, &disks))
    }

    /// Which files are read whole at once where a head moves.
    fn whole(&self) -> Whole {
        match self.options().hash_all {
            true => Whole::All,
            false => Whole::Short,
        }
    }

    /// What a first scan has to probe after the listing: in memory, unless it
    /// was too much. Later passes ask the catalog.
    fn take_deferred(&mut self) -> Option<Vec<WorkCopy>> {
        if std::mem::replace(&mut self.has_probed, true) {
            return None;
        }
        self.shared.first_scan.as_ref()?.take_candidates()
    }

    fn hash(&mut self) -> Result<StageEnd, ScanError> {
        self.enter(Stage::Hash)?;
        if self.is_some_root_offline()? {
            let online = self.shared.roots.keys().copied().collect();
            self.writer.reopen_offline(online)?;
        }
        let memory = self.shared.first_scan.as_ref();
        let remembered = memory.and_then(FirstScan::take_classes);
        let classes = match remembered {
            Some(classes) => Classes::of(classes),
            None => Classes::from(self.candidates(Candidates::to_hash)?),
        };
        if classes.files > 0 {
            self.count_read_before(classes.bytes)?;
            self.controls.metrics.bytes_to_hash.add(classes.bytes);
            (self.notify)(Notice::ToRead(classes.files, classes.bytes));
        }
        let (lead, files) = (self.shared.lead, classes.files);
        events::stage_begin(lead, Stage::Hash, Some(files), Some(classes.bytes));
        let limits = &self.controls.limits;
        let mut source = HashSource::new(classes, Arc::clone(&self.shared), limits);
        self.run_stage(lead, &mut source)
    }

    /// Lets a resumed scan show how far it has come as a whole, given how much is
    /// left to read: progress must not begin again with every resume.
    fn count_read_before(&mut self, left: u64) -> Result<(), ScanError> {
        let is_resumed = |root: &RootPlan| matches!(root.seeds, Some(Seeds::Unfinished(_)));
        let is_first_pass = self.controls.metrics.bytes_to_hash.get() == 0;
        if !is_first_pass || !self.plan.roots.iter().any(is_resumed) {
            return Ok(());
        }
        self.writer.flush()?;
        let lead = self.shared.lead;
        let progress = self.timed_query(|run| {
            let catalog = run.reader()?;
            let scans = catalog.unfinished_scans()?;
            match scans.iter().find(|scan| scan.id == lead) {
                Some(scan) => catalog.stage_progress(scan, &Wanted::by(scan)),
                None => Ok(None),
            }
        })?;
        let all = progress.filter(|progress| progress.unit == ProgressUnit::Bytes);
        let before = all.map_or(0, |all| all.total.saturating_sub(left));
        self.controls.metrics.bytes_hashed_before.add(before);
        Ok(())
    }

    /// Runs a stage, between its two events.
    fn run_stage(&mut self, scan: ScanId, source: &mut dyn Source) -> Result<StageEnd, ScanError> {
        let began = Instant::now();
        let ended = self.engine.run_stage(source);
        self.timing.add_stage(self.stage, began.elapsed());
        let is_finished = matches!(ended, Ok(StageEnd::Finished));
        events::stage_end(scan, self.stage, began.elapsed(), is_finished);
        ended
    }

    /// Asks the catalog what is to be read next, once everything learned so far
    /// is in it.
    fn candidates(
        &mut self,
        select: impl FnOnce(ReadOnly, &Selection) -> Result<Candidates, CatalogError>,
    ) -> Result<Candidates, CatalogError> {
        self.writer.flush()?;
        self.timed_query(|run| select(run.reader()?, &run.selection()))
    }

    /// Asks the catalog something that takes time.
    fn timed_query<T>(
        &mut self,
        query: impl FnOnce(&Self) -> Result<T, CatalogError>,
    ) -> Result<T, CatalogError> {
        let began = Instant::now();
        let answer = query(self);
        self.timing.queries += began.elapsed();
        answer
    }

    fn is_some_root_offline(&self) -> Result<bool, CatalogError> {
        let roots = self.reader()?.roots()?;
        Ok(roots
            .iter()
            .any(|root| !self.shared.roots.contains_key(&root.id)))
    }

    /// Files that changed in every pass become dead letters.
    fn give_up_changing(&mut self) -> Result<(), ScanError> {
        let (reader, mut paths) = (self.reader()?, FolderPaths::default());
        for name in std::mem::take(&mut self.engine.faults.undone.changed) {
            let fault = Fault::changed(Step::Read);
            let (root, folder) = paths.get(&reader, name.0)?;
            if let Some(root) = self.shared.roots.get(&root) {
                let path = join(&root.path, &folder).join(&name.1);
                events::item_failed(&path, &fault, PASSES);
            }
            let place = Place::of_name(&name);
            self.engine.faults.record(place, fault, PASSES)?;
        }
        self.writer.flush()?;
        Ok(())
    }

    /// Adds up, and completes the scans.
    fn settle(&mut self) -> Result<StageEnd, ScanError> {
        self.enter(Stage::Settle)?;
        let began = Instant::now();
        self.writer.flush()?;
        self.writer.checkpoint(Pause::Last)?;
        events::stage_begin(self.shared.lead, Stage::Settle, None, None);
        let ended = self.add_up().map(|()| StageEnd::Finished);
        self.timing.add_stage(Stage::Settle, began.elapsed());
        events::stage_end(
            self.shared.lead,
            Stage::Settle,
            began.elapsed(),
            ended.is_ok(),
        );
        ended
    }

    fn add_up(&mut self) -> Result<(), ScanError> {
        let mut summary = match self.reader()?.kept_summary()? {
            Some(kept) => kept,
            None => {
                // All rows are about to be counted, which takes the most
                // memory of all, and the stages have left theirs behind.
                give_back_memory();
                self.timed_query(|run| summarise(run.reader()?, Vec::new()))?
            }
        };
        let (cut_off, done) = self.scans.iter().partition(|scan| self.is_cut_off(**scan));
        self.writer.complete(done, summary.clone())?;
        self.interrupt(&cut_off)?;
        if let Some(places) = self.scanned_part()? {
            self.whole = Some(summary.totals);
            summary = self.timed_query(|run| summarise(run.reader()?, places))?;
        }
        self.summary = Some(summary);
        if !self.options().sizes().is_open() {
            self.not_compared = self.reader()?.not_compared()?;
        }
        Ok(())
    }

    /// The folders that were scanned; `None` if they are all that is in the catalog.
    fn scanned_part(&self) -> Result<Option<Vec<PathBuf>>, CatalogError> {
        let reader = self.reader()?;
        let (mut others, mut places) = (reader.roots()?, Vec::new());
        for root in &self.plan.roots {
            let scan = reader.scan(root.scan)?;
            let below = scan.map(|scan| scan.subpath).unwrap_or_default();
            if let Some(open) = self.shared.roots.get(&root.root) {
                places.push(join(&open.path, &below));
            }
            if below.as_os_str().is_empty() {
                others.retain(|other| other.id != root.root);
            }
        }
        Ok((!others.is_empty()).then_some(places))
    }

    /// Whether a device that was given up left a scan unfinished.
    fn is_cut_off(&self, scan: ScanId) -> bool {
        let findings = &self.engine.faults.findings;
        let lies_on_it = |volume| {
            let mut roots = self.plan.roots.iter();
            roots.any(|root| root.scan == scan && root.volume == volume)
        };
        !findings.given_up.is_empty()
            && (self.engine.faults.held_scans.contains(&scan)
                || findings
                    .given_up
                    .iter()
                    .any(|(volume, ..)| lies_on_it(*volume)))
    }

    fn interrupt(&self, scans: &[ScanId]) -> Result<(), CatalogError> {
        for scan in scans {
            self.writer
                .set_scan(*scan, ScanState::Interrupted, self.stage)?;
        }
        Ok(())
    }

    fn enter(&mut self, stage: Stage) -> Result<(), CatalogError> {
        if self.stage == stage {
            return Ok(());
        }
        self.stage = stage;
        self.controls.metrics.enter(stage);
        for scan in &self.scans {
            self.writer.send(Record::Stage { scan: *scan, stage })?;
        }
        self.writer.checkpoint(Pause::Stage)
    }

    fn selection(&self) -> Selection {
        Selection {
            min_size: self.options().min_size,
            max_size: self.options().max_size,
            hash_all: self.options().hash_all,
            online: self.shared.roots.keys().copied().collect(),
            sizes: self.plan.sizes.clone(),
        }
    }

    /// A read connection whose long queries end on shutdown.
    fn reader(&self) -> Result<ReadOnly, CatalogError> {
        let mut reader = ReadOnly::open(&self.path)?;
        let shutdown = self.controls.shutdown.clone();
        reader.interrupt_when(move || shutdown.is_stopped())?;
        Ok(reader)
    }

    /// Ends the workers and the writer; marks the scans interrupted unless they
    /// are done.
    fn close(
        mut self,
        writer: Writer,
        began: Instant,
        ended: Result<StageEnd, ScanError>,
    ) -> Result<Outcome, ScanError> {
        if !matches!(ended, Ok(StageEnd::Finished)) {
            // If the writer is gone, the next command marks them.
            self.interrupt(&self.scans).ok();
        }
        let asked = Instant::now();
        let findings = self.engine.stop(asked + self.controls.limits.shutdown);
        if self.controls.shutdown.is_stopped() {
            events::shutdown_done(&findings, asked.elapsed());
        }
        self.timing.writer = finish_writer(writer)?;
        let mut counters = ScanCounters::default();
        let reader = ReadOnly::open(&self.path)?;
        for scan in &self.scans {
            if let Some(scan) = reader.scan(*scan)? {
                events::scan_end(&scan, began.elapsed(), ended.as_ref().err());
                counters.add(&scan.counters);
            }
        }
        Ok(Outcome {
            interrupted: ended? == StageEnd::Interrupted,
            counters,
            findings,
            unmatched: self.unmatched,
            adopted: self.adopted,
            summary: self.summary,
            whole: self.whole,
            not_compared: self.not_compared,
            elapsed: began.elapsed(),
            timing: self.timing,
        })
    }
}

/// Ends the writer; returns how long it was at work.
fn finish_writer(writer: Writer) -> Result<Duration, CatalogError> {
    let finishing = Instant::now();
    let busy = writer.handle().busy();
    writer.finish()?;
    Ok(busy + finishing.elapsed())
}
