//! What becomes of what failed: another attempt, a dead letter, or work that is
//! held because its whole device fails.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::device_check::{self, Answer};
use super::item::{Item, Place, Work};
use super::report::{Failure, ItemReport};
use super::retry::RetryQueue;
use super::sources::Held;
use crate::catalog::{FaultRecord, Record, WorkName, WriterHandle};
use crate::model::{Fault, Findings, Limits, ScanId, Step, Timestamp, VolumeId};
use crate::pool::{Abandoned, Shutdown};
use crate::scan::devices::{Breakers, Verdict};
use crate::scan::error::ScanError;
use crate::scan::observe::{Metrics, events};

/// The pause before a failing device is checked once more.
const CHECK_PAUSE: Duration = Duration::from_secs(5);
/// Folders skipped or offline that are remembered by name.
const MOST_NAMED: usize = 100;

/// What a pass left undone.
#[derive(Debug, Default)]
pub(crate) struct Undone {
    /// Files that were not in the state the catalog held.
    pub(crate) changed: Vec<WorkName>,
    /// Whether work was held because its device kept failing.
    pub(crate) is_held: bool,
}

/// Everything that failed in a run.
pub(crate) struct Faults {
    writer: WriterHandle,
    metrics: Arc<Metrics>,
    lead: ScanId,
    limits: Limits,
    breakers: Breakers,
    /// What is out of attempts on devices that nothing was read from since:
    /// decided about when the stage ends.
    suspects: Vec<(Work, Failure)>,
    panics: u32,
    /// Whether a breaker opened, and what is queued was not recalled yet.
    has_opened: bool,
    /// Whether work was held since the source was last refilled.
    is_held: bool,
    /// Work that waits for another attempt.
    pub(crate) retries: RetryQueue,
    /// What was found so far.
    pub(crate) findings: Findings,
    /// What this pass left undone.
    pub(crate) undone: Undone,
    /// Scans whose listing was held because their device kept failing.
    pub(crate) held_scans: HashSet<ScanId>,
}

impl Faults {
    pub(crate) fn new(
        writer: &WriterHandle,
        metrics: &Arc<Metrics>,
        lead: ScanId,
        limits: &Limits,
    ) -> Self {
        Self {
            writer: writer.clone(),
            metrics: Arc::clone(metrics),
            lead,
            limits: limits.clone(),
            breakers: Breakers::default(),
            suspects: Vec::new(),
            panics: 0,
            has_opened: false,
            is_held: false,
            retries: RetryQueue::default(),
            findings: Findings::default(),
            undone: Undone::default(),
            held_scans: HashSet::new(),
        }
    }

    /// Whether no device that the work needs keeps failing.
    pub(crate) fn admits(&self, work: &Work) -> bool {
        work.is_device_check
            || self.breakers.is_quiet()
            || self.breakers.admits(work.item.volumes())
    }

    /// Leaves an item pending in the catalog.
    pub(crate) fn hold(&mut self, work: &Work) {
        self.is_held = true;
        self.undone.is_held = true;
        if let Item::List(item) = &work.item {
            self.held_scans.insert(item.scan);
        }
    }

    /// What was held since this was last asked.
    pub(crate) fn take_held(&mut self) -> Held {
        Held {
            is_new: std::mem::take(&mut self.is_held),
            is_given_up: !self.findings.given_up.is_empty(),
        }
    }

    /// Whether a breaker opened since this was last asked.
    pub(crate) fn take_opened(&mut self) -> bool {
        std::mem::take(&mut self.has_opened)
    }

    /// Takes in what went wrong in an item that ended.
    pub(crate) fn take_in(&mut self, work: &Work, report: ItemReport) -> Result<(), ScanError> {
        self.note_successes(work, &report);
        self.undone.changed.extend(report.changed);
        remember(&mut self.findings.skipped, report.skipped);
        remember(&mut self.findings.offline, report.offline);
        for failure in report.failures {
            if self.is_devices_fault(work, &failure.fault, failure.volume, &failure.path) {
                self.hold(work);
            } else {
                self.failed(work, failure)?;
            }
        }
        Ok(())
    }

