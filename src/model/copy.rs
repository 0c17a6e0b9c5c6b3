//! What a copy is. `catalog/store/terms.rs` says the same in SQL.

use super::ids::VolumeId;

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
