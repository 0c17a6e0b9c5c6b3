//! Why a folder is incomplete: then it can be called neither a duplicate nor
//! unique.

use std::ops::BitOrAssign;

use serde::Serialize;

/// What is not known about a folder, or about its subtree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unknown(u8);

impl Unknown {
    /// Nothing is missing.
    pub const NONE: Self = Self(0);
    /// A file whose content may or may not equal another's.
    pub const UNRESOLVED: Self = Self(1);
    /// An unreadable path.
    pub const UNREADABLE: Self = Self(2);
    /// A folder that was not fully listed: the scan is unfinished, or skipped it
    /// as offline or on another filesystem.
    pub const UNLISTED: Self = Self(4);
    /// The scan's filters may have skipped names.
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

impl BitOrAssign for Unknown {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Folders that cannot be compared, and why; one may count for several reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct UncheckedFolders {
    /// All of them.
    pub folders: u64,
    /// Those with unchecked files.
    pub with_unchecked_files: u64,
    /// Those with unreadable paths.
    pub with_unreadable_paths: u64,
    /// Those not fully listed.
    pub not_listed: u64,
    /// Those listed with filters.
    pub filtered: u64,
}

impl UncheckedFolders {
    /// Counts one more folder.
    pub(crate) fn add(&mut self, why: Unknown) {
        self.folders += 1;
        self.with_unchecked_files += u64::from(why.has(Unknown::UNRESOLVED));
        self.with_unreadable_paths += u64::from(why.has(Unknown::UNREADABLE));
        self.not_listed += u64::from(why.has(Unknown::UNLISTED));
        self.filtered += u64::from(why.has(Unknown::FILTERED));
    }
}
