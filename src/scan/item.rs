//! The units of work in the queue, and what a worker reports about them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::audit::Audited;
use super::metrics::ItemKind;
use super::scope::IgnoreChain;
use crate::catalog::{AuditCopy, CatalogError, HashClass, WorkCopy, WorkName};
use crate::fault::Fault;
use crate::model::{FolderId, RootId, ScanId, Timestamp, VolumeId};

/// One unit of work, with its history.
#[derive(Debug, Clone)]
pub(super) struct Work {
    /// What to do.
    pub item: Item,
    /// Attempts that failed before.
    pub failed: u32,
    /// When the first of them failed.
    pub first_failure: Option<Timestamp>,
    /// Whether it tries a device that kept failing.
    pub is_trial: bool,
}

impl Work {
    /// Work that was not tried yet.
    pub(super) fn new(item: Item) -> Self {
        Self {
            item,
            failed: 0,
            first_failure: None,
            is_trial: false,
        }
    }
}

/// What to do.
#[derive(Debug, Clone)]
pub(super) enum Item {
    /// List one folder.
    List(ListItem),
    /// Hash head and tail of a batch of files.
    Probe(Vec<WorkCopy>),
    /// Read a class of files in step.
    Hash(HashClass),
    /// Read a batch of files again, to see whether they are what they were.
    Audit(Vec<AuditCopy>),
}

impl Item {
    /// Its kind, for metrics.
    pub(super) fn kind(&self) -> ItemKind {
        match self {
            Self::List(_) => ItemKind::List,
            Self::Probe(_) => ItemKind::Probe,
            Self::Hash(_) | Self::Audit(_) => ItemKind::Hash,
        }
    }

    /// The part that hangs as an item of its own, and what is left to do
    /// without it. Files that are not compared with it need their digest.
    pub(super) fn split(&self, part: Option<usize>) -> (Self, Option<Self>) {
        match (self, part) {
            (Self::Probe(copies), Some(part)) if part < copies.len() => {
                let mut rest = copies.clone();
                let stuck = Self::Probe(vec![rest.remove(part)]);
                (stuck, (!rest.is_empty()).then_some(Self::Probe(rest)))
            }
            (Self::Hash(class), Some(part)) if part < class.copies.len() => {
                let with = |copies| {
                    Self::Hash(HashClass {
                        size: class.size,
                        must_digest: true,
                        copies,
                    })
                };
                let mut rest = class.copies.clone();
                let stuck = with(vec![rest.remove(part)]);
                (stuck, (!rest.is_empty()).then(|| with(rest)))
            }
            (Self::Audit(copies), Some(part)) if part < copies.len() => {
                let mut rest = copies.clone();
                let stuck = Self::Audit(vec![rest.remove(part)]);
                (stuck, (!rest.is_empty()).then_some(Self::Audit(rest)))
            }
            _ => (self.clone(), None),
        }
    }

    /// The volumes it needs.
    pub(super) fn volumes(&self) -> Vec<VolumeId> {
        let mut volumes: Vec<VolumeId> = match self {
            Self::List(item) => vec![item.volume],
            Self::Probe(copies) => copies.iter().map(|copy| copy.volume).collect(),
            Self::Hash(class) => class.copies.iter().map(|copy| copy.volume).collect(),
            Self::Audit(copies) => copies.iter().map(|audited| audited.copy.volume).collect(),
        };
        volumes.sort_unstable();
        volumes.dedup();
        volumes
    }

    /// How many things it does on a volume.
    pub(super) fn operations_on(&self, volume: VolumeId) -> usize {
        match self {
            Self::List(_) => 1,
            Self::Probe(copies) => copies.iter().filter(|copy| copy.volume == volume).count(),
            Self::Hash(class) => class
                .copies
                .iter()
                .filter(|copy| copy.volume == volume)
                .count(),
            Self::Audit(copies) => copies
                .iter()
                .filter(|audited| audited.copy.volume == volume)
                .count(),
        }
    }

    /// Everything that fails when the item as a whole does.
    pub(super) fn places(&self) -> Vec<Place> {
        match self {
            Self::List(item) => vec![Place::folder(item.folder)],
            Self::Probe(copies) => copies.iter().map(Place::of_copy).collect(),
            Self::Hash(class) => class.copies.iter().map(Place::of_copy).collect(),
            Self::Audit(copies) => copies
                .iter()
                .map(|audited| Place::of_copy(&audited.copy))
                .collect(),
        }
    }
}

/// A folder to list.
#[derive(Debug, Clone)]
pub(super) struct ListItem {
    /// The scan that lists it.
    pub scan: ScanId,
    /// Its root.
    pub root: RootId,
    /// The volume that is asked for it: its parent's, or its root's.
    pub volume: VolumeId,
    /// Its id.
    pub folder: FolderId,
    /// How deep below the root the folder lies that the user named.
    pub start_depth: usize,
    /// What led to it.
    pub origin: Origin,
}

/// What led to a folder.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// Its parent was just listed; its row may not be committed yet.
    Parent(FromParent),
    /// The catalog: a starting point, or found before a stop.
    Catalog,
    /// The catalog: listed before a stop, to be listed again if it changed.
    Listed,
}

/// What the parent's listing knew of a subfolder.
#[derive(Debug, Clone)]
pub(super) struct FromParent {
    /// Path below the root.
    pub path: Arc<Path>,
    /// The parent's mount, where known.
    pub mount: Option<u64>,
    /// Whether the catalog knows it as a mount point.
    pub was_mount_point: bool,
    /// Whether it was reached through a symbolic link.
    pub is_link: bool,
    /// The ignore rules that hold in the parent.
    pub ignores: IgnoreChain,
}

/// Where something failed: a file, or a folder (empty name).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The folder.
    pub folder: FolderId,
    /// The name in it; empty for the folder itself.
    pub name: OsString,
}

impl Place {
    /// A folder itself.
    pub(super) fn folder(folder: FolderId) -> Self {
        Self {
            folder,
            name: OsString::new(),
        }
    }

    fn of_copy(copy: &WorkCopy) -> Self {
        Self::of_name(&copy.names[0])
    }

    /// A file.
    pub(super) fn of_name(name: &WorkName) -> Self {
        Self {
            folder: name.0,
            name: name.1.clone(),
        }
    }
}

/// Something in an item that failed.
#[derive(Debug)]
pub(super) struct Failure {
    /// Where.
    pub place: Place,
    /// The path, for the log.
    pub path: PathBuf,
    /// The volume it lies on.
    pub volume: VolumeId,
    /// What went wrong.
    pub fault: Fault,
    /// What to try again, if that makes sense.
    pub again: Option<Item>,
}

/// What a worker tells the orchestrator about an item. Everything worth
/// keeping was sent to the writer before.
#[derive(Debug, Default)]
pub(super) struct ItemReport {
    /// Subfolders to list.
    pub subfolders: Vec<ListItem>,
    /// What failed.
    pub failures: Vec<Failure>,
    /// Files that were not in the state the catalog held, or changed while
    /// they were read.
    pub changed: Vec<WorkName>,
    /// Names that were gone.
    pub vanished: u64,
    /// Folders left out because of their filesystem: path and type.
    pub skipped: Vec<(PathBuf, String)>,
    /// Mount points on which nothing is mounted any more.
    pub offline: Vec<PathBuf>,
    /// Copies that were read again, in an audit.
    pub audited: Vec<Audited>,
    /// The catalog failed under the worker.
    pub fatal: Option<CatalogError>,
}
