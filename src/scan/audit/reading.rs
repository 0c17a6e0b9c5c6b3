//! The work item of an audit: reads a batch of copies whole and says what each
//! is.

use std::io;

use super::{AuditVerdict, Audited};
use crate::access::probe_of;
use crate::catalog::{AuditCopy, WorkCopy};
use crate::hash::Hasher;
use crate::model::{Digest, Fault, Step, now_ns};
use crate::platform::{AlignedBuffer, OpenFile};
use crate::pool::WorkerContext;
use crate::scan::access::{Access, is_racy, is_same};
use crate::scan::context::Shared;
use crate::scan::engine::{Item, ItemReport};
use crate::scan::read::{Buffers, CHUNK, Opened, open_in_state, push_failure};

/// Reads the copies one after the other; stops early on shutdown.
pub(crate) fn audit_batch(
    access: &mut Access,
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
    buffers.give_back(buffer);
    access.release();
    if !context.settle() {
        report.audited.clear();
    }
    report
}

fn audit_copy(
    access: &mut Access,
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
            match read(&file, copy, shared, buffer, context) {
                Ok(Read::Whole(digest)) => judge(audited, &file, digest),
                Ok(Read::Stopped) => return,
                Ok(Read::Changed) => Ok(AuditVerdict::Changed),
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

/// How reading a file ended.
enum Read {
    Whole(Digest),
    Changed,
    Stopped,
}

fn read(
    file: &OpenFile,
    copy: &WorkCopy,
    shared: &Shared,
    buffer: &mut AlignedBuffer,
    context: &WorkerContext,
) -> io::Result<Read> {
    file.advise_sequential();
    let mut hasher = Hasher::new(shared.algorithm);
    let (size, mut offset) = (copy.state.size, 0);
    while offset < size {
        if context.shutdown().is_stopped() {
            return Ok(Read::Stopped);
        }
        let length = CHUNK.min(usize::try_from(size - offset).unwrap_or(CHUNK));
        if let Some(throttle) = &shared.throttle {
            throttle.take(length as u64, context.shutdown(), || context.progress(0));
        }
        let chunk = &mut buffer[..length];
        let got = file.read_at(chunk, offset)?;
        context.progress(got as u64);
        shared.metrics.bytes_hashed.add(got as u64);
        if got < length {
            return Ok(Read::Changed);
        }
        hasher.update(chunk);
        offset += length as u64;
    }
    shared.metrics.files_hashed.add(1);
    Ok(match is_same(file.opened_as(), &file.stat()?) {
        true => Read::Whole(hasher.finish()),
        false => Read::Changed,
    })
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
            match is_same(file.opened_as(), &file.stat()?) {
                true => AuditVerdict::New(digest, probe),
                false => AuditVerdict::Changed,
            }
        }
    })
}

fn push(
    access: &mut Access,
    audited: &AuditCopy,
    verdict: AuditVerdict,
    racy: bool,
    report: &mut ItemReport,
) {
    let copy = &audited.copy;
    match access.absolute(&copy.names[0]) {
        Ok(path) => report.audited.push(Audited {
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
