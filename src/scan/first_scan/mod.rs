//! What a first scan remembers, so that it need not ask the catalog: the sizes it
//! has met, the files that must still be sampled, and the probes it has made. One
//! that is resumed knows the sizes in the catalog, and asks it for the rest.

mod probed;
mod sizes;

use crate::catalog::{CatalogError, FileChange, HashClass, ReadOnly, SampleHash, WorkCopy};
use crate::model::{FileState, FolderId, Probe, ScanOptions, VolumeId, occupied};
use probed::Probed;
pub(crate) use sizes::Meeting;
use sizes::Sizes;

/// The memory of a first scan. It is bounded: where the bound is reached, the
/// answers come from the catalog, as in any other scan.
pub(crate) struct FirstScan {
    sizes: Sizes,
    /// `None` where files that are alone in their class are read too, and where
    /// others were probed before.
    probed: Option<Probed>,
}

impl FirstScan {
    /// The memory of a scan for files that `options` want hashed; `None` if an
    /// earlier scan is complete. Then most files are known, and new names of
    /// them need not be read.
    pub(crate) fn begun(
        options: &ScanOptions,
        catalog: &ReadOnly,
    ) -> Result<Option<Self>, CatalogError> {
        if !catalog.has_files()? {
            return Ok(Some(Self {
                sizes: Sizes::new(options),
                probed: (!options.hash_all).then(Probed::new),
            }));
        }
        if catalog.has_complete_scan()? {
            return Ok(None);
        }
        let known = catalog.sizes(sizes::MOST_COPIES)?;
        Ok(Some(Self {
            sizes: Sizes::resumed(options, known),
            probed: None,
        }))
    }

    /// Notes a file that a listing came across, and says what to do with it.
    pub(crate) fn meet(&self, change: &FileChange, folder: FolderId, volume: VolumeId) -> Meeting {
        // Other names are gathered before a file is read, so that it is read once.
        let is_linked = change.ino.is_some() && change.meta.nlink > 1;
        let copy = || copy_of(change, folder, volume);
        self.sizes.meet(change.meta.size, is_linked, copy)
    }

    /// Takes back a file that was to be read now, which failed.
    pub(crate) fn take_back(&self, change: &FileChange, folder: FolderId, volume: VolumeId) {
        self.sizes.take_back(copy_of(change, folder, volume));
    }

    /// What is to be remembered of a folder's files once they were sent.
    pub(crate) fn probed(
        &self,
        changes: &[FileChange],
        folder: FolderId,
        volume: VolumeId,
    ) -> Vec<(Probe, WorkCopy)> {
        if !self.probed.as_ref().is_some_and(Probed::is_open) {
            return Vec::new();
        }
        let probed = |change: &FileChange| match change.sample?.hash {
            SampleHash::Probe(probe) => Some((probe, copy_of(change, folder, volume))),
            SampleHash::Digest(_) => None,
        };
        changes.iter().filter_map(probed).collect()
    }

    /// Remembers copies whose probes were sent to the writer.
    pub(crate) fn remember(&self, probed: Vec<(Probe, WorkCopy)>) {
        if let Some(memory) = &self.probed {
            memory.note_all(probed);
        }
    }

    /// Forgets what was probed: there are files of which more is known, so that only
    /// the catalog knows which classes are left.
    pub(crate) fn forget_probed(&self) {
        if let Some(memory) = &self.probed {
            memory.take_classes();
        }
    }

    /// The files that are still to be sampled once all is listed, in the order in
    /// which disks are read; `None` when there were more than could be remembered.
    /// Forgets all sizes.
    pub(crate) fn take_candidates(&self) -> Option<Vec<WorkCopy>> {
        let candidates = self.sizes.take_candidates();
        self.sizes.forget();
        candidates
    }

    /// The classes to read whole once all is probed; `None` when there were more
    /// copies than could be remembered, or when this was asked before.
    pub(crate) fn take_classes(&self) -> Option<Vec<HashClass>> {
        self.probed.as_ref()?.take_classes()
    }
}

fn copy_of(change: &FileChange, folder: FolderId, volume: VolumeId) -> WorkCopy {
    WorkCopy {
        names: vec![(folder, change.name.to_os_string())],
        state: state_of(change),
        to_read: occupied(change.meta.size, change.meta.allocated),
        volume,
    }
}

/// The state that a sample of a listed file belongs to.
pub(crate) fn state_of(change: &FileChange) -> FileState {
    FileState {
        size: change.meta.size,
        mtime_ns: change.meta.mtime_ns,
        ctime_ns: change.meta.ctime_ns,
        ino: change.ino,
    }
}
