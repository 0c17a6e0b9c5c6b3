//! The units of work: what to do, and on which files.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use crate::catalog::{HashClass, Signature, WorkCopy, WorkName};
use crate::model::{Digest, FileState, FolderId, ItemKind, RootId, ScanId, Timestamp, VolumeId};
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
    /// Work that has not been tried yet.
    pub(crate) fn new(item: Item) -> Self {
        Self {
            item,
            failed: 0,
            first_failure: None,
            is_device_check: false,
        }
    }

    /// The part that hangs as work of its own, and what is left without it. A
    /// listing that names a part was reading the file at `path`.
    pub(crate) fn split(&self, part: Option<usize>, path: &Path) -> (Self, Option<Self>) {
        let with = |item| Self {
            item,
            ..self.clone()
        };
        let parts = part.and_then(|part| match &self.item {
            Item::List(item) => item.split(path),
            Item::Read(item) => item.split(part),
        });
        match parts {
            Some((stuck, rest)) => (with(stuck), rest.map(with)),
            None => (self.clone(), None),
        }
    }
}

/// What to do.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// List one folder.
    List(ListItem),
    /// Read files.
    Read(ReadItem),
}

impl Item {
    /// Hashes head and tail of each copy.
    pub(crate) fn probe(copies: Vec<WorkCopy>) -> Self {
        let task = Task::Probe;
        Self::Read(ReadItem { task, copies })
    }

    /// Asks where copies begin on their disk, each with a number to answer by.
    pub(crate) fn locate(copies: impl IntoIterator<Item = (usize, WorkCopy)>) -> Self {
        let (numbers, copies) = copies.into_iter().unzip();
        let task = Task::Locate(numbers);
        Self::Read(ReadItem { task, copies })
    }

    /// Reads a little of each copy, to see how long a head takes between them.
    pub(crate) fn trial(copies: Vec<WorkCopy>) -> Self {
        let task = Task::Trial;
        Self::Read(ReadItem { task, copies })
    }

    /// Reads copies in the order of the disk, each as far as is right at its first
    /// visit.
    pub(crate) fn visit(copies: Vec<WorkCopy>, whole: Whole) -> Self {
        let task = Task::Visit(whole);
        Self::Read(ReadItem { task, copies })
    }

    /// Reads copies of classes in the order of the disk, each by itself.
    pub(crate) fn hash_each(copies: Vec<WorkCopy>) -> Self {
        let task = Task::Hash(vec![ClassSpan::ALONE; copies.len()]);
        Self::Read(ReadItem { task, copies })
    }

    /// Whether it asks where files begin.
    pub(crate) fn is_locating(&self) -> bool {
        self.has_task(|task| matches!(task, Task::Locate(_)))
    }

    /// Whether it tries a disk.
    pub(crate) fn is_trial(&self) -> bool {
        self.has_task(|task| matches!(task, Task::Trial))
    }

    fn has_task(&self, is_it: impl Fn(&Task) -> bool) -> bool {
        match self {
            Self::List(_) => false,
            Self::Read(item) => is_it(&item.task),
        }
    }

    /// Reads some classes, each in step.
    pub(crate) fn hash(classes: Vec<HashClass>) -> Self {
        let span = |class: &HashClass| ClassSpan {
            copies: class.copies.len(),
            must_digest: class.must_digest,
        };
        let task = Task::Hash(classes.iter().map(span).collect());
        let copies = classes.into_iter().flat_map(|class| class.copies).collect();
        Self::Read(ReadItem { task, copies })
    }

    /// Reads one copy of a class by itself.
    pub(crate) fn hash_alone(copy: &WorkCopy) -> Self {
        Self::Read(ReadItem {
            task: Task::Hash(vec![ClassSpan::ALONE]),
            copies: vec![copy.clone()],
        })
    }

