//! How far acting is, for whoever watches from another thread.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::catalog::{CatalogError, ReadOnly};
use crate::model::{ActionEntry, ActionId, RunId, total};

/// Entries that are read at a time.
const PAGE: u32 = 1_024;

/// Counters that acting keeps up to date. `Relaxed` is enough: they are only shown.
#[derive(Debug, Default)]
pub struct ActProgress {
    files: AtomicU64,
    files_expected: AtomicU64,
    bytes: AtomicU64,
    bytes_expected: AtomicU64,
    skipped: AtomicU64,
    is_measuring: AtomicBool,
    path: Mutex<PathBuf>,
}

/// One moment of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActMoment {
    /// Files that are dealt with: done, or skipped.
    pub files: u64,
    /// All of them.
    pub files_expected: u64,
    /// Bytes that these occupy, of the one in hand as far as it was compared.
    pub bytes: u64,
    /// Bytes of all of them.
    pub bytes_expected: u64,
    /// Files that were skipped.
    pub skipped: u64,
    /// Whether a plan that was made is being measured.
    pub is_measuring: bool,
    /// The file in hand, or the last one; empty before the first.
    pub path: PathBuf,
}

impl ActProgress {
    /// So much is to be done.
    pub fn expect(&self, files: u64, bytes: u64) {
        self.files_expected.store(files, Ordering::Relaxed);
        self.bytes_expected.store(bytes, Ordering::Relaxed);
    }

    /// A plan is made, and that many groups of it are to be measured.
    pub(crate) fn measure(&self, groups: u64) {
        self.is_measuring.store(true, Ordering::Relaxed);
        self.files.store(0, Ordering::Relaxed);
        self.files_expected.store(groups, Ordering::Relaxed);
    }

    /// The file in hand.
    pub(crate) fn at(&self, path: &Path) {
        path.clone_into(&mut self.path.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Files that are dealt with.
    pub(crate) fn dealt_with(&self, files: u64) {
        self.files.fetch_add(files, Ordering::Relaxed);
    }

    /// Files that are skipped, which is a way to deal with them.
    pub(crate) fn skipped(&self, files: u64) {
        self.skipped.fetch_add(files, Ordering::Relaxed);
        self.dealt_with(files);
    }

    /// Bytes that are dealt with.
    pub(crate) fn bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The present moment.
    pub fn moment(&self) -> ActMoment {
        let path = self.path.lock().unwrap_or_else(PoisonError::into_inner);
        ActMoment {
            files: self.files.load(Ordering::Relaxed),
            files_expected: self.files_expected.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            bytes_expected: self.bytes_expected.load(Ordering::Relaxed),
            skipped: self.skipped.load(Ordering::Relaxed),
            is_measuring: self.is_measuring.load(Ordering::Relaxed),
            path: path.clone(),
        }
    }
}

/// Expects those entries of runs that are wanted.
pub(crate) fn expect(
    catalog: &ReadOnly,
    runs: &[RunId],
    progress: &ActProgress,
    is_wanted: impl Fn(&ActionEntry) -> bool,
) -> Result<(), CatalogError> {
    let (mut files, mut bytes) = (0, 0);
    for run in runs {
        let mut after = ActionId(0);
        loop {
            let page = catalog.actions(*run, after, PAGE)?;
            let Some(last) = page.last() else {
                break;
            };
            after = last.id;
            for entry in page.iter().filter(|entry| is_wanted(entry)) {
                files += 1;
                bytes = total([bytes, entry.action.occupied]);
            }
        }
    }
    progress.expect(files, bytes);
    Ok(())
}

/// The bytes of a file in hand: what is not counted while it is compared is counted
/// at its end, whatever became of it.
pub(crate) struct InHand<'p> {
    progress: &'p ActProgress,
    size: u64,
    left: AtomicU64,
    occupied: u64,
}

impl<'p> InHand<'p> {
    /// A file of this size, which occupies so much.
    pub(crate) fn new(progress: &'p ActProgress, size: u64, occupied: u64) -> Self {
        Self {
            progress,
            size,
            left: AtomicU64::new(occupied),
            occupied,
        }
    }

    /// It was compared up to here.
    pub(crate) fn compared(&self, offset: u64) {
        let share = u128::from(self.occupied) * u128::from(offset) / u128::from(self.size.max(1));
        let left = self
            .occupied
            .saturating_sub(u64::try_from(share).unwrap_or(u64::MAX));
        let before = self.left.fetch_min(left, Ordering::Relaxed);
        self.progress.bytes(before.saturating_sub(left));
    }
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        self.compared(self.size);
    }
}
