//! What work items learned, as it is sent to the writer. Applying a record twice
//! does no harm.

use std::ffi::OsString;

use super::signature::Signature;
use crate::model::{
    Algorithm, Digest, Fault, FileMeta, FileName, FileState, FolderId, Probe, RootId, ScanCounters,
    ScanId, SizeLimits, Stage, VolumeId,
};

/// A name of a copy: its folder and its name in it.
pub type WorkName = (FolderId, OsString);

/// One thing learned.
#[derive(Debug)]
pub enum Record {
    /// A folder was listed completely.
    Listed(Box<FolderListing>),
    /// Some files of a large folder, ahead of its listing, and their volume.
    Part(Box<PartListing>, VolumeId),
    /// A folder was visited in this scan without listing it: it is out of scope, or
    /// was listed before the scan was stopped.
    Visited {
        /// The folder.
        folder: FolderId,
        /// The scan.
        scan: ScanId,
    },
    /// What reading files showed.
    Files {
        /// The scan that read them.
        scan: ScanId,
        /// Bytes read for this record.
        bytes_read: u64,
        /// One entry per copy.
        results: Vec<FileResult>,
    },
    /// A path that failed for good.
    Fault(Box<FaultRecord>),
    /// A scan entered a stage.
    Stage {
        /// The scan.
        scan: ScanId,
        /// The stage.
        stage: Stage,
    },
}

impl Record {
    /// About how many rows the record touches, for batching.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Listed(listing) => {
                let changed = listing.new_folders.len() + listing.returned_folders.len();
                1 + listing.files.weight() + changed + listing.vanished_folders.len()
            }
            Self::Part(part, _) => part.weight(),
            Self::Visited { .. } | Self::Fault(_) | Self::Stage { .. } => 1,
            Self::Files { results, .. } => results.iter().map(|r| r.names.len()).sum(),
        }
    }
}

/// How some or all files of a folder differ from what the catalog held.
#[derive(Debug)]
pub struct PartListing {
    /// The scan that listed them.
    pub scan: ScanId,
    /// Their root.
    pub root: RootId,
    /// Their folder.
    pub folder: FolderId,
    /// New, changed and returning files.
    pub changes: Vec<FileChange>,
    /// Names that the folder no longer holds.
    pub vanished: Vec<OsString>,
    /// Bytes read of files on the way.
    pub bytes_read: u64,
    /// The sizes that are compared.
    pub sizes: SizeLimits,
}

impl PartListing {
    fn weight(&self) -> usize {
        self.changes.len() + self.vanished.len()
    }
}

/// The difference between a folder and what the catalog held for it.
#[derive(Debug)]
pub struct FolderListing {
    /// Its files, as far as no part was sent ahead.
    pub files: PartListing,
    /// Its volume.
    pub volume: VolumeId,
    /// Whether nothing that was learned of its files holds on that volume.
    pub is_elsewhere: bool,
    /// Whether another filesystem is mounted on it.
    pub mount_point: bool,
    /// Whether a symbolic link leads to it, or to a folder above it.
    pub is_linked: bool,
    /// The folder's (mtime, ctime) before it was read; `None` if they were too young
    /// to trust.
    pub times: Option<(i64, i64)>,
    /// Subfolders the catalog did not know.
    pub new_folders: Vec<NewFolder>,
    /// Subfolders that were marked as deleted and are back.
    pub returned_folders: Vec<FolderId>,
    /// Subfolders that are gone, with everything below them.
    pub vanished_folders: Vec<FolderId>,
    /// The signature of all its files; `None` unless every one of them is in
    /// the record or as its row says, and none is racy.
    pub signature: Option<Signature>,
    /// Whether the same scan listed the folder before it was stopped.
    pub is_repeat: bool,
    /// What the summary counts.
    pub counts: ScanCounters,
}

impl FolderListing {
    /// Whether it only adds to its own folder, so that its order among other such
    /// listings does not matter: one that deletes or restores folders changes rows
    /// that another may have written.
    pub(crate) fn is_independent(&self) -> bool {
        self.vanished_folders.is_empty() && self.returned_folders.is_empty() && !self.is_repeat
    }
}

/// A subfolder seen for the first time; its id was allocated in memory.
#[derive(Debug)]
pub struct NewFolder {
    /// The id it gets.
    pub id: FolderId,
    /// Its name.
    pub name: OsString,
}

/// A file row to write.
#[derive(Debug)]
pub struct FileChange {
    /// The file's name.
    pub name: FileName,
    /// Its metadata now.
    pub meta: FileMeta,
    /// Its inode, where the volume's inode numbers are stable.
    pub ino: Option<u64>,
    /// Whether the name is a symbolic link, which was followed.
    pub is_link: bool,
    /// Whether the stored probe and digest still belong to the file.
    pub keeps_digest: bool,
    /// Size of the live row it replaces; `None` for a new or returning one.
    pub replaces: Option<u64>,
    /// Whether its row says that it is gone.
    pub returns: bool,
    /// What reading it while its folder was listed showed.
    pub sample: Option<Sample>,
}

/// What reading the head and the tail of a file showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The hash.
    pub hash: SampleHash,
    /// Whether the file was too young to trust.
    pub racy: bool,
}

/// The hash that a sample gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleHash {
    /// Of head and tail.
    Probe(Probe),
    /// Of the whole content, where head and tail are all there is.
    Digest(Digest),
}

impl From<Sample> for FileOutcome {
    fn from(Sample { hash, racy }: Sample) -> Self {
        match hash {
            SampleHash::Probe(probe) => Self::Probed { probe, racy },
            SampleHash::Digest(digest) => Self::Digested {
                digest,
                compared: None,
                racy,
            },
        }
    }
}

/// What reading one copy showed; stored only on rows that are still in
/// `state`.
#[derive(Debug)]
pub struct FileResult {
    /// All known names of the copy.
    pub names: Vec<WorkName>,
    /// The state before and after the read.
    pub state: FileState,
    /// What was learned.
    pub outcome: FileOutcome,
}

/// What was learned about one copy.
#[derive(Debug)]
pub enum FileOutcome {
    /// Head and tail were hashed.
    Probed {
        /// Their hash.
        probe: Probe,
        /// Whether the file was too young to trust.
        racy: bool,
    },
    /// The whole content was hashed, or compared with one that was.
    Digested {
        /// The digest.
        digest: Digest,
        /// Number of the comparison that the copy took part in.
        compared: Option<i64>,
        /// Whether the file was too young to trust.
        racy: bool,
    },
    /// Hashed up to an offset; a resume continues from there.
    Partly(HashState),
    /// Different from every other file of its size and probe.
    Settled {
        /// Whether the file was too young to trust.
        racy: bool,
    },
    /// The file is no longer in the state the catalog holds: this is the new one,
    /// and the number by which it is known there.
    Changed(FileMeta, Option<u64>),
    /// The folder is there, the file is not.
    Vanished,
}

/// A hasher that stopped in the middle of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HashState {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Version of the serialisation.
    pub format: i64,
    /// Bytes hashed so far.
    pub offset: u64,
    /// The hasher, serialised.
    pub state: Vec<u8>,
}

/// A fault that is out of retries.
#[derive(Debug)]
pub struct FaultRecord {
    /// The scan.
    pub scan: ScanId,
    /// The folder.
    pub folder: FolderId,
    /// The name in it; empty for the folder itself.
    pub name: OsString,
    /// What went wrong.
    pub fault: Fault,
    /// How often it was tried.
    pub attempts: u32,
    /// When the first attempt failed.
    pub first_at: crate::model::Timestamp,
}
