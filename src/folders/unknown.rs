//! Why a folder may hold something that is not known: then it can be called
//! neither a duplicate nor unique.

use std::ops::BitOrAssign;

/// What is missing from the knowledge about a folder, or about all that is
/// below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gaps(u8);

impl Gaps {
    /// Nothing is missing.
    pub const NONE: Self = Self(0);
    /// A file whose content may or may not equal another's.
    pub const UNDETERMINED: Self = Self(1);
    /// A path that could not be read or examined.
    pub const UNREADABLE: Self = Self(2);
    /// A folder that was not listed to its end: the scan is unfinished, or
    /// left it out as offline or on another filesystem.
    pub const UNLISTED: Self = Self(4);
    /// The scan's filters may have left names out.
    pub const FILTERED: Self = Self(8);

    /// Whether nothing is missing.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Whether one of `others` is among them.
    pub fn has(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

impl BitOrAssign for Gaps {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Folders that could not be compared, and why; one may count for several
/// reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// All of them.
    pub folders: u64,
    /// Those with undetermined files.
    pub undetermined: u64,
    /// Those with unreadable paths.
    pub unreadable: u64,
    /// Those not listed to their end.
    pub unlisted: u64,
    /// Those listed with filters.
    pub filtered: u64,
}

impl LeftOut {
    /// Counts one more folder.
    pub(crate) fn add(&mut self, gaps: Gaps) {
        self.folders += 1;
        self.undetermined += u64::from(gaps.has(Gaps::UNDETERMINED));
        self.unreadable += u64::from(gaps.has(Gaps::UNREADABLE));
        self.unlisted += u64::from(gaps.has(Gaps::UNLISTED));
        self.filtered += u64::from(gaps.has(Gaps::FILTERED));
    }
}
