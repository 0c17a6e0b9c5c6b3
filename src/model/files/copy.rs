//! What a copy is, and numbers for copies. `catalog/store/terms.rs` says the
//! same in SQL.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::ids::VolumeId;

/// How a name leads to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// By itself.
    Direct,
    /// By way of a folder that a symbolic link leads to.
    LinkedFolder,
    /// It is a symbolic link.
    Link,
}

impl Reach {
    /// The reach of a name, given whether it is a link and whether its folder
    /// was reached through one.
    pub(crate) fn of(is_link: bool, is_folder_linked: bool) -> Self {
        match (is_link, is_folder_linked) {
            (true, _) => Self::Link,
            (false, true) => Self::LinkedFolder,
            (false, false) => Self::Direct,
        }
    }

    /// Whether such a name can stand for a copy. A link never does; below a
    /// linked folder an inode must tell which file it is.
    pub(crate) fn is_real(self, has_inode: bool) -> bool {
        match self {
            Self::Direct => true,
            Self::LinkedFolder => has_inode,
            Self::Link => false,
        }
    }
}

/// What all names of a copy share: its volume and inode. Where inode numbers
/// are not stable there is no such thing, and every path is a copy of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CopyId {
    volume: VolumeId,
    ino: u64,
}

impl CopyId {
    /// The copy that a name belongs to; `None` where its path is the copy.
    pub fn of(volume: Option<VolumeId>, ino: Option<u64>) -> Option<Self> {
        let (volume, ino) = volume.zip(ino)?;
        Some(Self { volume, ino })
    }

    /// Whether two names belong to one copy.
    pub fn is_shared(one: Option<Self>, other: Option<Self>) -> bool {
        one.is_some() && one == other
    }

    /// Volume and inode as plain numbers.
    pub(crate) fn numbers(self) -> (u64, u64) {
        (self.volume.0.cast_unsigned(), self.ino)
    }
}

/// Bits of a number for the inode, where it fits.
const INODE_BITS: u32 = 48;
/// Bits left for the volume: the two highest tell the kinds of numbers apart.
const VOLUME_BITS: u32 = 14;
const HASHED: u64 = 1 << 62;
const NUMBERED: u64 = 1 << 63;

/// Gives names the numbers of their copies: equal for names of one (volume,
/// inode), different for all others.
#[derive(Default)]
pub(crate) struct CopyNumbers {
    hasher: RandomState,
    next: AtomicU64,
}

impl CopyNumbers {
    /// The number of a name's copy. Inodes beyond 48 bits and the volumes
    /// after the first thousands are hashed, with a secret key, so that nobody
    /// can make two copies look like one.
    pub(crate) fn of(&self, copy: Option<CopyId>) -> u64 {
        let Some((volume, ino)) = copy.map(CopyId::numbers) else {
            return NUMBERED | self.next.fetch_add(1, Ordering::Relaxed);
        };
        match volume >> VOLUME_BITS == 0 && ino >> INODE_BITS == 0 {
            true => volume << INODE_BITS | ino,
            false => HASHED | self.hasher.hash_one((volume, ino)) >> 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_differ_exactly_where_copies_do() {
        let numbers = CopyNumbers::default();
        let volumes = [1, 2, (1 << 14) - 1, 1 << 14, i64::MAX];
        let inodes = [0, 1, (1 << 48) - 1, 1 << 48, u64::MAX >> 1, u64::MAX];
        let mut seen = BTreeSet::new();
        for volume in volumes.map(VolumeId) {
            for ino in inodes {
                let copy = CopyId::of(Some(volume), Some(ino));
                let number = numbers.of(copy);
                assert!(seen.insert(number), "{volume} {ino}");
                assert_eq!(numbers.of(copy), number);
            }
        }
        for (volume, ino) in [(Some(VolumeId(1)), None), (None, Some(1)), (None, None)] {
            assert!(seen.insert(numbers.of(CopyId::of(volume, ino))));
            assert!(seen.insert(numbers.of(CopyId::of(volume, ino))));
        }
    }
}
