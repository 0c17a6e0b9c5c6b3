//! What was found, with the paths that a forest does not know.

use std::path::PathBuf;

use serde::Serialize;

use super::comparer::PairSide;
use super::difference::Differences;
use super::prefix::Measure;
use super::similar::Overlap;
use super::unknown::UncheckedFolders;

/// What was found.
#[derive(Debug)]
pub enum FolderAnswer {
    /// Duplicate folders.
    Identical(Identical),
    /// Pairs of similar folders.
    Similar(Similar),
}

/// Duplicate folders.
#[derive(Debug, Default)]
pub struct Identical {
    /// Whether files had to have the same names too.
    pub same_names: bool,
    /// The groups to show.
    pub groups: Vec<FolderGroup>,
    /// Sums over all groups, shown or not.
    pub totals: FolderTotals,
}

/// A group of identical folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderGroup {
    /// Files in each.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Bytes saved by deleting all folders but the first.
    pub reclaimable: u64,
    /// The folders, the one to keep first.
    pub paths: Vec<PathBuf>,
    /// Folders with the same files as the one to keep.
    pub aliases: Vec<PathBuf>,
}

/// Sums over groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct FolderTotals {
    /// Groups.
    pub groups: u64,
    /// Folders in them.
    pub folders: u64,
    /// Their reclaimable bytes.
    pub reclaimable: u64,
    /// Groups of hard links, which are not shown: there is nothing to reclaim.
    pub linked_groups: u64,
    /// Groups of folders with only empty files, which are not shown either.
    pub empty_groups: u64,
    /// Folders that cannot be compared.
    pub unchecked: UncheckedFolders,
}

/// Pairs of similar folders.
#[derive(Debug)]
pub struct Similar {
    /// The threshold.
    pub percent: u8,
    /// The similarity measure.
    pub measure: Measure,
    /// Whether the differences of each pair were asked for.
    pub detail: bool,
    /// The pairs to show.
    pub pairs: Vec<FolderPair>,
    /// How many there are.
    pub all: u64,
    /// Whether the search was complete.
    pub is_complete: bool,
    /// Folders paired only with the first of many identical ones.
    pub crowded: u64,
    /// Folders that may have more in common with others than is known.
    pub unchecked: UncheckedFolders,
}

/// Two similar folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderPair {
    /// What is in both.
    pub both: Overlap,
    /// What is in one or the other.
    pub either: Overlap,
    /// The two folders, and what only each has.
    pub sides: [(PathBuf, PairSide); 2],
    /// Their differences, if asked for.
    pub differences: Option<Differences>,
}
