//! What the orchestrator does about faults, panics, hanging items and failing
//! devices.

use std::path::Path;
use std::time::Duration;

use super::item::{Failure, Item, ItemReport, Place, Work};
use super::{Engine, Source, device_check};
use crate::catalog::{FaultRecord, Record};
use crate::model::{Fault, ScanId, Step, Timestamp, VolumeId};
use crate::pool::Pool;
use crate::scan::devices::Verdict;
use crate::scan::error::ScanError;
use crate::scan::observe::events;

/// How long a failing device is left alone before one more trial.
const TRIAL_PAUSE: Duration = Duration::from_secs(5);

impl Engine {
    /// A device on which anything worked is no failing device.
    pub(crate) fn note_successes(&mut self, work: &Work, report: &ItemReport) {
        if self.breakers.is_quiet() {
            return;
        }
        for volume in work.item.volumes() {
            let failed = report
                .failures
                .iter()
                .filter(|failure| failure.volume == volume && failure.fault.is_device_like())
                .count();
            if failed < work.item.operations_on(volume)
                && self.breakers.succeeded(volume, work.is_trial)
            {
                events::breaker_close(volume);
            }
        }
    }

    /// Whether a fault is to be blamed on a device that keeps failing, so
    /// that the item stays pending instead of becoming a dead letter.
    pub(crate) fn is_devices_fault(
        &mut self,
        work: &Work,
        fault: &Fault,
        volume: VolumeId,
        path: &Path,
        source: &mut dyn Source,
    ) -> bool {
        if !fault.is_device_like() {
            return false;
        }
        // A few bad files that are tried again and again when all else is done
        // are no failing device.
        if work.failed > 0 && self.breakers.admits([volume]) {
            return false;
        }
        match self.breakers.failed(volume, work.is_trial) {
            Verdict::Path => return false,
            Verdict::Held => {}
            Verdict::Opened => {
                events::breaker_open(volume, path, fault);
                let trial = Work {
                    is_trial: true,
                    ..work.clone()
                };
                self.retries.add_after(trial, TRIAL_PAUSE);
                self.recall(source);
            }
            Verdict::GivenUp => self.note_given_up(volume, path, fault),
        }
        true
    }

    /// Tries again later what may heal, and records the rest.
    pub(crate) fn failed(&mut self, work: &Work, failure: Failure) -> Result<(), ScanError> {
        let first_failure = work.first_failure.unwrap_or_else(Timestamp::now);
        match failure.again {
            Some(item) if failure.fault.class.is_retried() && work.failed < self.limits.retries => {
                events::item_retry(&failure.path, &failure.fault, work.failed + 1);
                let work = Work {
                    item,
                    failed: work.failed + 1,
                    first_failure: Some(first_failure),
                    is_trial: false,
                };
                self.retries.add(work, self.limits.backoff);
                Ok(())
            }
            // Fewer than open the breaker, but perhaps all that was left.
            _ if failure.fault.is_device_like() && self.breakers.is_failing(failure.volume) => {
                let work = Work {
                    first_failure: Some(first_failure),
                    ..work.clone()
                };
                self.suspects.push((work, failure));
                Ok(())
            }
            _ => self.bury(work, failure, first_failure),
        }
    }

