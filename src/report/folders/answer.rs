//! What `dupescan folders` found, ready to be written.

use std::path::PathBuf;

use crate::folders::{Differences, LeftOut, Measure, Overlap, Side};
use crate::report::style::Header;

/// A whole answer.
#[derive(Debug)]
pub struct FolderReport {
    /// When it was asked for, and up to which scan it holds.
    pub header: Header,
    /// What was left out of the comparison because the user said so.
    pub scope: FolderScope,
    /// What was found.
    pub answer: FolderAnswer,
}

/// What the user left out of the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FolderScope {
    /// Smaller files.
    pub min_size: Option<u64>,
    /// Larger files.
    pub max_size: Option<u64>,
    /// Files with another extension than these, if there are any.
    pub extensions: Vec<String>,
    /// Files that match one of these globs.
    pub exclude: Vec<String>,
    /// What the filters of the scans left out.
    pub as_scanned: bool,
}

/// What was found.
#[derive(Debug)]
pub enum FolderAnswer {
    /// Folders that hold the same files.
    Identical(Identical),
    /// Pairs that hold partly the same.
    Similar(Similar),
}

/// Folders that hold the same files.
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
    /// Bytes that go if all but the first folder go.
    pub reclaimable: u64,
    /// The folders, the one to keep first.
    pub paths: Vec<PathBuf>,
    /// Folders that hold the very files of the one to keep.
    pub aliases: Vec<PathBuf>,
}

/// Sums over groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FolderTotals {
    /// Groups.
    pub groups: u64,
    /// Folders in them.
    pub folders: u64,
    /// What they free.
    pub reclaimable: u64,
    /// Groups that free nothing and are not shown.
    pub linked: u64,
    /// Folders that could not be compared.
    pub left_out: LeftOut,
}

/// Pairs of folders that hold partly the same.
#[derive(Debug)]
pub struct Similar {
    /// The threshold.
    pub percent: u8,
    /// How contents are weighed.
    pub measure: Measure,
    /// Whether the differences of each pair were asked for.
    pub detail: bool,
    /// The pairs to show.
    pub pairs: Vec<FolderPair>,
    /// How many there are.
    pub all: u64,
    /// Whether the search came to its end.
    pub is_complete: bool,
    /// Folders that are paired only with the first of many equal ones.
    pub crowded: u64,
    /// Folders that may have more in common with others than is known.
    pub undetermined: LeftOut,
}

/// Two folders that hold partly the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderPair {
    /// What is in both.
    pub both: Overlap,
    /// What is in one or the other.
    pub either: Overlap,
    /// The two folders and what each has for itself.
    pub sides: [(PathBuf, Side); 2],
    /// What tells them apart, if that was asked for.
    pub differences: Option<Differences>,
}

/// A share in tenths of a percent, rounded; never rounded to all or nothing.
pub(crate) fn per_mille(part: u64, whole: u64) -> u64 {
    if part == whole {
        return 1000;
    }
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    let rounded = (part * 2000 + whole) / (whole * 2);
    let rounded = u64::try_from(rounded).unwrap_or(1000);
    rounded.clamp(u64::from(part > 0), 999)
}
