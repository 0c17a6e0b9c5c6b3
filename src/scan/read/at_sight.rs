//! Reading files while their folder is listed, where a first scan can already
//! tell that they may be duplicates. Their rows are then written once, complete.
//! Whatever does not go smoothly is left to the probe stage, which knows about
//! retries and faults.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use super::sample::{SampleBatch, Sampler, WINDOW, ask_for};
use crate::access::is_in_state;
use crate::catalog::FileChange;
use crate::model::{Fault, FolderId, Step, VolumeId};
use crate::platform::{Dir, Links, OpenFile};
use crate::scan::context::ItemContext;
use crate::scan::first_scan::{FirstScan, Meeting, state_of};

/// Files of one folder that are read while it is listed, where calls wait for a
/// server.
const MOST_FAR: usize = 32;

/// The folder whose files are read.
pub(crate) struct ListedFolder<'a> {
    pub(crate) dir: &'a Dir,
    pub(crate) links: Links,
    pub(crate) folder: FolderId,
    pub(crate) volume: VolumeId,
    pub(crate) path: &'a Path,
    /// A file that must not be touched again: then nothing is read.
    pub(crate) hung: Option<&'a OsStr>,
}

/// A file that is to be read.
struct Wanted {
    /// Its place among the changes.
    index: usize,
    /// Its handle, where it was opened when it was listed.
    open: Option<OpenFile>,
}

/// Places among the changes, of files that were read.
type Batch<'b> = SampleBatch<'b, usize>;

impl ListedFolder<'_> {
    /// Reads the new files of the folder that may have duplicates, and adds their
    /// samples to the changes.
    pub(crate) fn sample(
        &self,
        item: &mut ItemContext<'_>,
        sampler: &mut Sampler,
        changes: &mut [FileChange],
        open: Vec<OpenFile>,
    ) {
        let Some(memory) = &item.run.first_scan else {
            return;
        };
        item.turn_to(self.volume);
        let mut wanted = self.choose(memory, sampler, changes, open);
        let mut batch = sampler.batch();
        // The files of a large folder that is far away are left to all threads.
        let is_one_of_many = wanted.len() > MOST_FAR && item.run.disks.is_far(self.volume);
        let mut is_reading = self.hung.is_none() && !is_one_of_many;
        let mut path = PathBuf::new();
        for window in wanted.chunks_mut(WINDOW) {
            let waits = item.pace.is_slow() && item.run.disks.may_ask_ahead(self.volume);
            if is_reading && waits {
                self.ask_for(window, changes);
            }
            for file in window {
                let size = changes[file.index].meta.size;
                if !batch.has_room_for(size) {
                    finish(item, &mut batch, changes);
                }
                let change = &changes[file.index];
                self.name(item, file.index, change, &mut path);
                is_reading &= self.may_read(item);
                let read = is_reading.then(|| self.add(item, &mut batch, change, file));
                if let Some(Err(error)) = &read {
                    // A device that fails is not asked again and again here.
                    is_reading = !Fault::from_io(Step::Read, error).is_device_like();
                }
                let is_read = matches!(read, Some(Ok(true)));
                if !is_read && self.hung != Some(&*change.name) {
                    memory.take_back(change, self.folder, self.volume);
                }
            }
        }
        finish(item, &mut batch, changes);
    }

    /// The files to read now; handles of others are closed.
    fn choose(
        &self,
        memory: &FirstScan,
        sampler: &mut Sampler,
        changes: &[FileChange],
        open: Vec<OpenFile>,
    ) -> Vec<Wanted> {
        let mut wanted = Vec::with_capacity(changes.len());
        let mut open = open.into_iter().peekable();
        for (index, change) in changes.iter().enumerate() {
            // Both are in the order of the names.
            let open = open.next_if(|file| file.opened_as().meta == change.meta);
            let meeting = match change.keeps_digest {
                true => Meeting::Skip,
                false => memory.meet(change, self.folder, self.volume),
            };
            sampler.note_wanted(meeting == Meeting::ReadNow);
            if meeting == Meeting::ReadNow {
                wanted.push(Wanted { index, open });
            }
        }
        wanted
    }

    /// Asks the system to read what these files will need.
    fn ask_for(&self, ahead: &[Wanted], changes: &[FileChange]) {
        for Wanted { index, open } in ahead {
            let change = &changes[*index];
            if let Some(file) = open {
                ask_for(file, change.meta.size);
            } else if let Ok(file) = self.dir.open_file(&change.name, self.links) {
                ask_for(&file, change.meta.size);
            }
        }
    }

    /// Tells the watchdog which file is read.
    fn name(&self, item: &ItemContext<'_>, part: usize, change: &FileChange, path: &mut PathBuf) {
        path.as_mut_os_string().clear();
        path.push(self.path);
        path.push(&*change.name);
        item.worker.begin_part(part, path);
    }

    /// A head that moves between folders and files takes its time: there, files
    /// are read later, in the order of their inodes.
    fn may_read(&self, item: &ItemContext<'_>) -> bool {
        !item.is_stopped() && !item.run.disks.seeks(self.volume)
    }

    /// Reads a file; `false` where it is not the one that was listed.
    fn add(
        &self,
        item: &mut ItemContext<'_>,
        batch: &mut Batch<'_>,
        change: &FileChange,
        wanted: &mut Wanted,
    ) -> io::Result<bool> {
        let file = match wanted.open.take() {
            Some(file) => file,
            None => self.dir.open_file(&change.name, self.links)?,
        };
        item.answered();
        let state = state_of(change);
        if !is_in_state(file.opened_as(), &state) {
            return Ok(false);
        }
        let read = |chunk: &mut [u8], at| item.read(&file, chunk, at);
        let is_read = batch.add(wanted.index, &file, &state, read)?;
        item.run.disks.note_pace(item.pace, self.volume);
        Ok(is_read)
    }
}

/// Adds the samples of a batch to the changes.
fn finish(item: &ItemContext<'_>, batch: &mut Batch<'_>, changes: &mut [FileChange]) {
    let samples = batch.finish(item.run.algorithm);
    let metrics = &item.run.metrics;
    metrics.candidates.add(samples.len() as u64);
    metrics.files_probed.add(samples.len() as u64);
    for (index, sample) in samples {
        changes[index].sample = Some(sample);
    }
}
