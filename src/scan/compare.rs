//! Reading classes of files in step: files that agree in size and probe are
//! compared chunk by chunk, and only one of those that still agree is hashed.
//! A file that differs from all others is dropped at its first difference.
//!
//! Several classes are read at a time, so that there are several chunks to hash
//! at once ([`Hasher::update_all`]): this file has the loop over them, `reading`
//! one class, `lane` the files of a class that agree so far.

mod lane;
mod reading;

use std::time::{Duration, Instant};

use self::lane::{Lane, Part};
use self::reading::{Desk, Reading};
use super::access::Access;
use super::hasher::Hasher;
use super::item::ItemReport;
use super::pace::Pace;
use super::pool::WorkerContext;
use super::probe::send;
use super::shared::Shared;
use crate::catalog::HashClass;
use crate::platform::AlignedBuffer;

/// Bytes read from each file before the next one's turn. Larger chunks are not
/// faster, not even for BLAKE3.
pub(super) const CHUNK: usize = 64 * 1024;
/// How often results, and the state of huge files, are sent to the writer: with
/// the time to its next commit, less than half a second of reading them is lost
/// to a kill. Files below [`crate::catalog::HUGE`] that are being read are begun
/// anew.
const SAVE_EVERY: Duration = Duration::from_millis(100);
/// Classes that are read at a time where reads wait for a disk: hashing waits
/// for it too, and what a kill cuts off has to be read again.
pub(super) const AT_ONCE_FROM_DISK: usize = 2;

/// Reads the classes and sends what was learned about each copy.
pub(super) fn hash_classes(
    access: &mut Access,
    shared: &Shared,
    classes: &[HashClass],
    buffers: &mut Vec<AlignedBuffer>,
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

/// Works the classes off, in order, several at a time. A stop keeps how far huge
/// files came; what else it cuts off is read again.
fn run(desk: &mut Desk<'_>, classes: &[HashClass], buffers: &mut Vec<AlignedBuffer>) {
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
        advance(desk, &mut active, buffers);
        for mut done in active.extract_if(.., |reading| reading.is_done()) {
            done.conclude(desk);
        }
        if saved_at.elapsed() >= SAVE_EVERY {
            saved_at = Instant::now();
            desk.hand_in();
            for reading in &active {
                reading.save(desk);
            }
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
    /// Opens classes until there are enough to read at once.
    fn take_up(&mut self, desk: &mut Desk<'_>, active: &mut Vec<Reading<'c>>) {
        while active.len() < desk.at_once()
            && let Some((class, rest)) = self.classes.split_first()
        {
            let reading = Reading::open(desk, class, self.part);
            self.classes = rest;
            self.part += class.copies.len();
            active.push(reading);
        }
    }
}

/// Reads one chunk of every file of some lanes, and hashes what must be hashed
/// together.
fn advance(desk: &mut Desk<'_>, active: &mut [Reading<'_>], buffers: &mut Vec<AlignedBuffer>) {
    let mut parts = Vec::new();
    // The buffers of one lane come after those of the one before.
    let mut used = 0;
    for (of, lane) in next_lanes(active, desk.at_once()) {
        let split = active[of].step(desk, lane, buffers, &mut used);
        parts.extend(split.into_iter().map(|part| (of, part)));
    }
    hash(&mut parts, buffers);
    for (of, part) in parts {
        active[of].put_back(part.advanced());
    }
}

/// One lane of each class, and then another one of each, until there are enough.
fn next_lanes(active: &mut [Reading<'_>], most: usize) -> Vec<(usize, Lane)> {
    let mut lanes = Vec::with_capacity(most);
    let mut before = None;
    while before != Some(lanes.len()) {
        before = Some(lanes.len());
        for (of, reading) in active.iter_mut().enumerate() {
            if lanes.len() < most {
                lanes.extend(reading.next_lane().map(|lane| (of, lane)));
            }
        }
    }
    lanes
}

/// Hashes the chunks of all parts.
fn hash(parts: &mut [(usize, Part)], buffers: &[AlignedBuffer]) {
    let pieces = parts.iter_mut().map(|(_, part)| {
        let chunk = part.chunk(buffers);
        (&mut part.lane.hasher, chunk)
    });
    Hasher::update_all(pieces.collect());
}
