//! What the caller knows about folders and files.

use std::ffi::{OsStr, OsString};

use super::unknown::Unknown;
use crate::model::{FolderId, VolumeId};

/// A folder as the caller knows it.
#[derive(Debug, Clone)]
pub struct FolderFact {
    /// Its id.
    pub id: FolderId,
    /// The folder above it; `None` for a root.
    pub parent: Option<FolderId>,
    /// Its name; a root's whole path.
    pub name: OsString,
    /// How its own entries are incomplete.
    pub unknown: Unknown,
}

/// A file as the caller knows it.
#[derive(Debug, Clone, Copy)]
pub struct FileFact<'a> {
    /// Its folder.
    pub folder: FolderId,
    /// Its name.
    pub name: &'a OsStr,
    /// Its size.
    pub size: u64,
    /// Bytes that deleting it would give back.
    pub occupied: u64,
    /// Its volume.
    pub volume: VolumeId,
    /// Its inode, where inode numbers are stable.
    pub ino: Option<u64>,
    /// The hash of its head and tail.
    pub probe: Option<i64>,
    /// Whether it differs from every other file of its size and probe.
    pub is_settled: bool,
    /// Its digest; all digests are equally long.
    pub digest: Option<&'a [u8]>,
    /// Whether it is compared. One that is not may still make another file's
    /// content uncertain, or be a name of the same copy.
    pub counts: bool,
}
