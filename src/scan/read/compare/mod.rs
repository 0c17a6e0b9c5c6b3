//! Reading classes of files in step: files that agree in size and probe are
//! compared chunk by chunk, and only one of those that still agree is hashed.
//! A file that differs from all others is dropped at its first difference.
//!
//! Several classes are read at a time, so that there are several chunks to hash
//! together ([`Hasher::update_all`]): this file has the loop over them,
//! `class_reading` one class, `equal_so_far` the files of a class that agree so
//! far.

mod class;
mod class_reading;
mod equal_so_far;
mod limits;

use std::time::Instant;

use crate::catalog::WorkCopy;
use crate::hash::Hasher;
use crate::scan::context::{HandIn, ItemContext};
pub(crate) use class::Class;
use class_reading::ClassReading;
pub(crate) use equal_so_far::Buffers;
use equal_so_far::WithChunk;
use limits::{SAVE_EVERY, chunks_at_once, classes_open};
pub(crate) use limits::{classes_at_once, copies_in_step};

/// Reads the classes in order, several at a time, and notes what was learned
/// about each copy. A stop keeps how far large files came; what else it cuts off
/// is read again.
pub(crate) fn hash_classes(
    item: &mut ItemContext<'_>,
    classes: &[Class<'_>],
    buffers: &mut Buffers,
) {
    read_classes(item, classes, 0, buffers);
    item.hand_in_files(HandIn::Last);
}

/// Reads one copy to its end, compared with none, and makes its probe. `part` is its
/// number in the item, which has more to do.
pub(crate) fn hash_alone(
    item: &mut ItemContext<'_>,
    copy: &WorkCopy,
    part: usize,
    buffers: &mut Buffers,
) {
    read_classes(item, &[Class::unprobed(copy)], part, buffers);
}

fn read_classes(
    item: &mut ItemContext<'_>,
    classes: &[Class<'_>],
    part: usize,
    buffers: &mut Buffers,
) {
    let mut waiting = Waiting { classes, part };
    let mut active: Vec<ClassReading<'_>> = Vec::new();
    let mut saved_at = Instant::now();
    loop {
        if !item.is_stopped() {
            waiting.take_up(item, &mut active);
        }
        if item.is_stopped() || active.is_empty() {
            break;
        }
        read(item, &mut active, buffers);
        hash(&mut active, buffers);
        for mut done in active.extract_if(.., |reading| reading.is_done()) {
            done.conclude(item);
        }
        if saved_at.elapsed() >= SAVE_EVERY {
            saved_at = Instant::now();
            active.iter().for_each(|reading| reading.save(item));
            item.hand_in_files(HandIn::Part);
        }
    }
    for mut reading in active {
        reading.save(item);
        reading.conclude(item);
    }
}

/// The classes of an item that were not begun.
struct Waiting<'c> {
    classes: &'c [Class<'c>],
    /// The number of their first copy in the item.
    part: usize,
}

impl<'c> Waiting<'c> {
    /// Opens classes until there are enough to read at once, or no more files
    /// can be open. There is always room for one class.
    fn take_up(&mut self, item: &mut ItemContext<'_>, active: &mut Vec<ClassReading<'c>>) {
        let mut open: usize = active.iter().map(ClassReading::copies).sum();
        while let Some((class, rest)) = self.classes.split_first()
            && active.len() < classes_open(item, class)
        {
            open += class.copies.len();
            if open > copies_in_step(item.run) && !active.is_empty() {
                return;
            }
            active.push(ClassReading::open(item, *class, self.part));
            self.classes = rest;
            self.part += class.copies.len();
        }
    }
}

/// Reads chunks until there are enough to hash together.
fn read(item: &mut ItemContext<'_>, active: &mut [ClassReading<'_>], buffers: &mut Buffers) {
    let mut missing = match active.first() {
        // One after the other: the head stays where it is.
        Some(first) if first.seeks(item) => 1,
        _ => chunks_at_once(item),
    };
    for reading in active {
        while missing > 0
            && let Some(read) = reading.step(item, buffers)
        {
            missing = missing.saturating_sub(read);
        }
    }
}

/// Hashes the chunks that were read, together.
fn hash(active: &mut [ClassReading<'_>], buffers: &mut Buffers) {
    let read = active.iter_mut().flat_map(|reading| &mut reading.read);
    Hasher::update_all(&mut read.flat_map(WithChunk::work).collect::<Vec<_>>());
    for reading in active {
        reading.take_back(buffers);
    }
}
