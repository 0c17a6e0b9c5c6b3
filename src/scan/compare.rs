//! Reading classes of files in step: files that agree in size and probe are
//! compared chunk by chunk, and only one of those that still agree is hashed.
//! A file that differs from all others is dropped at its first difference.
//!
//! Two classes are read at a time, so that there are two chunks to hash at
//! once ([`Hasher::update_both`]): this file has the loop over them, `reading`
//! one class, `lane` the files of a class that agree so far.

mod lane;
mod reading;

use std::time::{Duration, Instant};

use self::lane::{Lane, Part};
use self::reading::{Desk, Reading};
use super::access::Access;
use super::hasher::Hasher;
use super::item::ItemReport;
use super::pool::WorkerContext;
use super::probe::send;
use super::shared::Shared;
use crate::catalog::HashClass;
use crate::platform::AlignedBuffer;

/// Bytes read from each file before the next one's turn. Larger chunks are not
/// faster, not even for BLAKE3, and those of two classes of two fit the
/// processor's second cache.
pub(super) const CHUNK: usize = 64 * 1024;
/// How often results, and the state of huge files, are sent to the writer: with
/// the time to its next commit, less than half a second of reading is lost to a
/// kill.
const SAVE_EVERY: Duration = Duration::from_millis(100);
/// Lanes that advance together: as many as [`Hasher::update_both`] takes.
const AT_ONCE: usize = 2;

/// Reads the classes and sends what was learned about each copy.
pub(super) fn hash_classes(
    access: &mut Access,
    shared: &Shared,
    classes: &[HashClass],
    buffers: &mut Vec<AlignedBuffer>,
    context: &WorkerContext,
) -> ItemReport {
    let mut desk = Desk::new(access, shared, context);
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

/// Works the classes off, in order, two at a time. A stop keeps how far huge
/// files came; what else it cuts off is read again.
fn run(desk: &mut Desk<'_>, classes: &[HashClass], buffers: &mut Vec<AlignedBuffer>) {
    let mut waiting = Waiting { classes, part: 0 };
    let mut active: Vec<Reading<'_>> = Vec::with_capacity(AT_ONCE);
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
        while active.len() < AT_ONCE
            && let Some((class, rest)) = self.classes.split_first()
        {
            let reading = Reading::open(desk, class, self.part);
            self.classes = rest;
            self.part += class.copies.len();
            active.push(reading);
        }
    }
}

/// Reads one chunk of every file of two lanes, where there are two, and hashes
/// what must be hashed in pairs.
fn advance(desk: &mut Desk<'_>, active: &mut [Reading<'_>], buffers: &mut Vec<AlignedBuffer>) {
    let mut parts = Vec::new();
    // The buffers of one lane come after those of the other.
    let mut used = 0;
    for (of, lane) in next_lanes(active) {
        let split = active[of].step(desk, lane, buffers, &mut used);
        parts.extend(split.into_iter().map(|part| (of, part)));
    }
    hash(&mut parts, buffers);
    for (of, part) in parts {
        active[of].put_back(part.advanced());
    }
}

/// One lane of each class, or two of one.
fn next_lanes(active: &mut [Reading<'_>]) -> Vec<(usize, Lane)> {
    let mut lanes = Vec::with_capacity(AT_ONCE);
    for turn in 0..AT_ONCE {
        let of = turn % active.len();
        lanes.extend(active[of].next_lane().map(|lane| (of, lane)));
    }
    lanes
}

/// Hashes the chunk of each part, two parts at a time.
fn hash(parts: &mut [(usize, Part)], buffers: &[AlignedBuffer]) {
    for pair in parts.chunks_mut(AT_ONCE) {
        match pair {
            [(_, one), (_, two)] => {
                let (first, second) = (one.chunk(buffers), two.chunk(buffers));
                Hasher::update_both(
                    (&mut one.lane.hasher, first),
                    (&mut two.lane.hasher, second),
                );
            }
            [(_, alone)] => alone.lane.hasher.update(alone.chunk(buffers)),
            _ => {}
        }
    }
}
