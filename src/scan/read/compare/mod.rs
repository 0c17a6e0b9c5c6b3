//! Reading classes of files in step: files that agree in size and probe are
//! compared chunk by chunk, and only one of those that still agree is hashed.
//! A file that differs from all others is dropped at its first difference.
//!
//! Several classes are read at a time, so that there are several chunks to hash
//! together ([`Hasher::update_all`]): this file has the loop over them, `reading`
//! one class, `lane` the files of a class that agree so far.

mod equal_so_far;
mod reading;

use std::time::{Duration, Instant};

use crate::access::Opener;
use crate::catalog::HashClass;
use crate::hash::Hasher;
use crate::pool::WorkerContext;
use crate::scan::context::Shared;
use crate::scan::devices::Pace;
use crate::scan::engine::ItemReport;
use crate::scan::read::probe::send;
pub(crate) use equal_so_far::Buffers;
use equal_so_far::Part;
use reading::{Desk, Reading};

/// How often results, and the state of large files, are sent to the writer: with
/// the time to its next commit, less than half a second of reading them is lost
/// to a kill. Files below [`crate::model::sampling::LARGE`] that are being read are begun
/// anew.
const SAVE_EVERY: Duration = Duration::from_millis(100);
/// Classes that are read at a time where reads wait for a disk: hashing waits
/// for it too, and what a kill cuts off has to be read again.
pub(crate) const AT_ONCE_FROM_DISK: usize = 2;

/// Most files that a worker has open to read them in step, and most of one class.
/// With two or three in a class there are enough classes to hash abreast.
const MOST_OPEN: usize = 64;
const MOST_OF_A_CLASS: usize = 32;

/// How many copies of one class are read in step.
pub(crate) fn copies_in_step(shared: &Shared) -> usize {
    shared.files_at_once.min(MOST_OF_A_CLASS)
}

/// Reads the classes and sends what was learned about each copy.
pub(crate) fn hash_classes(
    access: &mut Opener,
    shared: &Shared,
    classes: &[HashClass],
    buffers: &mut Buffers,
    pace: &mut Pace,
    context: &WorkerContext,
) -> ItemReport {
    let mut desk = Desk::new(access, shared, pace, context);
    run(&mut desk, classes, buffers);
    let Desk {
        access,
        mut report,
        results,
        bytes_read,
        ..
    } = desk;
    access.release();
    send(shared, context, &mut report, bytes_read, results);
    report
}

/// Works the classes off, in order, several at a time. A stop keeps how far large
/// files came; what else it cuts off is read again.
fn run(desk: &mut Desk<'_>, classes: &[HashClass], buffers: &mut Buffers) {
    let mut waiting = Waiting { classes, part: 0 };
    let mut active: Vec<Reading<'_>> = Vec::new();
    let mut saved_at = Instant::now();
    loop {
        if !desk.is_stopped() {
            waiting.take_up(desk, &mut active);
        }
        if active.is_empty() {
            return;
        }
        if desk.is_stopped() {
            for mut reading in active {
                reading.save(desk);
                reading.conclude(desk);
            }
            return;
        }
        read(desk, &mut active, buffers);
        hash(&mut active, buffers);
        for mut done in active.extract_if(.., |reading| reading.is_done()) {
            done.conclude(desk);
        }
        if saved_at.elapsed() >= SAVE_EVERY {
            saved_at = Instant::now();
            for reading in &active {
                reading.save(desk);
            }
            desk.hand_in();
        }
    }
}

/// The classes of an item that were not begun.
struct Waiting<'c> {
    classes: &'c [HashClass],
    /// The number of their first copy in the item.
    part: usize,
}

impl<'c> Waiting<'c> {
    /// Opens classes until there are enough to read at once, or no more files
    /// can be open. There is always room for one class.
    fn take_up(&mut self, desk: &mut Desk<'_>, active: &mut Vec<Reading<'c>>) {
        let mut open: usize = active.iter().map(Reading::copies).sum();
        while active.len() < desk.at_once()
            && let Some((class, rest)) = self.classes.split_first()
        {
            open += class.copies.len();
            if open > desk.most_open() && !active.is_empty() {
                return;
            }
            let reading = Reading::open(desk, class, self.part);
            self.classes = rest;
            self.part += class.copies.len();
            active.push(reading);
        }
    }
}

/// Reads chunks until there are enough to hash abreast.
fn read(desk: &mut Desk<'_>, active: &mut [Reading<'_>], buffers: &mut Buffers) {
    let mut missing = desk.at_once();
    for reading in active {
        while missing > 0
            && let Some(read) = reading.step(desk, buffers)
        {
            missing = missing.saturating_sub(read);
        }
    }
}

/// Hashes the chunks at hand together.
fn hash(active: &mut [Reading<'_>], buffers: &mut Buffers) {
    let parts = active.iter_mut().flat_map(|reading| &mut reading.parts);
    let mut work: Vec<_> = parts.map(Part::work).collect();
    Hasher::update_all(&mut work);
    for reading in active {
        reading.take_in(buffers);
    }
}
