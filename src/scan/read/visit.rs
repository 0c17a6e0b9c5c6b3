//! Reading files in the order of the disk, where a head moves. The way to a file
//! costs as much as 1.5 MB of reading, so each is read at its first visit as far as
//! it may have to be read at all: whole, unless it is long.

use std::io;
use std::time::{Duration, Instant};

use super::ahead::{Asked, Needs, Next, OpenAhead, ReadAhead};
use super::compare::{Buffers, hash_alone};
use super::sample::{SampleBatch, Sampler};
use crate::access::content::{CHUNK, digest_with, probe_of};
use crate::access::{can_change_unseen, is_unchanged};
use crate::catalog::{FileOutcome, WorkCopy};
use crate::model::sampling::{ONE_VISIT, is_short, stretches};
use crate::model::{Digest, Probe, now_ns};
use crate::platform::OpenFile;
use crate::scan::context::{HandIn, ItemContext, Opening};
use crate::scan::devices::Pace;
use crate::scan::engine::{Item, ItemResult, Whole};

/// How often what was learned is sent to the writer.
const SAVE_EVERY: Duration = Duration::from_millis(100);

/// Files that were read, and are hashed together.
type Batch<'b, 'c> = SampleBatch<'b, &'c WorkCopy>;

/// Reads the copies one after the other; stops early on shutdown.
pub(super) fn visit_batch(
    item: &mut ItemContext<'_>,
    copies: &[WorkCopy],
    whole: Whole,
    sampler: &mut Sampler,
    buffers: &mut Buffers,
) {
    if let Some(memory) = &item.run.first_scan {
        // Which classes are left is known to the catalog alone.
        memory.forget_probed();
    }
    let mut ahead = OpenAhead::new(item, copies);
    let mut batch = sampler.batch();
    let mut saved_at = Instant::now();
    let again = |copy: &WorkCopy, _| Item::probe(vec![copy.clone()]);
    let needs = |file: &OpenFile| needs(file, whole);
    while let Some(next) = ahead.next(item, again, needs) {
        let Next::Asked(mut asked) = next else {
            continue;
        };
        let size = asked.copy.state.size;
        if !batch.has_room_for(size) || saved_at.elapsed() >= SAVE_EVERY {
            finish(item, &mut batch);
        }
        if saved_at.elapsed() >= SAVE_EVERY {
            saved_at = Instant::now();
            item.hand_in_files(HandIn::Part);
        }
        match how(size, whole) {
            How::Sampled => sample(item, &asked, &mut batch),
            How::Whole => read_whole(item, &mut asked, buffers),
            How::InStretches => hash_alone(item, asked.copy, asked.part, buffers),
        }
    }
    finish(item, &mut batch);
    item.hand_in_files(HandIn::Last);
}

/// How a file is read.
enum How {
    /// Whole if it is short, at its ends if it is long.
    Sampled,
    /// Whole, with a probe of its ends.
    Whole,
    /// Whole too, and what was done of it is saved again and again.
    InStretches,
}

fn how(size: u64, whole: Whole) -> How {
    match whole {
        _ if is_short(size) => How::Sampled,
        _ if size < ONE_VISIT => How::Whole,
        Whole::Short => How::Sampled,
        Whole::All => How::InStretches,
    }
}

fn needs(file: &OpenFile, whole: Whole) -> Needs {
    let size = file.opened_as().meta.size;
    match how(size, whole) {
        How::Sampled => Needs::Only(stretches(size)),
        How::Whole | How::InStretches => Needs::Whole,
    }
}

fn sample<'c>(item: &mut ItemContext<'_>, asked: &Asked<'c>, batch: &mut Batch<'_, 'c>) {
    let Asked { copy, file, .. } = asked;
    let read = |chunk: &mut [u8], at| item.read(file, chunk, at);
    match batch.add(*copy, file, &copy.state, read) {
        Ok(true) => item.run.metrics.files_probed.add(1),
        Ok(false) => item.changed(copy, file),
        Err(error) => item.failed(copy, &error, || Item::probe(vec![(*copy).clone()])),
    }
}

