//! What a copy is. `catalog/store/terms.rs` says the same in SQL.

use super::ids::VolumeId;

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
