//! One work item from its first file to its report: opening and reading files,
//! noting what was learned, and handing it in.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use super::run::RunContext;
use crate::access::{OpenError, Opener, is_in_state};
use crate::catalog::{CatalogError, FileOutcome, FileResult, Record, WorkCopy, WorkName};
use crate::model::{Fault, Step, VolumeId};
use crate::platform::OpenFile;
use crate::pool::WorkerContext;
use crate::scan::devices::Pace;
use crate::scan::engine::{Failure, Item, ItemReport, Place};

/// What an item needs, and what it has learned.
pub(crate) struct ItemContext<'a> {
    pub(crate) run: &'a RunContext,
    pub(crate) worker: &'a WorkerContext,
    pub(crate) opener: &'a mut Opener,
    /// How long this worker's reads take.
    pub(crate) pace: &'a mut Pace,
    pub(crate) report: ItemReport,
    results: Vec<FileResult>,
    bytes_read: u64,
    /// The volume whose disk is known.
    met: Option<VolumeId>,
    /// The volume whose files are read now, and whether they wait for a server.
    turned_to: Option<VolumeId>,
    is_far: bool,
}

/// The result of opening a copy.
pub(crate) enum Opening {
    /// It is what the catalog says; and its path, for messages.
    Opened(OpenFile, PathBuf),
    /// It is in another state, which was noted.
    Changed,
    /// Every name is gone, which was noted.
    Gone,
    /// It failed, which was noted.
    Failed,
}

/// Whether something handed in is all of the item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandIn {
    /// More follows: the item can still be taken away, and whoever does it again
    /// learns and stores the same.
    Part,
    /// The outcome of the item is certain from now on.
    Last,
}

impl<'a> ItemContext<'a> {
    pub(crate) fn new(
        run: &'a RunContext,
        worker: &'a WorkerContext,
        opener: &'a mut Opener,
        pace: &'a mut Pace,
    ) -> Self {
        Self {
            run,
            worker,
            opener,
            pace,
            report: ItemReport::default(),
            results: Vec::new(),
            bytes_read: 0,
            met: None,
            turned_to: None,
            is_far: false,
        }
    }

    /// Whether no more may be read.
    pub(crate) fn is_stopped(&self) -> bool {
        self.worker.shutdown().is_stopped() || self.report.fatal.is_some()
    }

    /// Opens a copy and makes sure that it is in the state the catalog holds;
    /// otherwise notes what it is instead. `again` is what to do once more when
    /// opening failed in a way that may heal.
    pub(crate) fn open(&mut self, copy: &WorkCopy, again: impl FnOnce() -> Item) -> Opening {
        let path = match self.opener.absolute(&copy.names[0]) {
            Ok(path) => path,
            Err(error) => return self.fatal(error),
        };
        self.worker.set_path(&path);
        match self.opener.open(copy) {
            Ok(file) if is_in_state(file.opened_as(), &copy.state) => {
                self.meet(&file, copy.volume);
                Opening::Opened(file, path)
            }
            Ok(file) => {
                self.changed(copy, &file);
                Opening::Changed
            }
            Err(OpenError::Vanished(names)) => self.vanished(copy, names),
            Err(OpenError::Failed(path, fault)) => {
                self.push_failure(copy, path, fault, again);
                Opening::Failed
            }
            Err(OpenError::Catalog(error)) => self.fatal(error),
        }
    }

    /// Gets to know the disk of a volume that was not listed in this run.
    pub(crate) fn meet(&mut self, file: &OpenFile, volume: VolumeId) {
        if self.met != Some(volume) {
            self.met = Some(volume);
            if !self.run.disks.has_met(volume)
                && let Ok(now) = self.run.volumes.of(file, file.opened_as().dev)
            {
                self.run.disks.meet(volume, &now);
            }
            self.pace.turn_to(volume);
            self.is_far = self.run.disks.is_far(volume);
        }
        self.answered();
    }

    /// Turns to the files of a volume.
    pub(crate) fn turn_to(&mut self, volume: VolumeId) {
        if self.turned_to != Some(volume) {
            self.turned_to = Some(volume);
            self.pace.turn_to(volume);
            self.is_far = self.run.disks.is_far(volume);
        }
    }

    /// Whether the files of the volume that this turned to wait for a server.
    pub(crate) fn is_far(&self) -> bool {
        self.is_far
    }

    /// Notes that the system answered, or a server.
    pub(crate) fn answered(&self) {
        if self.is_far {
            self.run.disks.count_far(1);
        }
    }

    /// Notes that the catalog failed.
    fn fatal(&mut self, error: CatalogError) -> Opening {
        self.report.fatal = Some(error);
        Opening::Failed
    }