    /// A device on which anything worked is no failing device.
    fn note_successes(&mut self, work: &Work, report: &ItemReport) {
        if self.breakers.is_quiet() {
            return;
        }
        for volume in work.item.volumes() {
            let failures = report.failures.iter();
            let failed = failures
                .filter(|failure| failure.volume == volume && failure.fault.is_device_like())
                .count();
            if failed < work.item.operations_on(volume)
                && self.breakers.succeeded(volume, work.is_device_check)
            {
                events::breaker_close(volume);
            }
        }
    }

    /// Whether a fault is to be blamed on a device that keeps failing, so that
    /// the item stays pending instead of becoming a dead letter.
    fn is_devices_fault(
        &mut self,
        work: &Work,
        fault: &Fault,
        volume: VolumeId,
        path: &Path,
    ) -> bool {
        if !fault.is_device_like() {
            return false;
        }
        // A few bad files that are retried when all else is done are no failing
        // device.
        if work.failed > 0 && self.breakers.admits([volume]) {
            return false;
        }
        match self.breakers.failed(volume, work.is_device_check) {
            Verdict::Path => return false,
            Verdict::Held => {}
            Verdict::Opened => {
                events::breaker_open(volume, path, fault);
                let check = Work {
                    is_device_check: true,
                    ..work.clone()
                };
                self.retries.add_after(check, CHECK_PAUSE);
                self.has_opened = true;
            }
            Verdict::GivenUp => self.note_given_up(volume, path, fault),
        }
        true
    }

    fn note_given_up(&mut self, volume: VolumeId, path: &Path, fault: &Fault) {
        events::breaker_give_up(volume, path, fault);
        let given_up = (volume, path.to_owned(), fault.clone());
        self.findings.given_up.push(given_up);
    }

    /// Retries later what may heal, and records the rest.
    fn failed(&mut self, work: &Work, failure: Failure) -> Result<(), ScanError> {
        let first_failure = work.first_failure.unwrap_or_else(Timestamp::now);
        let is_retried = failure.fault.class.is_retried() && work.failed < self.limits.retries;
        if let Some(item) = failure.again.clone().filter(|_| is_retried) {
            events::item_retry(&failure.path, &failure.fault, work.failed + 1);
            let work = Work {
                item,
                failed: work.failed + 1,
                first_failure: Some(first_failure),
                is_device_check: false,
            };
            self.retries.add(work, self.limits.backoff);
            return Ok(());
        }
        // Too few to open the breaker, but perhaps all that was left.
        if failure.fault.is_device_like() && self.breakers.is_failing(failure.volume) {
            let work = Work {
                first_failure: Some(first_failure),
                ..work.clone()
            };
            self.suspects.push((work, failure));
            return Ok(());
        }
        self.dead_letter(work, failure, first_failure)
    }

    /// Whether something is to be decided at the end of a stage.
    pub(crate) fn has_suspects(&self) -> bool {
        !self.suspects.is_empty()
    }

    /// Decides about what failed last on its device: dead letters, or pending
    /// work of a device that is gone.
    pub(crate) fn judge_suspects(&mut self, shutdown: &Shutdown) -> Result<(), ScanError> {
        for (work, failure) in std::mem::take(&mut self.suspects) {
            if self.is_gone(failure.volume, &failure.path, shutdown) {
                self.hold(&work);
            } else {
                let first_at = work.first_failure.unwrap_or_else(Timestamp::now);
                self.dead_letter(&work, failure, first_at)?;
            }
        }
        Ok(())
    }

