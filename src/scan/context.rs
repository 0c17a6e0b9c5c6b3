//! What all workers of one run share.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::devices::{Disks, Throttle};
use super::observe::Metrics;
use super::read::{Probed, Sizes};
use super::scope::Scope;
use crate::access::{OpenRoots, Opener, volume_row};
use crate::catalog::{CatalogError, WorkName, WriterHandle};
use crate::model::{Algorithm, ListingOptions, ScanId, VolumeId};
use crate::platform::{Dir, FileId, Stat, Volume, VolumeTable};

/// The surroundings of every work item.
pub(crate) struct Shared {
    /// The catalog's path, for read connections.
    pub catalog: PathBuf,
    /// Where records go.
    pub writer: WriterHandle,
    /// What the run counts.
    pub metrics: Arc<Metrics>,
    /// The roots that can be read.
    pub roots: Arc<OpenRoots>,
    /// The compiled name filters.
    pub scope: Scope,
    /// The other options about what is listed.
    pub listing: ListingOptions,
    /// Whether a ctime that moved alone counts as no change.
    pub ignore_ctime: bool,
    /// Whether a mount point without its filesystem is listed as it is.
    pub allow_empty: bool,
    /// The digest algorithm.
    pub algorithm: Algorithm,
    /// The scan that reading files is counted for.
    pub lead: ScanId,
    /// `--bwlimit`.
    pub throttle: Option<Throttle>,
    /// The catalog's own files, which no scan reports.
    pub own_files: Vec<FileId>,
    /// The folder that the catalog is in.
    pub own_folder: Option<FileId>,
    /// How many files a worker may have open at once.
    pub files_at_once: usize,
    /// Volumes met so far.
    pub volumes: VolumeTable,
    /// Their rows, by device.
    pub volume_rows: Mutex<HashMap<u64, VolumeId>>,
    /// Folders visited, where links are followed.
    pub visited: Mutex<HashSet<FileId>>,
    /// The next number for a comparison.
    pub next_comparison: AtomicI64,
    /// How disks are read.
    pub disks: Arc<Disks>,
    /// The sizes met in a first scan; `None` where the catalog knows files
    /// already, whose sizes and digests count too.
    pub sizes: Option<Sizes>,
    /// What a first scan probed; `None` where the catalog says what is to be
    /// read whole.
    pub probed: Option<Probed>,
}

impl Shared {
    /// The volume of an open folder and its row in the catalog.
    pub(crate) fn volume(
        &self,
        dir: &Dir,
        stat: &Stat,
    ) -> Result<io::Result<(Arc<Volume>, VolumeId)>, CatalogError> {
        let volume = match self.volumes.of(dir, stat.dev) {
            Ok(volume) => volume,
            Err(error) => return Ok(Err(error)),
        };
        let mut rows = self
            .volume_rows
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = rows.get(&stat.dev) {
            return Ok(Ok((volume, *id)));
        }
        let id = self.writer.register_volume(volume_row(&volume))?;
        rows.insert(stat.dev, id);
        self.disks.meet(id, stat.dev, volume.network);
        Ok(Ok((volume, id)))
    }

    /// Whether a name's folder still lies on `volume`. Where a disk is no longer
    /// mounted, the folder below the mount says nothing about its files.
    pub(crate) fn lies_on(
        &self,
        opener: &mut Opener,
        name: &WorkName,
        volume: VolumeId,
    ) -> Result<bool, CatalogError> {
        let Some((dir, stat)) = opener.folder_of(name)? else {
            return Ok(false);
        };
        Ok(self.volume(&dir, &stat)?.is_ok_and(|(_, id)| id == volume))
    }

    /// Whether this is the first visit to a folder; always, unless links are
    /// followed.
    pub(crate) fn is_first_visit(&self, folder: FileId) -> bool {
        !self.listing.follow_links
            || self
                .visited
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(folder)
    }

    /// Starts over: each root holds what links in it lead to, also into
    /// another root.
    pub(crate) fn forget_visits(&self) {
        self.visited
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// The memory of what was probed, where the classes to read come from it.
    pub(crate) fn open_memory(&self) -> Option<&Probed> {
        self.probed.as_ref().filter(|probed| probed.is_open())
    }

    /// A number that no other comparison has.
    pub(crate) fn comparison(&self) -> i64 {
        self.next_comparison.fetch_add(1, Ordering::Relaxed)
    }
}
