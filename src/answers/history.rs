//! Past scans, and what was added and deleted between two of them.

use std::path::{Path, PathBuf};

use crate::catalog::{CatalogError, FileEntry, FileFilter, FileList, ReadOnly, RootRow, ScanRow};
use crate::model::ScanId;

/// A scan, whatever became of it.
pub(crate) struct PastScan {
    pub(crate) scan: ScanRow,
    pub(crate) path: PathBuf,
    /// How the reclaimable bytes of the catalog grew since the scan before.
    pub(crate) growth: Option<i64>,
}

impl PastScan {
    /// The scans at, below or above a place, the newest first.
    pub(crate) fn all(catalog: &ReadOnly, place: Option<&Path>) -> Result<Vec<Self>, CatalogError> {
        let roots = catalog.roots()?;
        let scans = catalog.recent_scans(u32::MAX)?.into_iter();
        let scans = scans.map(|scan| (path_of(&scan, &roots), scan));
        let mut past: Vec<Self> = Vec::new();
        // From the oldest on: each is compared with the one before.
        let mut before = None;
        for (path, scan) in scans.rev() {
            if place.is_some_and(|place| !path.starts_with(place) && !place.starts_with(&path)) {
                continue;
            }
            let now = scan.totals.map(|totals| totals.reclaimable);
            let growth = now
                .zip(before)
                .map(|(now, before)| signed(now) - signed(before));
            before = now.or(before);
            past.push(Self { scan, path, growth });
        }
        past.reverse();
        Ok(past)
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The path that was scanned.
pub(crate) fn path_of(scan: &ScanRow, roots: &[RootRow]) -> PathBuf {
    let root = roots.iter().find(|root| root.id == scan.root);
    let root = root.map_or(Path::new("/"), |root| &root.path);
    root.join(&scan.subpath).components().collect()
}

/// Why there is nothing between two scans.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HistoryError {
    #[error("no scans between {0} and {1}: expected the older scan first")]
    Order(ScanId, ScanId),
    #[error("no scan {wanted}: the newest is {newest} (`dupescan history` lists them)")]
    NoScan { wanted: ScanId, newest: ScanId },
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// The files that were added or deleted after one scan, up to another.
pub(crate) struct Changes(FileList);

impl Changes {
    /// Below a place that is or was in the catalog, or everywhere.
    pub(crate) fn between(
        scans: (ScanId, ScanId),
        catalog: ReadOnly,
        place: Option<&Path>,
        filter: FileFilter,
    ) -> Result<Self, HistoryError> {
        let newest = catalog.as_of()?.map_or(ScanId(0), |as_of| as_of.scan);
        let (from, until) = scans;
        if from >= until {
            return Err(HistoryError::Order(from, until));
        }
        if until > newest {
            let wanted = until;
            return Err(HistoryError::NoScan { wanted, newest });
        }
        let tops = match place {
            Some(place) => catalog.tops_ever(place)?,
            None => catalog.all_tops()?,
        };
        Ok(Self(FileList::changes(catalog, &tops, filter, scans)?))
    }

    pub(crate) fn next_file(&mut self) -> Result<Option<FileEntry>, CatalogError> {
        self.0.next_file()
    }
}
