//! Reading files while their folder is listed, where a first scan can already
//! tell that they may be duplicates. Their rows are then written once,
//! complete. Whatever does not go smoothly is left to the probe stage, which
//! knows about retries and faults.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use super::samples::{SampleReader, Taken, WINDOW};
use super::sizes::{Meeting, Sizes};
use crate::catalog::{FileChange, SampleHash, WorkCopy};
use crate::model::sampling::{is_short, sample_length};
use crate::model::{Fault, FileState, FolderId, Probe, Step, VolumeId, now_ns};
use crate::platform::{Dir, Links, OpenFile};
use crate::pool::WorkerContext;
use crate::scan::context::Shared;

/// Reads files of one open folder.
pub(crate) struct Sampler<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) context: &'a WorkerContext,
    pub(crate) dir: &'a Dir,
    pub(crate) links: Links,
    pub(crate) folder: FolderId,
    pub(crate) volume: VolumeId,
    pub(crate) path: &'a Path,
    /// For the path of the file that is read.
    pub(crate) path_buffer: PathBuf,
    pub(crate) reader: &'a mut SampleReader,
    /// Cleared by the first failure of the device: it is not asked again and
    /// again here.
    pub(crate) is_reading: bool,
    /// A file that must not be touched again.
    pub(crate) hung: Option<&'a OsStr>,
}

/// A file that is to be read.
struct Wanted {
    /// Its place among the changes.
    index: usize,
    /// Its handle, where it was opened when it was listed.
    open: Option<OpenFile>,
}

