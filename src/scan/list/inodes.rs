//! Which number the files of a folder are known by.

use crate::model::layer_inode;
use crate::platform::{Stat, Volume};

/// How the files of one folder are numbered, on a volume with stable inodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inodes {
    /// The device of the folder, on which an inode number identifies a file.
    pub(super) dev: u64,
    /// Whether files may have other device numbers, of the layers they are in.
    pub(super) is_layered: bool,
}

impl Inodes {
    /// How files are numbered in a folder; `None` where numbers are not stable.
    pub(crate) fn of(volume: &Volume, folder: &Stat) -> Option<Self> {
        volume.stable_inodes.then_some(Self {
            dev: folder.dev,
            is_layered: volume.layered,
        })
    }

    /// The number that identifies a file on the folder's volume, if one does.
    pub(crate) fn number(self, file: &Stat) -> Option<u64> {
        match (self.are_of(file), self.is_layered) {
            (true, _) => Some(file.meta.ino),
            (false, true) => Some(layer_inode(file.dev, file.meta.ino)),
            (false, false) => None,
        }
    }

    /// Whether the inode numbers of the folder's device are those of the file.
    pub(crate) fn are_of(self, file: &Stat) -> bool {
        self.dev == file.dev
    }
}
