//! Probing a batch of files, and for short ones the digest at once.

use std::path::PathBuf;

use super::samples::{SampleReader, Taken, WINDOW};
use crate::access::{OpenError, Opener};
use crate::catalog::{FileOutcome, FileResult, Record, SampleHash, WorkCopy};
use crate::model::sampling::{is_short, sample_length};
use crate::model::{Algorithm, Fault, Step, now_ns};
use crate::platform::OpenFile;
use crate::pool::WorkerContext;
use crate::scan::context::Shared;
use crate::scan::engine::{Failure, Item, ItemReport, Place};

/// Probes the copies one after the other; stops early on shutdown.
pub(crate) fn probe_batch(
    access: &mut Opener,
    shared: &Shared,
    copies: &[WorkCopy],
    reader: &mut SampleReader,
    context: &WorkerContext,
) -> ItemReport {
    let mut report = ItemReport::default();
    let mut results = Vec::with_capacity(copies.len());
    let mut bytes_read = 0;
    let mut unhashed = Unhashed::default();
    let mut probed = Vec::new();
    for (part, copy) in copies.iter().enumerate() {
        if context.shutdown().is_stopped() {
            break;
        }
        reader.turn_to(copy.volume);
        if part % WINDOW == 0 && reader.waits_for_disk() {
            ask_for(access, &copies[part..copies.len().min(part + WINDOW)]);
        }
        context.set_part(part);
        let again = || Item::Probe(vec![copy.clone()]);
        let opened = open_in_state(
            access,
            shared,
            copy,
            context,
            &mut report,
            &mut results,
            again,
        );
        let opened = match opened {
            Some(opened) => opened.file,
            None if report.fatal.is_some() => break,
            None => continue,
        };
        if let Some(throttle) = &shared.throttle {
            let bytes = sample_length(copy.state.size) as u64;
            throttle.take(bytes, context.shutdown(), || context.progress(0));
        }
        if is_short(copy.state.size) && !reader.has_room_for(copy.state.size) {
            unhashed.hash(reader, shared.algorithm, &mut results);
        }
        match reader.take(&opened, &copy.state, now_ns()) {
            Ok(Some(taken)) => {
                shared.disks.note_pace(reader.pace(), copy.volume);
                let bytes = sample_length(copy.state.size) as u64;
                bytes_read += bytes;
                context.progress(bytes);
                shared.metrics.files_probed.add(1);
                if is_short(copy.state.size) {
                    unhashed.add(copy, taken);
                } else {
                    for sample in reader.hash(&[taken], shared.algorithm) {
                        if let SampleHash::Probe(probe) = sample.hash {
                            probed.push((probe, copy));
                        }
                        results.push(result(copy, sample.into()));
                    }
                }
            }
            Ok(None) => push_changed(access, copy, &opened, &mut report, &mut results),
            Err(error) => {
                let fault = Fault::from_io(Step::Read, &error);
                push_failure(access, copy, fault, again(), &mut report);
            }
        }
    }
    unhashed.hash(reader, shared.algorithm, &mut results);
    access.release();
    if send(shared, context, &mut report, bytes_read, results)
        && let Some(memory) = shared.open_memory()
    {
        let probed = probed.into_iter();
        memory.note_all(probed.map(|(probe, copy)| (probe, copy.clone())).collect());
    }
    report
}

/// Short files that were read, to be hashed together.
#[derive(Default)]
struct Unhashed<'a> {
    copies: Vec<&'a WorkCopy>,
    taken: Vec<Taken>,
}

impl<'a> Unhashed<'a> {
    fn add(&mut self, copy: &'a WorkCopy, taken: Taken) {
        self.copies.push(copy);
        self.taken.push(taken);
    }

    /// Adds what their hashes show to `results`, and starts over.
    fn hash(
        &mut self,
        reader: &mut SampleReader,
        algorithm: Algorithm,
        results: &mut Vec<FileResult>,
    ) {
        let samples = reader.hash(&self.taken, algorithm);
        self.taken.clear();
        for (copy, sample) in self.copies.drain(..).zip(samples) {
            results.push(result(copy, sample.into()));
        }
    }
}