impl Sampler<'_> {
    /// Reads the new files of the folder that may have duplicates; returns
    /// the bytes read.
    pub(crate) fn sample_all(
        mut self,
        sizes: &Sizes,
        changes: &mut [FileChange],
        open: Vec<OpenFile>,
    ) -> u64 {
        self.reader.turn_to(self.volume);
        let mut wanted = self.choose(sizes, changes, open);
        // The shortest last, so that files that are hashed together end together.
        wanted.sort_unstable_by_key(|file| Reverse(changes[file.index].meta.size));
        let mut bytes_read = 0;
        for window in wanted.chunks_mut(WINDOW) {
            if self.is_reading && self.reader.waits_for_disk() {
                self.ask_for(window, changes);
            }
            let long = window.partition_point(|file| !is_short(changes[file.index].meta.size));
            let (long, short) = window.split_at_mut(long);
            for file in long.chunks_mut(1) {
                bytes_read += self.sample(file, sizes, changes);
            }
            let mut rest = short;
            while !rest.is_empty() {
                let together = rest.iter().map(|file| changes[file.index].meta.size);
                let (batch, later) = rest.split_at_mut(SampleReader::fitting(together));
                bytes_read += self.sample(batch, sizes, changes);
                rest = later;
            }
        }
        bytes_read
    }

    /// Reads one file, or several short ones, and hashes them together; returns
    /// the bytes read.
    fn sample(&mut self, batch: &mut [Wanted], sizes: &Sizes, changes: &mut [FileChange]) -> u64 {
        let (mut taken, mut bytes_read) = (Vec::with_capacity(batch.len()), 0);
        let mut read = Vec::with_capacity(batch.len());
        let began = now_ns();
        for Wanted { index, open } in batch {
            let (index, open) = (*index, open.take());
            let change = &changes[index];
            self.name(index, change);
            match self.take(change, open, began) {
                Some(sample) => {
                    bytes_read += sample_length(change.meta.size) as u64;
                    taken.push(sample);
                    read.push(index);
                }
                None if self.hung == Some(&*change.name) => {}
                None => sizes.take_back(self.copy(change)),
            }
        }
        self.context.progress(bytes_read);
        let metrics = &self.shared.metrics;
        metrics.candidates.add(taken.len() as u64);
        metrics.files_probed.add(taken.len() as u64);
        let samples = self.reader.hash(&taken, self.shared.algorithm);
        for (index, sample) in read.into_iter().zip(samples) {
            changes[index].sample = Some(sample);
        }
        bytes_read
    }

    /// Tells the watchdog which file is read.
    fn name(&mut self, index: usize, change: &FileChange) {
        self.path_buffer.as_mut_os_string().clear();
        self.path_buffer.push(self.path);
        self.path_buffer.push(&*change.name);
        self.context.begin_part(index, &self.path_buffer);
    }

    /// The files to read now; handles of others are closed.
    fn choose(
        &mut self,
        sizes: &Sizes,
        changes: &[FileChange],
        open: Vec<OpenFile>,
    ) -> Vec<Wanted> {
        let mut wanted = Vec::with_capacity(changes.len());
        let mut open = open.into_iter().peekable();
        for (index, change) in changes.iter().enumerate() {
            // Both are in the order of the names.
            let open = open.next_if(|file| file.opened_as().meta == change.meta);
            let is_linked = change.ino.is_some() && change.meta.nlink > 1;
            let meeting = sizes.meet(change.meta.size, is_linked, || self.copy(change));
            let is_wanted = meeting == Meeting::ReadNow;
            self.reader.note_wanted(is_wanted);
            if is_wanted {
                wanted.push(Wanted { index, open });
            }
        }
        wanted
    }

    fn copy(&self, change: &FileChange) -> WorkCopy {
        copy_of(change, self.folder, self.volume)
    }

    /// Asks the system to read what these files will need.
    fn ask_for(&self, ahead: &[Wanted], changes: &[FileChange]) {
        for Wanted { index, open } in ahead {
            let change = &changes[*index];
            if let Some(file) = open {
                SampleReader::ask_for(file, change.meta.size);
            } else if let Ok(file) = self.dir.open_file(&change.name, self.links) {
                SampleReader::ask_for(&file, change.meta.size);
            }
        }
    }

    fn take(&mut self, change: &FileChange, open: Option<OpenFile>, began: i64) -> Option<Taken> {
        // A head that moves between folders and files takes its time: files
        // are read later, in the order of their inodes.
        self.is_reading &=
            !self.context.shutdown().is_stopped() && !self.shared.disks.seeks(self.volume);
        if !self.is_reading {
            return None;
        }
        let state = state_of(change);
        match self.open_and_take(change, &state, open, began) {
            Ok(taken) => {
                self.shared.disks.note_pace(self.reader.pace(), self.volume);
                taken
            }
            Err(error) => {
                self.is_reading = !Fault::from_io(Step::Read, &error).is_device_like();
                None
            }
        }
    }

    /// `None` where the file is not the one that was listed.
    fn open_and_take(
        &mut self,
        change: &FileChange,
        state: &FileState,
        open: Option<OpenFile>,
        began: i64,
    ) -> io::Result<Option<Taken>> {
        if let Some(throttle) = &self.shared.throttle {
            let (context, bytes) = (self.context, sample_length(state.size) as u64);
            throttle.take(bytes, context.shutdown(), || context.progress(0));
        }
        let file = match open {
            Some(file) => file,
            None => self.dir.open_file(&change.name, self.links)?,
        };
        if !state.is_of(&file.opened_as().meta) {
            return Ok(None);
        }
        self.reader.take(&file, state, began)
    }
}

/// The copies among these files that were probed, and their probes.
pub(crate) fn probed_copies(
    changes: &[FileChange],
    folder: FolderId,
    volume: VolumeId,
) -> Vec<(Probe, WorkCopy)> {
    let probed = |change: &FileChange| match change.sample?.hash {
        SampleHash::Probe(probe) => Some((probe, copy_of(change, folder, volume))),
        SampleHash::Digest(_) => None,
    };
    changes.iter().filter_map(probed).collect()
}

fn copy_of(change: &FileChange, folder: FolderId, volume: VolumeId) -> WorkCopy {
    WorkCopy {
        names: vec![(folder, change.name.to_os_string())],
        state: state_of(change),
        volume,
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
