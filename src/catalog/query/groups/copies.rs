//! Numbers for copies: equal for names of one (volume, inode), different for
//! all others.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::CopyId;

/// Bits of a number for the inode, where it fits.
const INODE_BITS: u32 = 48;
/// Bits left for the volume: the two highest tell the kinds of numbers apart.
const VOLUME_BITS: u32 = 14;
const HASHED: u64 = 1 << 62;
const NUMBERED: u64 = 1 << 63;

/// Gives names the numbers of their copies.
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
    use crate::model::VolumeId;

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