    /// Makes a failure out of attempts a dead letter.
    fn bury(
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

    /// Decides about what failed last on its device: dead letters, or pending
    /// work of a device that is gone.
    pub(crate) fn judge_suspects(&mut self, source: &mut dyn Source) -> Result<(), ScanError> {
        for (work, failure) in std::mem::take(&mut self.suspects) {
            if self.is_gone(failure.volume, &failure.path) {
                self.hold(&work, source);
            } else {
                let first_at = work.first_failure.unwrap_or_else(Timestamp::now);
                self.bury(&work, failure, first_at)?;
            }
        }
        Ok(())
    }

    /// Whether a device on which the last operations failed does not answer
    /// at all; it is given up then.
    fn is_gone(&mut self, volume: VolumeId, path: &Path) -> bool {
        if !self.breakers.is_failing(volume) {
            return !self.breakers.admits([volume]);
        }
        match device_check::ask(path, &self.shutdown) {
            device_check::Answer::Works => {
                self.breakers.succeeded(volume, false);
                false
            }
            // The stage ends as interrupted; what is pending stays so.
            device_check::Answer::Stopped => true,
            device_check::Answer::Fails(fault) => {
                self.breakers.give_up(volume);
                self.note_given_up(volume, path, &fault);
                true
            }
        }
    }

    fn note_given_up(&mut self, volume: VolumeId, path: &Path, fault: &Fault) {
        events::breaker_give_up(volume, path, fault);
        self.findings
            .given_up
            .push((volume, path.to_owned(), fault.clone()));
    }

    /// Makes a place a dead letter.
    pub(crate) fn record(
        &mut self,
        place: Place,
        fault: Fault,
        attempts: u32,
        first_at: Timestamp,
    ) -> Result<(), ScanError> {
        self.record_in(self.lead, place, fault, attempts, first_at)
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

    /// The scan that an item belongs to: a folder that failed counts as
    /// visited in its own scan, or it would stay pending for ever.
    fn scan_of(&self, item: &Item) -> ScanId {
        match item {
            Item::List(item) => item.scan,
            Item::Probe(_) | Item::Hash(_) | Item::Sift(_) | Item::Audit(_) => self.lead,
        }
    }

    pub(crate) fn panicked(&mut self, work: &Work, message: &str) -> Result<(), ScanError> {
        self.panics += 1;
        let scan = self.scan_of(&work.item);
        for place in work.item.places() {
            let fault = Fault::internal(message);
            self.record_in(scan, place, fault, work.failed + 1, Timestamp::now())?;
        }
        if self.panics >= self.limits.fatal_errors {
            return Err(ScanError::TooManyPanics(self.panics));
        }
        Ok(())
    }

    /// Warns of items that stand still, and gives up those that stand still
    /// for too long: their thread is left behind and replaced.
    pub(crate) fn watch(&mut self, source: &mut dyn Source) -> Result<(), ScanError> {
        let longest = self.limits.stall_warning.min(self.limits.item_timeout);
        for stalled in self.pool.stalled(longest) {
            if stalled.idle < self.limits.item_timeout {
                if self.warned.insert(stalled.job_id) {
                    events::item_stall(&stalled);
                }
                continue;
            }
            let timeout = self.limits.item_timeout;
            let Some(abandoned) = self.pool.abandon(stalled.job_id, timeout) else {
                continue;
            };
            self.in_flight -= 1;
            let work = &abandoned.job.item;
            let (stuck, rest) = match work.item.split_listing(abandoned.part, &abandoned.path) {
                Some((file, listing)) => (file, Some(listing)),
                None => work.item.split(abandoned.part),
            };
            let step = match stuck {
                Item::List(_) => Step::OpenFolder,
                Item::Probe(_) | Item::Hash(_) | Item::Sift(_) | Item::Audit(_) => Step::Read,
            };
            let fault = Fault::timed_out(step, abandoned.idle.as_secs());
            let with = |item| Work {
                item,
                ..work.clone()
            };
            if let Some(rest) = rest {
                self.retries.add_after(with(rest), Duration::ZERO);
            }
            events::item_given_up(&abandoned, stuck.places().len());
            self.give_up(&with(stuck), &fault, &abandoned.path, source)?;
            self.findings.abandoned += 1;
            if self.findings.abandoned >= Pool::<Work>::MAX_REPLACEMENTS {
                return Err(ScanError::TooManyStuck(self.findings.abandoned));
            }
        }
        Ok(())
    }

    /// Makes everything in an item that hangs a dead letter, or leaves it
    /// pending where the whole device hangs.
    fn give_up(
        &mut self,
        work: &Work,
        fault: &Fault,
        path: &Path,
        source: &mut dyn Source,
    ) -> Result<(), ScanError> {
        let mut is_held = false;
        for volume in work.item.volumes() {
            is_held |= self.is_devices_fault(work, fault, volume, path, source);
        }
        if is_held {
            self.hold(work, source);
            return Ok(());
        }
        let scan = self.scan_of(&work.item);
        for place in work.item.places() {
            let attempts = work.failed + 1;
            self.record_in(scan, place, fault.clone(), attempts, Timestamp::now())?;
        }
        Ok(())
    }
}
