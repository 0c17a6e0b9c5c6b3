//! The work item of an audit: reads a batch of copies whole and says what each
//! is.

use std::io;

use super::compare::Buffers;
use crate::access::content::{CHUNK, digest_with, probe_of};
use crate::access::{is_racy, is_unchanged};
use crate::catalog::AuditCopy;
use crate::model::{Digest, now_ns};
use crate::platform::OpenFile;
use crate::scan::context::{ItemContext, Opening};
use crate::scan::engine::{AuditVerdict, Audited, Item, ItemResult};

/// Reads the copies one after the other; stops early on shutdown.
pub(crate) fn audit_batch(item: &mut ItemContext<'_>, copies: &[AuditCopy], buffers: &mut Buffers) {
    let mut buffer = buffers.take(CHUNK);
    for (part, audited) in copies.iter().enumerate() {
        if item.is_stopped() {
            break;
        }
        item.worker.set_part(part);
        audit_copy(item, audited, &mut buffer);
    }
    buffers.give_back(buffer);
    // What a scan would do about a changed file is left to the next scan.
    item.report.changed.clear();
    if !item.worker.settle() {
        item.report.found = ItemResult::Nothing;
    }
}

fn audit_copy(item: &mut ItemContext<'_>, audited: &AuditCopy, buffer: &mut [u8]) {
    let again = || Item::Audit(vec![audited.clone()]);
    let mut racy = false;
    let verdict = match item.open(&audited.copy, again) {
        Opening::Opened(file, _) => {
            file.forget_cached();
            racy = is_racy(&audited.copy.state, now_ns());
            match read(item, &file, buffer) {
                Ok(Some(digest)) => judge(audited, &file, digest),
                Ok(None) if item.is_stopped() => return,
                Ok(None) => Ok(AuditVerdict::Changed),
                Err(error) => Err(error),
            }
        }
        Opening::Changed => Ok(AuditVerdict::Changed),
        Opening::Gone => Ok(AuditVerdict::Gone),
        Opening::Failed => return,
    };
    match verdict {
        Ok(verdict) => push(item, audited, verdict, racy),
        Err(error) => item.failed(&audited.copy, &error, again),
    }
}

/// The digest of the whole file; `None` when it changed, or on a stop.
fn read(
    item: &mut ItemContext<'_>,
    file: &OpenFile,
    buffer: &mut [u8],
) -> io::Result<Option<Digest>> {
    let digest = digest_with(file, item.run.algorithm, buffer, |chunk, offset| {
        if item.is_stopped() {
            return Ok(0);
        }
        let read = item.read(file, chunk, offset)?;
        item.run.metrics.bytes_hashed.add(read as u64);
        Ok(read)
    })?;
    item.run.metrics.files_hashed.add(1);
    Ok(digest)
}

fn judge(audited: &AuditCopy, file: &OpenFile, digest: Digest) -> io::Result<AuditVerdict> {
    Ok(match audited.digest {
        Some(expected) if expected == digest => AuditVerdict::Sound,
        // It could have changed without its times moving when it was scanned.
        Some(_) if audited.racy => AuditVerdict::Changed,
        Some(_) => AuditVerdict::Corrupted(digest),
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

fn push(item: &mut ItemContext<'_>, audited: &AuditCopy, verdict: AuditVerdict, racy: bool) {
    let copy = &audited.copy;
    match item.opener.absolute(&copy.names[0]) {
        Ok(path) => item.report.push_audited(Audited {
            path,
            expected: audited.digest,
            state: copy.state,
            verdict,
            names: copy.names.clone(),
            racy,
        }),
        Err(error) => item.report.fatal = Some(error),
    }
}