    /// Reads copies again, to see whether they are what they were.
    pub(crate) fn audit(copies: impl IntoIterator<Item = (Expected, WorkCopy)>) -> Self {
        let (expected, copies) = copies.into_iter().unzip();
        let task = Task::Audit(expected);
        Self::Read(ReadItem { task, copies })
    }

    /// Its kind, for metrics.
    pub(crate) fn kind(&self) -> ItemKind {
        match self {
            Self::List(_) => ItemKind::List,
            Self::Read(item) => match item.task {
                Task::Probe | Task::Visit(_) | Task::Locate(_) | Task::Trial => ItemKind::Probe,
                Task::Hash(_) | Task::Audit(_) => ItemKind::Hash,
            },
        }
    }

    /// The volumes it needs.
    pub(crate) fn volumes(&self) -> Vec<VolumeId> {
        let mut volumes: Vec<VolumeId> = match self {
            Self::List(item) => vec![item.volume],
            Self::Read(item) => item.copies.iter().map(|copy| copy.volume).collect(),
        };
        volumes.sort_unstable();
        volumes.dedup();
        volumes
    }

    /// How many things it does on a volume.
    pub(crate) fn operations_on(&self, volume: VolumeId) -> usize {
        match self {
            Self::List(_) => 1,
            Self::Read(item) => {
                let copies = item.copies.iter();
                copies.filter(|copy| copy.volume == volume).count()
            }
        }
    }

    /// Everything that fails when the item as a whole does.
    pub(crate) fn places(&self) -> Vec<Place> {
        match self {
            Self::List(item) => vec![Place::folder(item.folder)],
            Self::Read(item) => item.copies.iter().map(Place::of_copy).collect(),
        }
    }
}

/// Files to read, and what for.
#[derive(Debug, Clone)]
pub(crate) struct ReadItem {
    pub(crate) task: Task,
    /// The copies; each is a part of the item.
    pub(crate) copies: Vec<WorkCopy>,
}

impl ReadItem {
    /// One copy as an item of its own, and what is left without it; `None` if
    /// there are not so many.
    fn split(&self, part: usize) -> Option<(Item, Option<Item>)> {
        self.copies.get(part)?;
        let mut rest = self.clone();
        let stuck = Self {
            task: rest.task.take_out(part),
            copies: vec![rest.copies.remove(part)],
        };
        let rest = (!rest.copies.is_empty()).then_some(Item::Read(rest));
        Some((Item::Read(stuck), rest))
    }
}

/// What files are read for.
#[derive(Debug, Clone)]
pub(crate) enum Task {
    /// Their probes.
    Probe,
    /// Their places on the disk: the numbers by which they are told.
    Locate(Vec<usize>),
    /// How long a head takes between them.
    Trial,
    /// What is right to read where a head moves: their digests, if they are not too
    /// long, and their probes.
    Visit(Whole),
    /// Their digests: the classes follow each other in the copies.
    Hash(Vec<ClassSpan>),
    /// An audit: what is expected of each copy.
    Audit(Vec<Expected>),
}

/// Which files are read whole at their first visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    /// Those that cost little more than the way to them.
    Short,
    /// All.
    All,
}

impl Task {
    /// The task of one copy alone; this one continues without it.
    fn take_out(&mut self, part: usize) -> Self {
        match self {
            Self::Probe => Self::Probe,
            Self::Trial => Self::Trial,
            Self::Visit(whole) => Self::Visit(*whole),
            Self::Locate(numbers) => Self::Locate(vec![numbers.remove(part)]),
            Self::Audit(expected) => Self::Audit(vec![expected.remove(part)]),
            Self::Hash(classes) => {
                let mut end = 0;
                let class = classes.iter_mut().find(|class| {
                    end += class.copies;
                    part < end
                });
                if let Some(class) = class {
                    // Files that are not compared with each other need digests.
                    *class = ClassSpan {
                        copies: class.copies - 1,
                        must_digest: true,
                    };
                }
                classes.retain(|class| class.copies > 0);
                Self::Hash(vec![ClassSpan::ALONE])
            }
        }
    }
}

