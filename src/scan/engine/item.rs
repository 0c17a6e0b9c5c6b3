//! The units of work: what to do, and on which files.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use crate::catalog::{AuditCopy, HashClass, Signature, WorkCopy, WorkName};
use crate::model::{FileState, FolderId, ItemKind, RootId, ScanId, Timestamp, VolumeId};
use crate::scan::scope::IgnoreChain;

/// One unit of work, with its history.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    /// What to do.
    pub item: Item,
    /// Attempts that failed before.
    pub failed: u32,
    /// When the first of them failed.
    pub first_failure: Option<Timestamp>,
    /// Whether it checks a device that kept failing.
    pub is_device_check: bool,
}

impl Work {
    /// Work that was not tried yet.
    pub(crate) fn new(item: Item) -> Self {
        Self {
            item,
            failed: 0,
            first_failure: None,
            is_device_check: false,
        }
    }

    /// The part that hangs as work of its own, and what is left without it. A
    /// listing hangs at `path` when it names a part: it was reading that file.
    pub(crate) fn split(&self, part: Option<usize>, path: &Path) -> (Self, Option<Self>) {
        let with = |item| Self {
            item,
            ..self.clone()
        };
        let (stuck, rest) = match self.item.split_listing(part, path) {
            Some((file, listing)) => (file, Some(listing)),
            None => self.item.split(part),
        };
        (with(stuck), rest.map(with))
    }
}

/// What to do.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// List one folder.
    List(ListItem),
    /// Hash head and tail of a batch of files.
    Probe(Vec<WorkCopy>),
    /// Read some classes of files, each in step.
    Hash(Vec<HashClass>),
    /// Read a batch of files again, to see whether they are what they were.
    Audit(Vec<AuditCopy>),
}

impl Item {
    /// Its kind, for metrics.
    pub(crate) fn kind(&self) -> ItemKind {
        match self {
            Self::List(_) => ItemKind::List,
            Self::Probe(_) => ItemKind::Probe,
            Self::Hash(_) | Self::Audit(_) => ItemKind::Hash,
        }
    }

    /// The item that reads one copy of a class by itself.
    pub(crate) fn alone(size: u64, copy: &WorkCopy) -> Self {
        Self::Hash(vec![HashClass {
            size,
            must_digest: true,
            copies: vec![copy.clone()],
        }])
    }

    /// The part that hangs as an item of its own, and what is left to do
    /// without it.
    fn split(&self, part: Option<usize>) -> (Self, Option<Self>) {
        let parts = part.and_then(|part| match self {
            Self::List(_) => None,
            Self::Probe(copies) => {
                let (stuck, rest) = take_out(copies, part)?;
                Some((Self::Probe(stuck), Self::Probe(rest)))
            }
            Self::Hash(classes) => {
                let (stuck, rest) = split_classes(classes, part)?;
                Some((Self::Hash(vec![stuck]), Self::Hash(rest)))
            }
            Self::Audit(copies) => {
                let (stuck, rest) = take_out(copies, part)?;
                Some((Self::Audit(stuck), Self::Audit(rest)))
            }
        });
        match parts {
            Some((stuck, rest)) => (stuck, Some(rest).filter(|rest| !rest.copies().is_empty())),
            None => (self.clone(), None),
        }
    }

    /// For a listing that was reading a file when it came to a halt: the file
    /// as an item of its own, and the listing without reading.
    fn split_listing(&self, part: Option<usize>, file: &Path) -> Option<(Self, Self)> {
        let (Self::List(item), Some(_), Some(name)) = (self, part, file.file_name()) else {
            return None;
        };
        let stuck = WorkCopy {
            names: vec![(item.folder, name.to_owned())],
            state: FileState::default(),
            volume: item.volume,
        };
        let listing = ListItem {
            hung: Some(name.to_owned()),
            ..item.again()
        };
        Some((Self::Probe(vec![stuck]), Self::List(listing)))
    }

    /// The copies it opens.
    fn copies(&self) -> Vec<&WorkCopy> {
        match self {
            Self::List(_) => Vec::new(),
            Self::Probe(copies) => copies.iter().collect(),
            Self::Hash(classes) => classes.iter().flat_map(|class| &class.copies).collect(),
            Self::Audit(copies) => copies.iter().map(|audited| &audited.copy).collect(),
        }
    }

    /// The volumes it needs.
    pub(crate) fn volumes(&self) -> Vec<VolumeId> {
        let mut volumes: Vec<VolumeId> = match self {
            Self::List(item) => vec![item.volume],
            Self::Probe(_) | Self::Hash(_) | Self::Audit(_) => {
                self.copies().iter().map(|copy| copy.volume).collect()
            }
        };
        volumes.sort_unstable();
        volumes.dedup();
        volumes
    }

    /// How many things it does on a volume.
    pub(crate) fn operations_on(&self, volume: VolumeId) -> usize {
        match self {
            Self::List(_) => 1,
            Self::Probe(_) | Self::Hash(_) | Self::Audit(_) => {
                let copies = self.copies().into_iter();
                copies.filter(|copy| copy.volume == volume).count()
            }
        }
    }

    /// Everything that fails when the item as a whole does.
    pub(crate) fn places(&self) -> Vec<Place> {
        match self {
            Self::List(item) => vec![Place::folder(item.folder)],
            Self::Probe(_) | Self::Hash(_) | Self::Audit(_) => {
                self.copies().into_iter().map(Place::of_copy).collect()
            }
        }
    }
}

