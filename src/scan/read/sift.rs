//! Sifting a class that is too large to be read in step. Each copy is read by
//! itself and gets a fingerprint of its whole content; only copies of equal
//! fingerprint are then read in step. A fingerprint that nobody else has proves
//! that its file differs from all others, without a digest.

use std::io;

use super::compare::Buffers;
use super::probe::{Opened, open_in_state, push_changed, push_failure, send};
use crate::access::content::CHUNK;
use crate::access::{Opener, is_racy, is_unchanged};
use crate::hash::fingerprint;
use crate::model::{Fault, Step, now_ns};
use crate::platform::{AlignedBuffer, OpenFile};
use crate::pool::WorkerContext;
use crate::scan::context::Shared;
use crate::scan::engine::{Item, ItemReport, SiftItem, Sifted};

/// Reads the copies one after the other; stops early on shutdown.
pub(crate) fn sift_batch(
    access: &mut Opener,
    shared: &Shared,
    item: &SiftItem,
    buffers: &mut Buffers,
    context: &WorkerContext,
) -> ItemReport {
    let mut report = ItemReport::default();
    let mut results = Vec::new();
    let mut bytes_read = 0;
    let mut buffer = buffers.take();
    for (part, (at, copy)) in item.copies.iter().enumerate() {
        if context.shutdown().is_stopped() || report.fatal.is_some() {
            break;
        }
        context.set_part(part);
        let again = || Item::alone(item.size, copy);
        let opened = open_in_state(
            access,
            shared,
            copy,
            context,
            &mut report,
            &mut results,
            again,
        );
        let Some(Opened { file, .. }) = opened else {
            continue;
        };
        file.advise_sequential();
        let racy = is_racy(&copy.state, now_ns());
        let reader = Reader {
            shared,
            context,
            file: &file,
            size: item.size,
        };
        match reader.fingerprint(&mut buffer, &mut bytes_read) {
            Ok(Some(fingerprint)) => report.push_sifted(Sifted {
                at: *at,
                fingerprint,
                racy,
            }),
            Ok(None) => push_changed(access, copy, &file, &mut report, &mut results),
            Err(error) => {
                let fault = Fault::from_io(Step::Read, &error);
                push_failure(access, copy, fault, again(), &mut report);
            }
        }
    }
    buffers.give_back(buffer);
    access.release();
    send(shared, context, &mut report, bytes_read, results);
    report
}

/// One copy that is being read.
struct Reader<'a> {
    shared: &'a Shared,
    context: &'a WorkerContext,
    file: &'a OpenFile,
    size: u64,
}

impl Reader<'_> {
    /// The fingerprint of everything; `None` if the file changed, or the
    /// reading was stopped.
    fn fingerprint(
        &self,
        buffer: &mut AlignedBuffer,
        bytes_read: &mut u64,
    ) -> io::Result<Option<u64>> {
        let (mut offset, mut all) = (0, 0);
        while offset < self.size {
            let length = CHUNK.min(usize::try_from(self.size - offset).unwrap_or(CHUNK));
            if let Some(throttle) = &self.shared.throttle {
                let alive = || self.context.progress(0);
                throttle.take(length as u64, self.context.shutdown(), alive);
            }
            let chunk = &mut buffer[..length];
            let read = self.file.read_at(chunk, offset)?;
            *bytes_read += read as u64;
            self.context.progress(read as u64);
            if read < length {
                return Ok(None);
            }
            all = fingerprint(all, chunk);
            offset += length as u64;
        }
        Ok(is_unchanged(self.file)?.then_some(all))
    }
}