/// The number of copies that agree in size and probe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClassSpan {
    pub(crate) copies: usize,
    /// Whether a copy that equals no other one here needs a digest all the same.
    pub(crate) must_digest: bool,
}

impl ClassSpan {
    /// One copy that is compared with none.
    const ALONE: Self = Self {
        copies: 1,
        must_digest: true,
    };
}

/// What an audit expects of a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    /// The digest it should have; `None` if it has none yet.
    pub(crate) digest: Option<Digest>,
    /// Whether it was too young to trust when it was read.
    pub(crate) racy: bool,
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
    /// How deep below the root the folder is that the user named.
    pub start_depth: usize,
    /// What led to it.
    pub origin: Origin,
    /// A file that hung while it was read on the way. The folder is listed
    /// again without reading, and that file is not touched any more: a second
    /// look at it cannot even be killed.
    pub hung: Option<OsString>,
    /// Whether an earlier attempt failed.
    pub is_repeated: bool,
}

impl ListItem {
    /// For a listing that was reading a file when it hung: that file as an item
    /// of its own, and the listing without reading.
    fn split(&self, file: &Path) -> Option<(Item, Option<Item>)> {
        let name = file.file_name()?;
        let stuck = WorkCopy {
            names: vec![(self.folder, name.to_owned())],
            state: FileState::default(),
            to_read: 0,
            volume: self.volume,
        };
        let listing = Self {
            hung: Some(name.to_owned()),
            ..self.again()
        };
        Some((Item::probe(vec![stuck]), Some(Item::List(listing))))
    }

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
    /// The volume that the catalog holds of it.
    pub volume: Option<VolumeId>,
    /// Whether it was reached through a symbolic link.
    pub is_link: bool,
    /// Whether the parent was, or a folder above it.
    pub is_below_link: bool,
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

    fn class(inodes: std::ops::Range<u64>) -> HashClass {
        let copy = |ino: u64| WorkCopy {
            names: vec![(FolderId(1), OsString::from(ino.to_string()))],
            state: FileState {
                ino: Some(ino),
                size: 20_000,
                mtime_ns: 0,
                ctime_ns: 0,
            },
            to_read: 20_000,
            volume: VolumeId(1),
        };
        HashClass {
            size: 20_000,
            must_digest: false,
            copies: inodes.map(copy).collect(),
        }
    }

    /// The inodes of each class, and whether it must be digested.
    fn shape(work: &Work) -> Vec<(Vec<u64>, bool)> {
        let Item::Read(item) = &work.item else {
            return Vec::new();
        };
        let Task::Hash(classes) = &item.task else {
            return Vec::new();
        };
        let mut inodes = item.copies.iter().map(|copy| copy.state.ino.unwrap());
        let mut of_class = |class: &ClassSpan| {
            let inodes = inodes.by_ref().take(class.copies).collect();
            (inodes, class.must_digest)
        };
        classes.iter().map(&mut of_class).collect()
    }

    #[test]
    fn a_part_that_hangs_is_found_in_its_class() {
        let classes = vec![class(0..3), class(3..4), class(4..6)];
        let work = Work::new(Item::hash(classes));
        let split = |part| work.split(Some(part), Path::new("/file"));
        let (stuck, rest) = split(1);
        assert_eq!(shape(&stuck), [(vec![1], true)]);
        let expected = [(vec![0, 2], true), (vec![3], false), (vec![4, 5], false)];
        assert_eq!(shape(&rest.unwrap()), expected);
        let (stuck, rest) = split(3);
        assert_eq!(shape(&stuck), [(vec![3], true)]);
        let expected = [(vec![0, 1, 2], false), (vec![4, 5], false)];
        assert_eq!(shape(&rest.unwrap()), expected);
        let (stuck, rest) = split(6);
        assert_eq!((shape(&stuck), rest.is_none()), (shape(&work), true));
        assert_eq!(work.item.places().len(), 6);
    }
}
