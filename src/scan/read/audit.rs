//! The work item of an audit: reads a batch of copies whole and says what each
//! is.

use std::io;

use super::ahead::{Asked, Needs, Next, OpenAhead, ReadAhead};
use super::compare::Buffers;
use crate::access::content::{CHUNK, digest_with, probe_of};
use crate::access::{can_change_unseen, is_unchanged};
use crate::catalog::WorkCopy;
use crate::model::{Digest, now_ns};
use crate::platform::OpenFile;
use crate::scan::context::ItemContext;
use crate::scan::engine::{AuditVerdict, Audited, Expected, Item, ItemResult};

/// Reads the copies one after the other; stops early on shutdown.
pub(crate) fn audit_batch(
    item: &mut ItemContext<'_>,
    copies: &[WorkCopy],
    expected: &[Expected],
    buffers: &mut Buffers,
) {
    let mut buffer = buffers.take(CHUNK);
    // Where a head moves, the next files are asked for while one is read.
    let mut ahead = match copies.first() {
        Some(copy) if item.run.disks.seeks(copy.volume) => OpenAhead::new(item, copies),
        _ => OpenAhead::one_by_one(copies),
    };
    let again = |copy: &WorkCopy, part: usize| Item::audit([(expected[part], copy.clone())]);
    loop {
        let needs = |file: &OpenFile| {
            file.forget_cached();
            Needs::Whole
        };
        let (part, verdict) = match ahead.next(item, again, needs) {
            Some(Next::Asked(asked)) => {
                let expected = expected[asked.part];
                audit_copy(item, asked, expected, &mut buffer);
                continue;
            }
            Some(Next::Changed(part)) => (part, AuditVerdict::Changed),
            Some(Next::Gone(part)) => (part, AuditVerdict::Gone),
            None => break,
        };
        let copy = &copies[part];
        item.run.metrics.bytes_hashed.add(copy.to_read);
        push(item, copy, expected[part], (verdict, false));
    }
    buffers.give_back(buffer);
    // What a scan would do about a changed file is left to the next scan.
    item.report.changed.clear();
    if !item.worker.settle() {
        item.report.found = ItemResult::Nothing;
    }
}
fn audit_copy(item: &mut ItemContext<'_>, asked: Asked<'_>, expected: Expected, buffer: &mut [u8]) {
    let Asked {
        copy,
        file,
        path,
        mut ahead,
        ..
    } = asked;
    let mut uncounted = copy.to_read;
    let mut racy = false;
    let verdict = if item.run.tops.holds(&path, file.opened_as().dev) {
        racy = can_change_unseen(&file, &copy.state, now_ns());
        match read(item, &file, &mut ahead, (buffer, &mut uncounted)) {
            Ok(Some(digest)) => judge(expected, &file, digest),
            Ok(None) if item.is_stopped() => return,
            Ok(None) => Ok(AuditVerdict::Changed),
            Err(error) => Err(error),
        }
    } else {
        Ok(AuditVerdict::Changed)
    };
    // What was not read need not be any more.
    match verdict {
        Ok(verdict) => {
            item.run.metrics.bytes_hashed.add(uncounted);
            push(item, copy, expected, (verdict, racy));
        }
        Err(error) => {
            item.failed(copy, &error, || Item::audit([(expected, copy.clone())]));
        }
    }
}

/// The digest of the whole file; `None` when it changed, or on a stop. Counts what
/// is read, up to what was expected.
fn read(
    item: &mut ItemContext<'_>,
    file: &OpenFile,
    ahead: &mut ReadAhead,
    (buffer, uncounted): (&mut [u8], &mut u64),
) -> io::Result<Option<Digest>> {
    let digest = digest_with(file, item.run.algorithm, buffer, |chunk, offset| {
        if item.is_stopped() {
            return Ok(None);
        }
        ahead.from(file, offset);
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
    (verdict, racy): (AuditVerdict, bool),
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