/// Asks the system to read what these copies will need. What cannot be opened
/// is found out when its turn comes.
fn ask_for(access: &mut Opener, copies: &[WorkCopy]) {
    for copy in copies {
        if let Ok(file) = access.open(copy) {
            SampleReader::ask_for(&file, copy.state.size);
        }
    }
}

/// A file that is what the catalog says.
pub(crate) struct Opened {
    pub(crate) file: OpenFile,
    /// Its path, for whoever watches.
    pub(crate) path: PathBuf,
}

/// Opens a copy and makes sure that it is in the state the catalog holds;
/// otherwise notes what it found instead and returns `None`. `again` is what
/// to do once more when opening failed in a way that may heal.
pub(crate) fn open_in_state(
    access: &mut Opener,
    shared: &Shared,
    copy: &WorkCopy,
    context: &WorkerContext,
    report: &mut ItemReport,
    results: &mut Vec<FileResult>,
    again: impl FnOnce() -> Item,
) -> Option<Opened> {
    let path = match access.absolute(&copy.names[0]) {
        Ok(path) => path,
        Err(error) => {
            report.fatal = Some(error);
            return None;
        }
    };
    context.set_path(&path);
    match access.open(copy) {
        Ok(file) => {
            if copy.state.is_of(&file.opened_as().meta) {
                return Some(Opened { file, path });
            }
            push_changed(access, copy, &file, report, results);
        }
        Err(OpenError::Vanished(names)) => {
            report.vanished += 1;
            let mut gone = Vec::new();
            for name in names {
                match shared.lies_on(access, &name, copy.volume) {
                    Ok(true) => gone.push(name),
                    Ok(false) => {}
                    Err(error) => report.fatal = Some(error),
                }
            }
            if !gone.is_empty() {
                results.push(FileResult {
                    names: gone,
                    state: copy.state,
                    outcome: FileOutcome::Vanished,
                });
            }
        }
        Err(OpenError::Failed(path, fault)) => report.failures.push(Failure {
            place: Place::of_name(&copy.names[0]),
            path,
            volume: copy.volume,
            again: fault.class.is_retried().then(again),
            fault,
        }),
        Err(OpenError::Catalog(error)) => report.fatal = Some(error),
    }
    None
}

/// Notes the state that a file is in now, in place of the one expected.
pub(crate) fn push_changed(
    access: &mut Opener,
    copy: &WorkCopy,
    file: &OpenFile,
    report: &mut ItemReport,
    results: &mut Vec<FileResult>,
) {
    report.changed.push(copy.names[0].clone());
    let Ok(now) = file.stat() else {
        return;
    };
    match access.names_of(copy, file) {
        Ok(names) => results.push(FileResult {
            names,
            state: copy.state,
            outcome: FileOutcome::Changed(now.meta),
        }),
        Err(error) => report.fatal = Some(error),
    }
}

/// Notes that a copy could not be read.
pub(crate) fn push_failure(
    access: &mut Opener,
    copy: &WorkCopy,
    fault: Fault,
    again: Item,
    report: &mut ItemReport,
) {
    match access.absolute(&copy.names[0]) {
        Ok(path) => report.failures.push(Failure {
            place: Place::of_name(&copy.names[0]),
            path,
            volume: copy.volume,
            again: fault.class.is_retried().then_some(again),
            fault,
        }),
        Err(error) => report.fatal = Some(error),
    }
}

/// What was learned about a copy under all its names.
pub(crate) fn result(copy: &WorkCopy, outcome: FileOutcome) -> FileResult {
    FileResult {
        names: copy.names.clone(),
        state: copy.state,
        outcome,
    }
}

/// Sends results to the writer, unless the item was given up; says whether it
/// did.
pub(crate) fn send(
    shared: &Shared,
    context: &WorkerContext,
    report: &mut ItemReport,
    bytes_read: u64,
    results: Vec<FileResult>,
) -> bool {
    let is_nothing = results.is_empty() && bytes_read == 0;
    if is_nothing || !context.settle() {
        return false;
    }
    let record = Record::Files {
        scan: shared.lead,
        bytes_read,
        results,
    };
    match shared.writer.send(record) {
        Ok(()) => true,
        Err(error) => {
            report.fatal = Some(error);
            false
        }
    }
}
