//! Probing a batch of files, and for short ones the digest at once.

use super::sample::{SampleBatch, Sampler, WINDOW, ask_for};
use crate::catalog::{SampleHash, WorkCopy};
use crate::model::Probe;
use crate::scan::context::{HandIn, ItemContext, Opening};
use crate::scan::engine::Item;

/// Copies and their probes.
type Probed<'c> = Vec<(Probe, &'c WorkCopy)>;

/// Probes the copies one after the other; stops early on shutdown.
pub(crate) fn probe_batch(item: &mut ItemContext<'_>, copies: &[WorkCopy], sampler: &mut Sampler) {
    let mut probed = Probed::new();
    let mut batch = sampler.batch();
    for (part, copy) in copies.iter().enumerate() {
        if item.is_stopped() {
            break;
        }
        item.turn_to(copy.volume);
        if part % WINDOW == 0 && item.pace.is_slow() && item.run.disks.may_ask_ahead(copy.volume) {
            ask_for_all(item, &copies[part..copies.len().min(part + WINDOW)]);
        }
        if !batch.has_room_for(copy.state.size) {
            finish(item, &mut batch, &mut probed);
        }
        item.worker.set_part(part);
        read(item, copy, &mut batch);
    }
    finish(item, &mut batch, &mut probed);
    if item.hand_in_files(HandIn::Last)
        && let Some(memory) = &item.run.first_scan
    {
        let probed = probed.into_iter();
        memory.remember(probed.map(|(probe, copy)| (probe, copy.clone())).collect());
    }
}

/// Reads what the sample of a copy needs.
fn read<'c>(
    item: &mut ItemContext<'_>,
    copy: &'c WorkCopy,
    batch: &mut SampleBatch<'_, &'c WorkCopy>,
) {
    let again = || Item::probe(vec![copy.clone()]);
    let Opening::Opened(file, _) = item.open(copy, again) else {
        return;
    };
    let read = |chunk: &mut [u8], at| item.read(&file, chunk, at);
    match batch.add(copy, &file, &copy.state, read) {
        Ok(true) => {
            item.run.metrics.files_probed.add(1);
            item.run.disks.note_pace(item.pace, copy.volume);
        }
        Ok(false) => item.changed(copy, &file),
        Err(error) => item.failed(copy, &error, again),
    }
}

/// Notes the samples of a batch.
fn finish<'c>(
    item: &mut ItemContext<'_>,
    batch: &mut SampleBatch<'_, &'c WorkCopy>,
    probed: &mut Probed<'c>,
) {
    for (copy, sample) in batch.finish(item.run.algorithm) {
        if let SampleHash::Probe(probe) = sample.hash {
            probed.push((probe, copy));
        }
        item.learned(copy, sample.into());
    }
}

/// Asks the system to read what these copies will need. What cannot be opened is
/// found out when its turn comes.
fn ask_for_all(item: &mut ItemContext<'_>, copies: &[WorkCopy]) {
    for copy in copies {
        if let Ok(file) = item.opener.open(copy) {
            ask_for(&file, copy.state.size);
        }
    }
}