    /// Notes that names of a copy are gone. Where a disk is no longer mounted,
    /// the folder below the mount says nothing about its files.
    fn vanished(&mut self, copy: &WorkCopy, names: Vec<WorkName>) -> Opening {
        let mut gone = Vec::new();
        for name in names {
            match self.lies_on(&name, copy.volume) {
                Ok(true) => gone.push(name),
                Ok(false) => {}
                Err(error) => self.report.fatal = Some(error),
            }
        }
        if !gone.is_empty() {
            self.push(copy, gone, FileOutcome::Vanished);
        }
        Opening::Gone
    }

    /// Whether a name's folder still lies on `volume`.
    fn lies_on(&mut self, name: &WorkName, volume: VolumeId) -> Result<bool, CatalogError> {
        let Some((dir, stat)) = self.opener.folder_of(name)? else {
            return Ok(false);
        };
        let now = self.run.volume(&dir, &stat)?;
        Ok(now.is_ok_and(|(_, id)| id == volume))
    }

    /// Reads a stretch of a file within `--bwlimit`, counts it, and gives a sign
    /// of life.
    pub(crate) fn read(
        &mut self,
        file: &OpenFile,
        chunk: &mut [u8],
        offset: u64,
    ) -> io::Result<usize> {
        if let Some(throttle) = &self.run.throttle {
            let worker = self.worker;
            throttle.take(chunk.len() as u64, worker.shutdown(), || {
                worker.progress(0);
            });
        }
        let clock = Instant::now();
        let read = file.read_at(chunk, offset)?;
        self.pace.note(clock.elapsed());
        self.answered();
        self.bytes_read += read as u64;
        self.worker.progress(read as u64);
        Ok(read)
    }

    /// Notes what was learned about a copy under all its names.
    pub(crate) fn learned(&mut self, copy: &WorkCopy, outcome: FileOutcome) {
        self.push(copy, copy.names.clone(), outcome);
    }

    /// Notes how far a large file was read, under one of its names.
    pub(crate) fn learned_partly(&mut self, copy: &WorkCopy, outcome: FileOutcome) {
        self.push(copy, copy.names[..1].to_vec(), outcome);
    }

    fn push(&mut self, copy: &WorkCopy, names: Vec<WorkName>, outcome: FileOutcome) {
        self.results.push(FileResult {
            names,
            state: copy.state,
            outcome,
        });
    }

    /// Notes the state that a file is in now, in place of the one expected.
    pub(crate) fn changed(&mut self, copy: &WorkCopy, file: &OpenFile) {
        self.report.changed.push(copy.names[0].clone());
        let Ok(now) = file.stat() else {
            return;
        };
        match self.opener.names_of(copy, file) {
            Ok(names) => {
                let ino = copy.state.inode_now(&now.meta, now.dev);
                self.push(copy, names, FileOutcome::Changed(now.meta, ino));
            }
            Err(error) => self.report.fatal = Some(error),
        }
    }

    /// Notes that a copy cannot be read.
    pub(crate) fn failed(
        &mut self,
        copy: &WorkCopy,
        error: &io::Error,
        again: impl FnOnce() -> Item,
    ) {
        let fault = Fault::from_io(Step::Read, error);
        match self.opener.absolute(&copy.names[0]) {
            Ok(path) => self.push_failure(copy, path, fault, again),
            Err(error) => self.report.fatal = Some(error),
        }
    }

    fn push_failure(
        &mut self,
        copy: &WorkCopy,
        path: PathBuf,
        fault: Fault,
        again: impl FnOnce() -> Item,
    ) {
        self.report.failures.push(Failure {
            place: Place::of_name(&copy.names[0]),
            path,
            volume: copy.volume,
            again: fault.class.is_retried().then(again),
            fault,
        });
    }

    /// Sends what was learned about files; says whether it did.
    pub(crate) fn hand_in_files(&mut self, part: HandIn) -> bool {
        if self.results.is_empty() && (self.bytes_read == 0 || part == HandIn::Part) {
            return false;
        }
        let record = Record::Files {
            scan: self.run.lead,
            bytes_read: self.take_bytes_read(),
            results: std::mem::take(&mut self.results),
        };
        self.hand_in(record, part)
    }

    /// Sends a record, unless the item was taken away; says whether it did.
    pub(crate) fn hand_in(&mut self, record: Record, part: HandIn) -> bool {
        let is_ours = match part {
            HandIn::Part => !self.worker.is_abandoned(),
            HandIn::Last => self.worker.settle(),
        };
        if !is_ours {
            return false;
        }
        match self.run.writer.send(record) {
            Ok(()) => true,
            Err(error) => {
                self.report.fatal = Some(error);
                false
            }
        }
    }

    /// The bytes read since this was last asked.
    pub(crate) fn take_bytes_read(&mut self) -> u64 {
        std::mem::take(&mut self.bytes_read)
    }

    /// The report, once everything was handed in.
    pub(crate) fn finish(self) -> ItemReport {
        self.opener.release();
        self.report
    }
}
