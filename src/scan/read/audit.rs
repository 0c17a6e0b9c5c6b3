//! The work item of an audit: reads a batch of copies whole and says what each
//! is.

use std::io;

use super::compare::Buffers;
use crate::access::content::{CHUNK, digest_with, probe_of};
use crate::access::{can_change_unseen, is_unchanged};
use crate::catalog::WorkCopy;
use crate::model::{Digest, now_ns};
use crate::platform::OpenFile;
use crate::scan::context::{ItemContext, Opening};
use crate::scan::engine::{AuditVerdict, Audited, Expected, Item, ItemResult};

/// Reads the copies one after the other; stops early on shutdown.
pub(crate) fn audit_batch(
    item: &mut ItemContext<'_>,
    copies: &[WorkCopy],
    expected: &[Expected],
    buffers: &mut Buffers,
) {
    let mut buffer = buffers.take(CHUNK);
    for (part, (copy, expected)) in copies.iter().zip(expected).enumerate() {
        if item.is_stopped() {
            break;
        }
        item.worker.set_part(part);
        audit_copy(item, copy, *expected, &mut buffer);
    }
    buffers.give_back(buffer);
    // What a scan would do about a changed file is left to the next scan.
    item.report.changed.clear();
    if !item.worker.settle() {
        item.report.found = ItemResult::Nothing;
    }
}

fn audit_copy(item: &mut ItemContext<'_>, copy: &WorkCopy, expected: Expected, buffer: &mut [u8]) {
    let again = || Item::audit([(expected, copy.clone())]);
    let mut racy = false;
    let mut uncounted = copy.to_read;
    let verdict = match item.open(copy, again) {
        Opening::Opened(file, path) if !item.run.tops.holds(&path, file.opened_as().dev) => {
            Ok(AuditVerdict::Changed)
        }
        Opening::Opened(file, _) => {
            file.forget_cached();
            racy = can_change_unseen(&file, &copy.state, now_ns());
            match read(item, &file, buffer, &mut uncounted) {
                Ok(Some(digest)) => judge(expected, &file, digest),
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
        Ok(verdict) => {
            // What was not read need not be any more.
            item.run.metrics.bytes_hashed.add(uncounted);
            push(item, copy, expected, verdict, racy);
        }
        Err(error) => item.failed(copy, &error, again),
    }
}

/// The digest of the whole file; `None` when it changed, or on a stop. Counts what
/// is read, up to what was expected.
fn read(
    item: &mut ItemContext<'_>,
    file: &OpenFile,
    buffer: &mut [u8],
    uncounted: &mut u64,
) -> io::Result<Option<Digest>> {
    let digest = digest_with(file, item.run.algorithm, buffer, |chunk, offset| {
        if item.is_stopped() {
            return Ok(None);
        }
        let read = item.read(file, chunk, offset)?;
        let counted = (read as u64).min(*uncounted);
        *uncounted -= counted;
        item.run.metrics.bytes_hashed.add(counted);
        Ok(Some(read))
    })?;
    item.run.metrics.files_hashed.add(1);
    Ok(digest)
}

fn judge(expected: Expected, file: &OpenFile, digest: Digest) -> io::Result<AuditVerdict> {
    Ok(match expected.digest {
        Some(known) if known == digest => AuditVerdict::Sound,
        // It could change without its times moving, when it was scanned or now.
        Some(_) if expected.racy || file.is_open_for_writing() => AuditVerdict::Changed,
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

fn push(
    item: &mut ItemContext<'_>,
    copy: &WorkCopy,
    expected: Expected,
    verdict: AuditVerdict,
    racy: bool,
) {
    match item.opener.absolute(&copy.names[0]) {
        Ok(path) => item.report.push_audited(Audited {
            path,
            expected: expected.digest,
            state: copy.state,
            verdict,
            names: copy.names.clone(),
            racy,
        }),
        Err(error) => item.report.fatal = Some(error),
    }
}