/// Notes the samples of a batch.
fn finish(item: &mut ItemContext<'_>, batch: &mut Batch<'_, '_>) {
    for (copy, sample) in batch.finish(item.run.algorithm) {
        item.learned(copy, sample.into());
    }
}

fn read_whole(item: &mut ItemContext<'_>, asked: &mut Asked<'_>, buffers: &mut Buffers) {
    let Asked {
        copy, file, ahead, ..
    } = asked;
    let racy = can_change_unseen(file, &copy.state, now_ns());
    match contents(item, file, ahead, buffers) {
        Ok(Some((digest, probe))) => {
            item.run.metrics.files_probed.add(1);
            if let Some(probe) = probe {
                item.learned(copy, FileOutcome::Probed { probe, racy });
            }
            let compared = None;
            item.learned(
                copy,
                FileOutcome::Digested {
                    digest,
                    compared,
                    racy,
                },
            );
        }
        Ok(None) if item.is_stopped() => {}
        Ok(None) => item.changed(copy, file),
        Err(error) => item.failed(copy, &error, || Item::probe(vec![(*copy).clone()])),
    }
}

/// Digest and probe of a file; `None` when it changed, or on a stop.
fn contents(
    item: &mut ItemContext<'_>,
    file: &OpenFile,
    ahead: &mut ReadAhead,
    buffers: &mut Buffers,
) -> io::Result<Option<(Digest, Option<Probe>)>> {
    let mut buffer = buffers.take(CHUNK);
    let digest = digest_with(file, item.run.algorithm, &mut buffer, |chunk, offset| {
        if item.is_stopped() {
            return Ok(None);
        }
        ahead.from(file, offset);
        item.read(file, chunk, offset).map(Some)
    });
    buffers.give_back(buffer);
    let Some(digest) = digest? else {
        return Ok(None);
    };
    // Its ends are in memory now.
    let probe = probe_of(file)?;
    // It must still be the file that was hashed.
    Ok(is_unchanged(file)?.then_some((digest, probe)))
}

/// Asks where the copies begin on their disk. What cannot be opened is noted and has
/// no answer.
pub(super) fn locate_batch(item: &mut ItemContext<'_>, copies: &[WorkCopy], numbers: &[usize]) {
    let mut places = Vec::with_capacity(copies.len());
    for (part, (copy, number)) in copies.iter().zip(numbers).enumerate() {
        if item.is_stopped() {
            break;
        }
        item.worker.set_part(part);
        let again = || Item::probe(vec![copy.clone()]);
        if let Opening::Opened(file, _) = item.open(copy, again) {
            places.push((*number, file.first_place()));
        }
    }
    if item.worker.settle() {
        item.report.found = ItemResult::Located(places);
    }
    item.hand_in_files(HandIn::Last);
}

/// Reads a little of each copy and notes whether that took as long as the way of a
/// head. What was in memory says nothing.
pub(super) fn try_disk(item: &mut ItemContext<'_>, copies: &[WorkCopy]) {
    let (mut slow, mut seeking) = (0, 0);
    for copy in copies {
        if item.is_stopped() {
            break;
        }
        // What fails here fails again where it is noted.
        let Ok(file) = item.opener.open(copy) else {
            continue;
        };
        item.meet(&file, copy.volume);
        file.advise_random();
        let began = Instant::now();
        if file.read_at(&mut [0; 512], copy.state.size / 2).is_ok() {
            slow += u32::from(began.elapsed() > Pace::SLOW);
            seeking += u32::from(began.elapsed() > Pace::SEEK);
        }
        item.worker.progress(0);
    }
    if let Some(copy) = copies.first()
        && !item.is_stopped()
    {
        let seeks = seeking >= 4 && 2 * seeking >= slow;
        let seeks = (slow >= 4).then_some(seeks);
        item.run.disks.note_trial(copy.volume, seeks);
    }
    item.hand_in_files(HandIn::Last);
}
