//! Reading files while their folder is listed, where a first scan can already
//! tell that they may be duplicates. Their rows are then written once,
//! complete. Whatever does not go smoothly is left to the probe stage, which
//! knows about retries and faults.

use std::io;
use std::path::{Path, PathBuf};

use super::access::is_in_state;
use super::pool::WorkerContext;
use super::probe::read_sample;
use super::shared::Shared;
use super::sizes::{Meeting, Sizes};
use crate::catalog::{FileChange, FileState, PROBE_SPAN, Sample, WorkCopy};
use crate::fault::{Fault, Step};
use crate::model::{FolderId, VolumeId, now_ns};
use crate::platform::{AlignedBuffer, Dir, Links};

/// Reads files of one open folder.
pub(super) struct Sampler<'a> {
    pub(super) shared: &'a Shared,
    pub(super) context: &'a WorkerContext,
    pub(super) dir: &'a Dir,
    pub(super) links: Links,
    pub(super) folder: FolderId,
    pub(super) volume: VolumeId,
    pub(super) path: &'a Path,
    pub(super) buffer: &'a mut AlignedBuffer,
    /// Cleared by the first failure of the device: it is not asked again and
    /// again here.
    pub(super) is_reading: bool,
}

impl Sampler<'_> {
    /// Reads the new files of the folder that may have duplicates; returns
    /// the bytes read.
    pub(super) fn sample_all(mut self, sizes: &Sizes, changes: &mut [FileChange]) -> u64 {
        let (folder, volume) = (self.folder, self.volume);
        let mut bytes_read = 0;
        let mut path = PathBuf::new();
        for (part, change) in changes.iter_mut().enumerate() {
            let state = state_of(change);
            let copy = || WorkCopy {
                names: vec![(folder, change.name.clone())],
                state,
                volume,
            };
            let is_linked = change.ino.is_some() && change.meta.nlink > 1;
            if sizes.meet(state.size, is_linked, copy) == Meeting::Leave {
                continue;
            }
            path.as_mut_os_string().clear();
            path.push(self.path);
            path.push(&change.name);
            self.context.set_path(&path);
            self.context.set_part(part);
            match self.read(change, &state) {
                Some(sample) => {
                    bytes_read += state.size.min(PROBE_SPAN);
                    change.sample = Some(sample);
                }
                None => sizes.defer(copy()),
            }
        }
        bytes_read
    }

    fn read(&mut self, change: &FileChange, state: &FileState) -> Option<Sample> {
        self.is_reading &= !self.context.shutdown().is_stopped();
        if !self.is_reading {
            return None;
        }
        match self.open_and_read(change, state) {
            Ok(sample) => {
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
        read_sample(&file, state, self.shared, self.buffer, now_ns())
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
