//! The work item of an audit: reads a batch of copies whole and says what each
//! is.

use std::io;

use super::compare::Buffers;
use super::probe::{Opened, open_in_state, push_failure};
use crate::access::content::{digest_with, probe_of};
use crate::access::{Opener, is_racy, is_unchanged};
use crate::catalog::AuditCopy;
use crate::model::{Digest, Fault, Step, now_ns};
use crate::platform::{AlignedBuffer, OpenFile};
use crate::pool::WorkerContext;
use crate::scan::context::Shared;
use crate::scan::engine::{AuditVerdict, Audited, Item, ItemReport, ItemResult};

/// Reads the copies one after the other; stops early on shutdown.
pub(crate) fn audit_batch(
    access: &mut Opener,
    shared: &Shared,
    copies: &[AuditCopy],
    buffers: &mut Buffers,
    context: &WorkerContext,
) -> ItemReport {
    let mut buffer = buffers.take();
    let mut report = ItemReport::default();
    for (part, copy) in copies.iter().enumerate() {
        if context.shutdown().is_stopped() || report.fatal.is_some() {
            break;
        }
        context.set_part(part);
        audit_copy(access, shared, copy, &mut buffer, context, &mut report);
    }
    // Told apart by verdict.
    report.changed.clear();
    buffers.give_back(buffer);
    access.release();
    if !context.settle() {
        report.found = ItemResult::Nothing;
    }
    report
}

fn audit_copy(
    access: &mut Opener,
    shared: &Shared,
    audited: &AuditCopy,
    buffer: &mut AlignedBuffer,
    context: &WorkerContext,
    report: &mut ItemReport,
) {
    let copy = &audited.copy;
    let again = || Item::Audit(vec![audited.clone()]);
    let (changed, vanished) = (report.changed.len(), report.vanished);
    // What a scan would store about a changed file is left to the next scan.
    let mut unwanted = Vec::new();
    let mut racy = false;
    let opened = open_in_state(access, shared, copy, context, report, &mut unwanted, again);
    let verdict = match opened {
        Some(Opened { file, .. }) => {
            file.forget_cached();
            racy = is_racy(&copy.state, now_ns());
            match read(&file, shared, buffer, context) {
                Ok(Some(digest)) => judge(audited, &file, digest),
                Ok(None) if context.shutdown().is_stopped() => return,
                Ok(None) => Ok(AuditVerdict::Changed),
                Err(error) => Err(error),
            }
        }
        None if report.changed.len() > changed => Ok(AuditVerdict::Changed),
        None if report.vanished > vanished => Ok(AuditVerdict::Gone),
        None => return,
    };
    match verdict {
        Ok(verdict) => push(access, audited, verdict, racy, report),
        Err(error) => {
            let fault = Fault::from_io(Step::Read, &error);
            push_failure(access, copy, fault, again(), report);
        }
    }
}

/// The digest of the whole file; `None` when it changed, or on a stop.
fn read(
    file: &OpenFile,
    shared: &Shared,
    buffer: &mut AlignedBuffer,
    context: &WorkerContext,
) -> io::Result<Option<Digest>> {
    let digest = digest_with(file, shared.algorithm, buffer, |chunk, offset| {
        if context.shutdown().is_stopped() {
            return Ok(0);
        }
        if let Some(throttle) = &shared.throttle {
            throttle.take(chunk.len() as u64, context.shutdown(), || {
                context.progress(0);
            });
        }
        let read = file.read_at(chunk, offset)?;
        context.progress(read as u64);
        shared.metrics.bytes_hashed.add(read as u64);
        Ok(read)
    })?;
    shared.metrics.files_hashed.add(1);
    Ok(digest)
}

fn judge(audited: &AuditCopy, file: &OpenFile, digest: Digest) -> io::Result<AuditVerdict> {
    Ok(match audited.digest {
        Some(expected) if expected == digest => AuditVerdict::Sound,
        // It could have changed without its times moving when it was scanned.
        Some(_) if audited.racy => AuditVerdict::Changed,
        Some(_) => AuditVerdict::Rotten(digest),
        None => {
            let probe = probe_of(file)?;
            // Read once more above: it must still be the file that was hashed.
            match is_unchanged(file)? {
                true => AuditVerdict::New(digest, probe),
                false => AuditVerdict::Changed,
            }
        }
    })
}

fn push(
    access: &mut Opener,
    audited: &AuditCopy,
    verdict: AuditVerdict,
    racy: bool,
    report: &mut ItemReport,
) {
    let copy = &audited.copy;
    match access.absolute(&copy.names[0]) {
        Ok(path) => report.push_audited(Audited {
            path,
            expected: audited.digest,
            state: copy.state,
            verdict,
            names: copy.names.clone(),
            racy,
        }),
        Err(error) => report.fatal = Some(error),
    }
}
