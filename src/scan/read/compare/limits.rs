//! How much is read and hashed at a time.

use std::time::Duration;

use super::class::Class;
use crate::hash::Hasher;
use crate::scan::context::{ItemContext, RunContext};

/// How often results, and the state of large files, are sent to the writer: with
/// the time to its next commit, a kill loses less than half a second of reading.
/// Files below [`crate::model::sampling::LARGE`] that are being read start over.
pub(super) const SAVE_EVERY: Duration = Duration::from_millis(100);
/// Classes that are read at a time where reads wait for a disk: hashing waits for
/// it too, and what a kill cuts off has to be read again.
const AT_ONCE_FROM_DISK: usize = 2;
/// Most files that a worker has open to read them in step. A larger class is
/// split into parts, whose files are all hashed to the end.
const MOST_OPEN: usize = 128;

/// How many copies are read in step.
pub(crate) fn copies_in_step(run: &RunContext) -> usize {
    run.files_at_once.min(MOST_OPEN)
}

/// How many classes are read at a time, which is how many chunks are best hashed
/// together; fewer from a slow disk.
pub(crate) fn classes_at_once(run: &RunContext, is_slow: bool) -> usize {
    if is_slow {
        return AT_ONCE_FROM_DISK;
    }
    Hasher::at_once(run.algorithm).max(AT_ONCE_FROM_DISK)
}

/// How many classes this item has open at a time. Where a head moves, the next one
/// is asked for while one is read.
pub(super) fn classes_open(item: &ItemContext<'_>, next: &Class<'_>) -> usize {
    match next.seeks(item) {
        true => 2,
        false => chunks_at_once(item),
    }
}

/// How many chunks this item hashes together.
pub(super) fn chunks_at_once(item: &ItemContext<'_>) -> usize {
    classes_at_once(item.run, item.pace.is_slow())
}
