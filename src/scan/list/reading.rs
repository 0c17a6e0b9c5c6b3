//! Reading files of a folder while it is listed, in a first scan: how many are
//! opened at first sight, which are read, and what is remembered of them.

use std::path::PathBuf;

use super::contents::Parts;
use super::{Folder, Visit};
use crate::catalog::{FileChange, PartListing, WorkCopy};
use crate::model::Probe;
use crate::platform::{OpenFile, Volume};
use crate::scan::context::Shared;
use crate::scan::read::{SampleReader, Sampler, probed_copies};

/// Files that are kept open from the first look at them until they are read.
const MOST_OPEN: usize = 256;

impl Folder {
    /// How many files are opened at first sight: none, unless most are read
    /// anyway. Then the handle tells what asking by name would, and is there
    /// already. Not where the catalog is: closing a handle of it would drop
    /// SQLite's locks.
    pub(crate) fn most_open(
        &self,
        visit: &Visit<'_>,
        volume: &Volume,
        reader: &SampleReader,
    ) -> usize {
        let Visit { shared, item, .. } = visit;
        let is_local = volume.stable_inodes && !volume.network;
        let is_own = shared.own_folder == Some(self.stat.id());
        let will_read = shared.sizes.is_some() && item.hung.is_none() && reader.reads_most();
        match is_local && will_read && !is_own {
            true => shared.files_at_once.min(MOST_OPEN),
            false => 0,
        }
    }

    /// Reads files that may be duplicates, in a first scan; returns how many
    /// bytes.
    pub(crate) fn read_files(
        &self,
        parts: &Parts<'_>,
        reader: &mut SampleReader,
        changes: &mut [FileChange],
        open: Vec<OpenFile>,
    ) -> u64 {
        let visit = parts.visit;
        let Some(sizes) = &visit.shared.sizes else {
            return 0;
        };
        let sampler = Sampler {
            shared: visit.shared,
            context: visit.context,
            dir: &self.dir,
            links: self.links,
            folder: visit.item.folder,
            volume: parts.volume,
            path: parts.path,
            path_buffer: PathBuf::new(),
            reader,
            is_reading: visit.item.hung.is_none(),
            hung: visit.item.hung.as_deref(),
        };
        sampler.sample_all(sizes, changes, open)
    }
}

/// The copies of a part that are to be remembered once it was sent.
pub(crate) fn probed(parts: &Parts<'_>, files: &PartListing) -> Vec<(Probe, WorkCopy)> {
    match parts.visit.shared.open_memory() {
        Some(_) => probed_copies(&files.changes, files.folder, parts.volume),
        None => Vec::new(),
    }
}

pub(crate) fn remember(shared: &Shared, probed: Vec<(Probe, WorkCopy)>) {
    if let Some(memory) = shared.open_memory() {
        memory.note_all(probed);
    }
}
