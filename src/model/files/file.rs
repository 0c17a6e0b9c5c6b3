//! What is known of one file without reading it: its metadata, its name, and
//! the state that a digest belongs to.

use std::ffi::OsStr;
use std::fmt;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;

use smallvec::SmallVec;

/// What `stat` says about a regular file, as far as dupescan cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileMeta {
    /// Length in bytes.
    pub size: u64,
    /// Bytes allocated on disk (less than `size` for sparse files).
    pub allocated: u64,
    /// Modification time, signed nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Change time, signed nanoseconds since 1970.
    pub ctime_ns: i64,
    /// Inode number as the filesystem reports it.
    pub ino: u64,
    /// Number of hard links.
    pub nlink: u64,
}

/// Bytes that deleting a file gives back: those allocated for it, but no more
/// than it is long. Rounding up to whole blocks, and what a filesystem allocates
/// ahead, is not counted: it promises too much rather than too little.
pub fn occupied(size: u64, allocated: u64) -> u64 {
    size.min(allocated)
}

/// The state of a file that a probe or digest belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileState {
    /// Length in bytes.
    pub size: u64,
    /// Modification time.
    pub mtime_ns: i64,
    /// Change time.
    pub ctime_ns: i64,
    /// Inode, where the volume's inode numbers are stable.
    pub ino: Option<u64>,
}

impl FileState {
    /// Whether a file with this metadata, on the device `dev`, is in the state.
    /// The inode counts only where the catalog kept it.
    pub fn is_of(&self, meta: &FileMeta, dev: u64) -> bool {
        let is_inode = |ino| ino == meta.ino || ino == layer_inode(dev, meta.ino);
        meta.size == self.size
            && meta.mtime_ns == self.mtime_ns
            && meta.ctime_ns == self.ctime_ns
            && self.ino.is_none_or(is_inode)
    }

    /// The number by which the catalog knows a file that has replaced the one in
    /// this state, given its metadata and device now.
    pub fn inode_now(&self, meta: &FileMeta, dev: u64) -> Option<u64> {
        self.ino.map(|before| match before & LAYER {
            _ if before == meta.ino => meta.ino,
            0 => meta.ino,
            _ => layer_inode(dev, meta.ino),
        })
    }
}

/// Set in the number of a file in a layer, and in hardly any other inode number.
const LAYER: u64 = 1 << 63;

/// The number of a file in a layer of an overlay over several filesystems, where
/// only device and inode together identify a file. Two files have the same number
/// by a chance of one in 2^63.
pub fn layer_inode(dev: u64, ino: u64) -> u64 {
    mix(mix(dev).wrapping_add(ino)) | LAYER
}

/// Gives every number another one, with all bits shuffled (the end of splitmix64).
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Which folder it is, wherever its filesystem is mounted: an inode number alone is
/// given to another folder after the first one was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderIdentity {
    /// Inode number.
    pub ino: u64,
    /// When it was made, signed nanoseconds since 1970.
    pub born_ns: i64,
}

impl FolderIdentity {
    /// As the catalog stores it.
    pub(crate) fn columns(folder: Option<Self>) -> (Option<i64>, Option<i64>) {
        folder
            .map(|folder| (folder.ino.cast_signed(), folder.born_ns))
            .unzip()
    }

    /// From what the catalog stores.
    pub(crate) fn of_columns(ino: Option<i64>, born_ns: Option<i64>) -> Option<Self> {
        let ino = ino?.cast_unsigned();
        born_ns.map(|born_ns| Self { ino, born_ns })
    }
}

/// A name in a folder. Most are short enough to need no memory of their own: a
/// scan makes one for every file on one thread and drops it on another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(SmallVec<[u8; FileName::SHORT]>);

impl FileName {
    /// Bytes of a name that needs no memory of its own.
    const SHORT: usize = 24;
}

impl From<&OsStr> for FileName {
    fn from(name: &OsStr) -> Self {
        Self(SmallVec::from_slice(name.as_bytes()))
    }
}

impl Deref for FileName {
    type Target = OsStr;

    fn deref(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