    /// Whether a device on which the last operations failed does not answer at
    /// all; it is given up then.
    fn is_gone(&mut self, volume: VolumeId, path: &Path, shutdown: &Shutdown) -> bool {
        if !self.breakers.is_failing(volume) {
            return !self.breakers.admits([volume]);
        }
        match device_check::ask(path, shutdown) {
            Answer::Works => {
                self.breakers.succeeded(volume, false);
                false
            }
            // The stage ends as interrupted; what is pending stays so.
            Answer::Stopped => true,
            Answer::Fails(fault) => {
                self.breakers.give_up(volume);
                self.note_given_up(volume, path, &fault);
                true
            }
        }
    }

    /// Records every place of an item that panicked.
    pub(crate) fn panicked(&mut self, work: &Work, message: &str) -> Result<(), ScanError> {
        self.panics += 1;
        self.record_all(work, &Fault::internal(message))?;
        if self.panics >= self.limits.fatal_errors {
            return Err(ScanError::TooManyPanics(self.panics));
        }
        Ok(())
    }

    /// Sends again what is left of an abandoned item, and records the part that
    /// hangs, or holds it where the whole device hangs.
    pub(crate) fn abandoned(&mut self, abandoned: &Abandoned<Work>) -> Result<(), ScanError> {
        self.findings.abandoned += 1;
        let (stuck, rest) = abandoned.job.item.split(abandoned.part, &abandoned.path);
        if let Some(rest) = rest {
            self.retries.add_after(rest, Duration::ZERO);
        }
        let step = match stuck.item {
            Item::List(_) => Step::OpenFolder,
            Item::Read(_) => Step::Read,
        };
        let fault = Fault::timed_out(step, abandoned.idle.as_secs());
        events::item_given_up(abandoned, stuck.item.places().len());
        let mut is_held = false;
        for volume in stuck.item.volumes() {
            is_held |= self.is_devices_fault(&stuck, &fault, volume, &abandoned.path);
        }
        if is_held {
            self.hold(&stuck);
            return Ok(());
        }
        self.record_all(&stuck, &fault)
    }

    /// Makes a failure that is out of attempts a dead letter.
    fn dead_letter(
        &mut self,
        work: &Work,
        failure: Failure,
        first_at: Timestamp,
    ) -> Result<(), ScanError> {
        let attempts = work.failed + 1;
        events::item_failed(&failure.path, &failure.fault, attempts);
        let scan = self.scan_of(&work.item);
        self.record_in(scan, failure.place, failure.fault, attempts, first_at)
    }

    /// Makes a place a dead letter.
    pub(crate) fn record(
        &mut self,
        place: Place,
        fault: Fault,
        attempts: u32,
    ) -> Result<(), ScanError> {
        self.record_in(self.lead, place, fault, attempts, Timestamp::now())
    }

    /// Makes everything in an item a dead letter.
    fn record_all(&mut self, work: &Work, fault: &Fault) -> Result<(), ScanError> {
        let scan = self.scan_of(&work.item);
        for place in work.item.places() {
            let attempts = work.failed + 1;
            self.record_in(scan, place, fault.clone(), attempts, Timestamp::now())?;
        }
        Ok(())
    }

    fn record_in(
        &mut self,
        scan: ScanId,
        place: Place,
        fault: Fault,
        attempts: u32,
        first_at: Timestamp,
    ) -> Result<(), ScanError> {
        self.findings.faults += 1;
        self.metrics.faults.add(1);
        self.writer.send(Record::Fault(Box::new(FaultRecord {
            scan,
            folder: place.folder,
            name: place.name,
            fault,
            attempts,
            first_at,
        })))?;
        Ok(())
    }

    /// The scan that an item belongs to: a folder that failed counts as visited
    /// in its own scan, or it would stay pending for ever.
    fn scan_of(&self, item: &Item) -> ScanId {
        match item {
            Item::List(item) => item.scan,
            Item::Read(_) => self.lead,
        }
    }
}

/// Keeps the first few of a list that could grow without end.
fn remember<T>(kept: &mut Vec<T>, more: Vec<T>) {
    let room = MOST_NAMED.saturating_sub(kept.len());
    kept.extend(more.into_iter().take(room));
}
