//! Which files of one place have no copy in another, and whether the one is
//! safe to wipe.

mod caveats;
mod compare;
mod folders;
mod verdict;

use crate::catalog::{CatalogError, DiffFile, FileFilter, PlaceDiff, ReadOnly};

use super::place::Place;
use crate::model::{SizeLimits, total};
pub(crate) use caveats::{DiffSide, Objection};
use compare::Comparison;
pub(crate) use folders::{Folders, MountPoints, OutOfSight};
pub(crate) use verdict::{DiffVerdict, SharedView, WhyUnchecked};

/// Files and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FileCount {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl FileCount {
    fn add(&mut self, size: u64) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(size);
    }
}

/// The files of one place, compared with another.
pub(crate) struct Diff {
    comparison: Comparison,
    pub(crate) ours: DiffSide,
    pub(crate) theirs: DiffSide,
    /// Whether the places were taken for separate storage without proof.
    pub(crate) assumed_separate: bool,
    /// Why the places may be the same storage.
    pub(crate) shared_view: Option<SharedView>,
    /// Whether a filter chose the files.
    pub(crate) is_partial: bool,
    /// Empty files of our place; they are not compared.
    pub(crate) empty: u64,
    pub(crate) duplicate: FileCount,
    pub(crate) only: FileCount,
    pub(crate) unchecked: FileCount,
    /// Files that are not compared because of their size.
    pub(crate) not_compared: FileCount,
    /// The limits of their roots; `None` where those differ.
    pub(crate) limits: Option<SizeLimits>,
    /// How the folders of our place are now.
    pub(crate) folders: Folders,
}

impl Diff {
    /// Looks at the places and their folders; [`Diff::next_files`] compares.
    pub(crate) fn start(
        catalog: ReadOnly,
        ours: &Place,
        theirs: &Place,
        filter: FileFilter,
        assume_separate: bool,
    ) -> Result<Self, CatalogError> {
        let is_partial = !filter.is_open();
        let places = PlaceDiff::build(catalog, &ours.tops, &theirs.tops, filter)?;
        let (our_side, empty) = caveats::ours(&places, ours)?;
        let their_side = caveats::theirs(&places, theirs)?;
        let limits = places.catalog().not_compared()?;
        let limits = limits.and_then(|found| found.limits);
        let mut comparison = Comparison::new(places, assume_separate)?;
        Ok(Self {
            ours: our_side,
            theirs: their_side,
            assumed_separate: assume_separate,
            shared_view: None,
            is_partial,
            empty,
            duplicate: FileCount::default(),
            only: FileCount::default(),
            unchecked: FileCount::default(),
            not_compared: FileCount::default(),
            limits,
            folders: comparison.look_at_folders(&ours.path)?,
            comparison,
        })
    }

    /// The next files, and what they are; none at the end.
    pub(crate) fn next_files(&mut self) -> Result<Vec<(DiffFile, DiffVerdict)>, CatalogError> {
        let files = self.comparison.next_files()?;
        for (file, verdict) in &files {
            if let DiffVerdict::Unchecked(WhyUnchecked::MaybeItself(view)) = verdict {
                self.shared_view = Some(*view);
            }
            let count = match verdict {
                DiffVerdict::Duplicate => &mut self.duplicate,
                DiffVerdict::Only { .. } => &mut self.only,
                DiffVerdict::Unchecked(_) => &mut self.unchecked,
                DiffVerdict::NotCompared => &mut self.not_compared,
            };
            count.add(file.state.size);
        }
        Ok(files)
    }

    /// All files compared so far.
    pub(crate) fn all(&self) -> FileCount {
        let counts = [self.duplicate, self.only, self.unchecked, self.not_compared];
        FileCount {
            files: counts.iter().map(|count| count.files).sum(),
            bytes: total(counts.iter().map(|count| count.bytes)),
        }
    }

    /// Whether our place is safe to wipe.
    pub(crate) fn is_safe(&self) -> bool {
        self.ours.objections.is_empty()
            && self.theirs.objections.is_empty()
            && !self.is_partial
            && self.folders.are_as_scanned()
            && (self.only.files, self.unchecked.files) == (0, 0)
            && self.not_compared.files == 0
    }
}