/// One of some copies alone, and the others; `None` if there are not so many.
fn take_out<T: Clone>(copies: &[T], part: usize) -> Option<(Vec<T>, Vec<T>)> {
    let stuck = copies.get(part)?.clone();
    let mut rest = copies.to_vec();
    rest.remove(part);
    Some((vec![stuck], rest))
}

/// One copy of some classes, counted through, as a class of its own, and what
/// is left without it; `None` if there are not so many.
fn split_classes(classes: &[HashClass], part: usize) -> Option<(HashClass, Vec<HashClass>)> {
    let mut rest = classes.to_vec();
    let mut before = 0;
    let of = rest.iter().position(|class| {
        let is_in = part - before < class.copies.len();
        before += if is_in { 0 } else { class.copies.len() };
        is_in
    })?;
    let class = &mut rest[of];
    // Files that are not compared with each other need their digests.
    class.must_digest = true;
    let stuck = HashClass {
        size: class.size,
        must_digest: true,
        copies: vec![class.copies.remove(part - before)],
    };
    rest.retain(|class| !class.copies.is_empty());
    Some((stuck, rest))
}

/// A folder to list.
#[derive(Debug, Clone)]
pub(crate) struct ListItem {
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
    /// A file that hung while it was read on the way. The folder is listed
    /// again without reading, and that file is not touched any more: a second
    /// look at it could not even be killed.
    pub hung: Option<OsString>,
    /// Whether an earlier attempt failed.
    pub is_repeated: bool,
}

impl ListItem {
    /// The same once more. Parts of the folder may have been sent before the
    /// first attempt failed, so that the catalog may know it now.
    pub(crate) fn again(&self) -> Self {
        let mut again = self.clone();
        again.is_repeated = true;
        if let Origin::Parent(parent) = &mut again.origin {
            parent.is_new = false;
        }
        again
    }
}

/// What led to a folder.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// Its parent was just listed; its row may not be committed yet.
    Parent(FromParent),
    /// The catalog: a starting point, or found before a stop.
    Catalog,
    /// The catalog: listed before a stop, to be listed again if it changed.
    Listed,
}

/// What the parent's listing knew of a subfolder.
#[derive(Debug, Clone)]
pub(crate) struct FromParent {
    /// Path below the root.
    pub path: Arc<Path>,
    /// The parent's mount, where known.
    pub mount: Option<u64>,
    /// Whether the catalog does not know it yet, nor anything in it.
    pub is_new: bool,
    /// Whether the catalog knows it as a mount point.
    pub was_mount_point: bool,
    /// The signature that the catalog holds of its files.
    pub signature: Option<Signature>,
    /// Whether the catalog knows live subfolders of it.
    pub has_subfolders: bool,
    /// Whether it was reached through a symbolic link.
    pub is_link: bool,
    /// The ignore rules that hold in the parent.
    pub ignores: IgnoreChain,
}

/// Where something failed: a file, or a folder (empty name).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The folder.
    pub folder: FolderId,
    /// The name in it; empty for the folder itself.
    pub name: OsString,
}

impl Place {
    /// A folder itself.
    pub(crate) fn folder(folder: FolderId) -> Self {
        Self {
            folder,
            name: OsString::new(),
        }
    }

    fn of_copy(copy: &WorkCopy) -> Self {
        Self::of_name(&copy.names[0])
    }

    /// A file.
    pub(crate) fn of_name(name: &WorkName) -> Self {
        Self {
            folder: name.0,
            name: name.1.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FileState;

    fn class(inodes: std::ops::Range<u64>) -> HashClass {
        let copy = |ino: u64| WorkCopy {
            names: vec![(FolderId(1), OsString::from(ino.to_string()))],
            state: FileState {
                ino: Some(ino),
                size: 20_000,
                mtime_ns: 0,
                ctime_ns: 0,
            },
            volume: VolumeId(1),
        };
        HashClass {
            size: 20_000,
            must_digest: false,
            copies: inodes.map(copy).collect(),
        }
    }

    /// The inodes of each class, and whether it must be digested.
    fn shape(item: &Item) -> Vec<(Vec<u64>, bool)> {
        let Item::Hash(classes) = item else {
            return Vec::new();
        };
        let inodes = |class: &HashClass| {
            let copies = class.copies.iter();
            copies.map(|copy| copy.state.ino.unwrap()).collect()
        };
        let of_class = |class| (inodes(class), class.must_digest);
        classes.iter().map(of_class).collect()
    }

    #[test]
    fn a_part_that_hangs_is_found_in_its_class() {
        let item = Item::Hash(vec![class(0..3), class(3..4), class(4..6)]);
        let (stuck, rest) = item.split(Some(1));
        assert_eq!(shape(&stuck), [(vec![1], true)]);
        let expected = [(vec![0, 2], true), (vec![3], false), (vec![4, 5], false)];
        assert_eq!(shape(&rest.unwrap()), expected);
        let (stuck, rest) = item.split(Some(3));
        assert_eq!(shape(&stuck), [(vec![3], true)]);
        let expected = [(vec![0, 1, 2], false), (vec![4, 5], false)];
        assert_eq!(shape(&rest.unwrap()), expected);
        let (stuck, rest) = item.split(Some(6));
        assert_eq!((shape(&stuck), rest.is_none()), (shape(&item), true));
        assert_eq!(item.places().len(), 6);
    }
}
