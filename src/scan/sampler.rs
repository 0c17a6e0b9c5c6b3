//! Reading files while their folder is listed, where a first scan can already
//! tell that they may be duplicates. Their rows are then written once,
//! complete. Whatever does not go smoothly is left to the probe stage, which
//! knows about retries and faults.

use std::io;
use std::path::{Path, PathBuf};

use super::access::is_in_state;
use super::pool::WorkerContext;
use super::samples::{SampleReader, WINDOW};
use super::shared::Shared;
use super::sizes::{Meeting, Sizes};
use crate::catalog::{FileChange, FileState, PROBE_SPAN, Sample, WorkCopy};
use crate::fault::{Fault, Step};
use crate::model::{FolderId, VolumeId};
use crate::platform::{Dir, Links};

/// Reads files of one open folder.
pub(super) struct Sampler<'a> {
    pub(super) shared: &'a Shared,
    pub(super) context: &'a WorkerContext,
    pub(super) dir: &'a Dir,
    pub(super) links: Links,
    pub(super) folder: FolderId,
    pub(super) volume: VolumeId,
    pub(super) path: &'a Path,
    pub(super) reader: &'a mut SampleReader,
    /// Cleared by the first failure of the device: it is not asked again and
    /// again here.
    pub(super) is_reading: bool,
}

impl Sampler<'_> {
    /// Reads the new files of the folder that may have duplicates; returns
    /// the bytes read.
    pub(super) fn sample_all(mut self, sizes: &Sizes, changes: &mut [FileChange]) -> u64 {
        let wanted = self.choose(sizes, changes);
        let mut bytes_read = 0;
        let mut path = PathBuf::new();
        for (number, &index) in wanted.iter().enumerate() {
            if number % WINDOW == 0 && self.is_reading && self.reader.waits_for_disk() {
                let ahead = &wanted[number..wanted.len().min(number + WINDOW)];
                self.ask_for(ahead, changes);
            }
            let change = &mut changes[index];
            path.as_mut_os_string().clear();
            path.push(self.path);
            path.push(&change.name);
            self.context.set_path(&path);
            self.context.set_part(index);
            let state = state_of(change);
            match self.read(change, &state) {
                Some(sample) => {
                    bytes_read += state.size.min(PROBE_SPAN);
                    change.sample = Some(sample);
                }
                None => sizes.defer(self.copy(change)),
            }
        }
        bytes_read
    }

    /// The files whose size was met before.
    fn choose(&self, sizes: &Sizes, changes: &[FileChange]) -> Vec<usize> {
        let is_wanted = |change: &FileChange| {
            let is_linked = change.ino.is_some() && change.meta.nlink > 1;
            let meeting = sizes.meet(change.meta.size, is_linked, || self.copy(change));
            meeting == Meeting::ReadNow
        };
        let numbered = changes.iter().enumerate();
        numbered
            .filter(|(_, change)| is_wanted(change))
            .map(|(index, _)| index)
            .collect()
    }

    fn copy(&self, change: &FileChange) -> WorkCopy {
        WorkCopy {
            names: vec![(self.folder, change.name.clone())],
            state: state_of(change),
            volume: self.volume,
        }
    }

    /// Asks the system to read what these files will need.
    fn ask_for(&self, ahead: &[usize], changes: &[FileChange]) {
        for change in ahead.iter().map(|&index| &changes[index]) {
            if let Ok(file) = self.dir.open_file(&change.name, self.links) {
                SampleReader::ask_for(&file, change.meta.size);
            }
        }
    }

    fn read(&mut self, change: &FileChange, state: &FileState) -> Option<Sample> {
        // A head that moves between folders and files takes its time: files
        // are read later, in the order of their inodes.
        self.is_reading &=
            !self.context.shutdown().is_stopped() && !self.shared.disks.seeks(self.volume);
        if !self.is_reading {
            return None;
        }
        match self.open_and_read(change, state) {
            Ok(sample) => {
                if self.reader.waits_for_a_head() {
                    self.shared.disks.note_slow(self.volume);
                }
                self.context.progress(state.size.min(PROBE_SPAN));
                self.context.metrics().candidates.add(1);
                self.context.metrics().files_probed.add(1);
                sample
            }
            Err(error) => {
                self.is_reading = !Fault::from_io(Step::Read, &error).is_device_like();
                None
            }
        }
    }

    /// `None` where the file is not the one that was listed.
    fn open_and_read(
        &mut self,
        change: &FileChange,
        state: &FileState,
    ) -> io::Result<Option<Sample>> {
        if let Some(throttle) = &self.shared.throttle {
            let (context, bytes) = (self.context, state.size.min(PROBE_SPAN));
            throttle.take(bytes, context.shutdown(), || context.progress(0));
        }
        let file = self.dir.open_file(&change.name, self.links)?;
        if !is_in_state(&file.opened_as().meta, state) {
            return Ok(None);
        }
        self.reader.read(&file, state, self.shared.algorithm)
    }
}

fn state_of(change: &FileChange) -> FileState {
    FileState {
        size: change.meta.size,
        mtime_ns: change.meta.mtime_ns,
        ctime_ns: change.meta.ctime_ns,
        ino: change.ino,
    }
}
