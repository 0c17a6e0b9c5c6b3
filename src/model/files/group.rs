//! Duplicate groups as reports and summaries show them.

use std::cmp::Reverse;
use std::path::PathBuf;

use serde::Serialize;

use crate::model::digest::{Algorithm, Digest};
use crate::model::ids::ScanId;
use crate::model::time::Timestamp;

/// Files with equal size and digest, as a report shows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The common digest.
    pub digest: Digest,
    /// The algorithm behind `digest`.
    pub algorithm: Algorithm,
    /// The common size in bytes.
    pub size: u64,
    /// Whether all copies were compared byte for byte with each other.
    pub byte_for_byte: bool,
    /// The copies, sorted by the bytes of their paths.
    pub copies: Vec<CopyEntry>,
    /// Which of them keep rules keep, where a report asks.
    pub kept: Option<usize>,
}

impl Group {
    /// Bytes saved by keeping one copy.
    pub fn reclaimable(&self) -> u64 {
        reclaimable(self.copies.iter().map(|copy| copy.occupied))
    }

    /// The copies, each with whether keep rules keep it, where a report asks.
    pub fn marked(&self) -> impl Iterator<Item = (&CopyEntry, Option<bool>)> {
        let is_kept = |at| self.kept.map(|kept| kept == at);
        let copies = self.copies.iter().enumerate();
        copies.map(move |(at, copy)| (copy, is_kept(at)))
    }

    /// The copies that would go: all but the one that counts as kept, which is the
    /// first of those that occupy most.
    pub fn redundant(&self) -> impl Iterator<Item = &CopyEntry> {
        let copies = || self.copies.iter().enumerate();
        let kept = copies().max_by_key(|(at, copy)| (copy.occupied, Reverse(*at)));
        let kept = kept.map(|(at, _)| at);
        copies().filter_map(move |(at, copy)| (Some(at) != kept).then_some(copy))
    }
}

/// Bytes saved by keeping one copy of several, given what each occupies. The one
/// that occupies most counts as kept: whichever is kept in the end, no less is
/// saved.
pub fn reclaimable(copies: impl IntoIterator<Item = u64>) -> u64 {
    let (mut all, mut most) = (0_u128, 0);
    for occupied in copies {
        all += u128::from(occupied);
        most = most.max(occupied);
    }
    u64::try_from(all - u128::from(most)).unwrap_or(u64::MAX)
}

/// The sum of sizes, or the largest number where it is more than that.
pub fn total(sizes: impl IntoIterator<Item = u64>) -> u64 {
    sizes.into_iter().fold(0, u64::saturating_add)
}

/// One copy (volume and inode) in a group, under all its known names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CopyEntry {
    /// Absolute path: the first of the copy's names in byte order; never a
    /// symbolic link.
    pub path: PathBuf,
    /// Path of the root that `path` is in.
    pub root: PathBuf,
    /// Modification time in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Change time in nanoseconds since 1970.
    pub ctime_ns: i64,
    /// The volume's identity, for instance `uuid:…`.
    pub volume: String,
    /// Inode number; `None` where the filesystem's numbers are not stable.
    pub inode: Option<u64>,
    /// Bytes that deleting it would give back.
    pub occupied: u64,
    /// The copy's other names (hard links, bind mounts), in byte order.
    pub links: Vec<PathBuf>,
    /// Symbolic links to the copy, and its paths through linked folders, in byte
    /// order: deleting these leaves nothing to reclaim, or deletes the copy.
    pub symlinks: Vec<PathBuf>,
}

impl CopyEntry {
    /// All names of the copy that are not symbolic links.
    pub fn names(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.path).chain(&self.links)
    }
}

/// A group as a summary shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopGroup {
    /// The common size in bytes.
    pub size: u64,
    /// Number of copies.
    pub copies: u64,
    /// Bytes saved by keeping one copy.
    pub reclaimable: u64,
    /// The first path in byte order.
    pub path: PathBuf,
}

impl From<&Group> for TopGroup {
    fn from(group: &Group) -> Self {
        Self {
            size: group.size,
            copies: group.copies.len() as u64,
            reclaimable: group.reclaimable(),
            path: group
                .copies
                .first()
                .map(|copy| copy.path.clone())
                .unwrap_or_default(),
        }
    }
}

/// A folder as a summary shows it: what deleting its redundant copies would
/// save. In each group all copies but the one that counts as kept are redundant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopFolder {
    /// The folder that the copies are in.
    pub path: PathBuf,
    /// The number of redundant copies.
    pub copies: u64,
    /// Their bytes.
    pub reclaimable: u64,
}

/// What a scan ends with, over the whole catalog.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// The sums.
    pub totals: Totals,
    /// The groups with the most reclaimable bytes.
    pub groups: Vec<TopGroup>,
    /// The folders with the most reclaimable bytes.
    pub folders: Vec<TopFolder>,
}

/// The sums under a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// Number of groups.
    pub groups: u64,
    /// Number of copies in them.
    pub copies: u64,
    /// Bytes saved by keeping one copy of each group.
    pub reclaimable: u64,
    /// Files that are neither known duplicates nor known unique.
    pub unchecked: u64,
}

/// Up to which scan an answer from the catalog holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsOf {
    /// The newest scan in the catalog.
    pub scan: ScanId,
    /// When that scan ended; `None` while it is unfinished.
    pub finished: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_that_occupies_most_counts_as_kept() {
        let copy = |path: &str, occupied| CopyEntry {
            path: path.into(),
            occupied,
            ..CopyEntry::default()
        };
        let mut group = Group {
            digest: Digest::from_bytes(&[1; 32]).unwrap(),
            algorithm: Algorithm::Sha256,
            size: 10,
            byte_for_byte: false,
            kept: None,
            copies: vec![copy("/a", 4)],
        };
        let redundant = |group: &Group| -> Vec<PathBuf> {
            let copies = group.redundant();
            copies.map(|copy| copy.path.clone()).collect()
        };
        assert_eq!((group.reclaimable(), redundant(&group)), (0, vec![]));
        group.copies.extend([copy("/b", 10), copy("/c", 10)]);
        assert_eq!(group.reclaimable(), 14);
        assert_eq!(redundant(&group), ["/a", "/c"].map(PathBuf::from));
        group.copies.clear();
        assert_eq!((group.reclaimable(), redundant(&group)), (0, vec![]));
    }

    #[test]
    fn what_is_reclaimable_cannot_overflow() {
        assert_eq!(reclaimable([u64::MAX, u64::MAX]), u64::MAX);
        assert_eq!(reclaimable([u64::MAX; 3]), u64::MAX);
        assert_eq!(reclaimable([]), 0);
    }
}
