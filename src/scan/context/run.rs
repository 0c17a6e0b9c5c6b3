//! What all work items of one run share.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::listing::ListingContext;
use crate::access::{OpenRoots, VolumeTops, volume_row};
use crate::catalog::{CatalogError, NO_SCAN, WriterHandle};
use crate::model::{Algorithm, IoMode, ScanId, VolumeId, now_ns};
use crate::platform::{Dir, Stat, Volume, VolumeTable};
use crate::scan::devices::{Disks, Throttle};
use crate::scan::first_scan::FirstScan;
use crate::scan::observe::Metrics;

/// The surroundings of every work item.
pub(crate) struct RunContext {
    /// The catalog's path, for read connections.
    pub(crate) catalog: PathBuf,
    /// Where records go.
    pub(crate) writer: WriterHandle,
    /// What the run counts.
    pub(crate) metrics: Arc<Metrics>,
    /// The roots that can be read.
    pub(crate) roots: Arc<OpenRoots>,
    /// The digest algorithm.
    pub(crate) algorithm: Algorithm,
    /// The scan that reading files is counted for.
    pub(crate) lead: ScanId,
    /// `--bwlimit`.
    pub(crate) throttle: Option<Throttle>,
    /// How disks are read.
    pub(crate) disks: Arc<Disks>,
    /// How many files a worker may have open at once.
    pub(crate) files_at_once: usize,
    /// What listing folders needs; an audit lists none.
    pub(crate) listing: Option<ListingContext>,
    /// The memory of a first scan; `None` where the catalog knows files already,
    /// whose sizes and digests count too.
    pub(crate) first_scan: Option<FirstScan>,
    /// Volumes met so far.
    pub(crate) volumes: VolumeTable,
    /// Whether what is read is on the volumes that were scanned; of interest where
    /// nothing is listed.
    pub(crate) tops: VolumeTops,
    /// Their rows, by device.
    pub(crate) volume_rows: Mutex<HashMap<u64, VolumeId>>,
    /// The next number for a comparison.
    pub(crate) next_comparison: AtomicI64,
}

impl RunContext {
    /// The context of a run that lists nothing, belongs to no scan and has no
    /// limits; others override what they need.
    pub(crate) fn new(
        catalog: PathBuf,
        writer: WriterHandle,
        metrics: &Arc<Metrics>,
        roots: OpenRoots,
        algorithm: Algorithm,
    ) -> Self {
        Self {
            catalog,
            writer,
            metrics: Arc::clone(metrics),
            roots: Arc::new(roots),
            algorithm,
            lead: NO_SCAN,
            throttle: None,
            disks: Arc::new(Disks::new(IoMode::default())),
            files_at_once: 1,
            listing: None,
            first_scan: None,
            volumes: VolumeTable::new(),
            tops: VolumeTops::default(),
            volume_rows: Mutex::default(),
            next_comparison: AtomicI64::new(now_ns()),
        }
    }

    /// What listing folders needs.
    pub(crate) fn listing(&self) -> &ListingContext {
        let listing = self.listing.as_ref();
        listing.expect("only scans list folders, and they say how")
    }

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
        let rows = self.volume_rows.lock();
        let mut rows = rows.unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = rows.get(&stat.dev) {
            return Ok(Ok((volume, *id)));
        }
        let id = self.writer.register_volume(volume_row(&volume))?;
        rows.insert(stat.dev, id);
        self.disks.meet(id, &volume);
        Ok(Ok((volume, id)))
    }

    /// A number that no other comparison has.
    pub(crate) fn comparison(&self) -> i64 {
        self.next_comparison.fetch_add(1, Ordering::Relaxed)
    }
}
