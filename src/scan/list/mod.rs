//! Listing one folder: open it, decide whether it is to be listed, and tell
//! the writer what differs from the catalog.

mod contents;
mod diff;
mod entries;
mod reading;
mod subfolders;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::{Opener, folder_fault, join};
use crate::catalog::{CatalogError, Record, Signature};
use crate::model::{Fault, FaultClass, Step};
use crate::platform::{Dir, Links, Stat};
use crate::pool::WorkerContext;
use crate::scan::context::Shared;
use crate::scan::engine::{Failure, Item, ItemReport, ListItem, Origin, Place};
use crate::scan::read::SampleReader;
use crate::scan::scope::IgnoreChain;

/// Larger ignore files are taken for something else.
const IGNORE_FILE_LIMIT: usize = 1 << 20;

/// Why a listing ended early.
enum Stop {
    /// Something failed on the folder itself.
    Fault(Fault),
    /// The catalog failed.
    Catalog(CatalogError),
}

impl From<CatalogError> for Stop {
    fn from(error: CatalogError) -> Self {
        Self::Catalog(error)
    }
}

fn fault(step: Step) -> impl Fn(io::Error) -> Stop {
    move |error| Stop::Fault(Fault::from_io(step, &error))
}

/// Lists the folder and reports its subfolders. On the last attempt, entries
/// that cannot be examined are reported one by one instead of failing all.
pub(crate) fn list(
    access: &mut Opener,
    shared: &Shared,
    item: &ListItem,
    is_last_attempt: bool,
    reader: &mut SampleReader,
    context: &WorkerContext,
) -> ItemReport {
    let mut report = ItemReport::default();
    let mut path = PathBuf::new();
    let visit = Visit {
        shared,
        item,
        is_last_attempt,
        context,
    };
    match visit.run(access, reader, &mut report, &mut path) {
        Ok(()) => {}
        Err(Stop::Catalog(error)) => report.fatal = Some(error),
        Err(Stop::Fault(fault)) if fault.class == FaultClass::Vanished => {
            // Its parent's next complete listing will say so.
            report.vanished += 1;
            send(shared, context, &mut report, visited(item));
        }
        Err(Stop::Fault(fault)) => report.failures.push(Failure {
            place: Place::folder(item.folder),
            path,
            volume: item.volume,
            fault,
            again: Some(Item::List(item.again())),
        }),
    }
    report
}

/// One attempt at one folder.
struct Visit<'a> {
    shared: &'a Shared,
    item: &'a ListItem,
    is_last_attempt: bool,
    context: &'a WorkerContext,
}

impl Visit<'_> {
    fn run(
        &self,
        access: &mut Opener,
        reader: &mut SampleReader,
        report: &mut ItemReport,
        path: &mut PathBuf,
    ) -> Result<(), Stop> {
        let (shared, item, context) = (self.shared, self.item, self.context);
        let folder = Folder::open(access, shared, item, path)?;
        context.set_path(path);
        match folder.verdict(access, shared, item)? {
            Verdict::List => return folder.list(access, self, reader, report, path),
            Verdict::Unchanged => return Ok(()),
            Verdict::OutOfScope => {}
            Verdict::Skip(fstype) => report.skipped.push((path.clone(), fstype)),
            Verdict::Offline => report.offline.push(path.clone()),
        }
        send(shared, context, report, visited(item));
        Ok(())
    }
}

fn visited(item: &ListItem) -> Record {
    Record::Visited {
        folder: item.folder,
        scan: item.scan,
    }
}

/// Sends a record unless the item was given up in the meantime; says whether it
/// did.
fn send(shared: &Shared, context: &WorkerContext, report: &mut ItemReport, record: Record) -> bool {
    if !context.settle() {
        return false;
    }
    match shared.writer.send(record) {
        Ok(()) => true,
        Err(error) => {
            report.fatal = Some(error);
            false
        }
    }
}

/// What is to be done with an open folder.
enum Verdict {
    List,
    /// Listed before the stop, and nothing moved since.
    Unchanged,
    OutOfScope,
    /// On a filesystem that holds no files.
    Skip(String),
    /// Something was mounted here and is not now.
    Offline,
}

/// A folder opened for listing.
struct Folder {
    dir: Dir,
    stat: Stat,
    below: Arc<Path>,
    /// `None` where it is not known, or means nothing because a link led here.
    parent_mount: Option<u64>,
    was_mount_point: bool,
    /// Whether the catalog cannot hold anything about it yet.
    is_new: bool,
    /// The signature that the catalog holds of its files.
    signature: Option<Signature>,
    /// Whether the catalog may hold live subfolders of it.
    has_subfolders: bool,
    ignores: IgnoreChain,
    links: Links,
    root_dev: u64,
}

impl Folder {
    fn open(
        access: &mut Opener,
        shared: &Shared,
        item: &ListItem,
        path: &mut PathBuf,
    ) -> Result<Self, Stop> {
        let (below, known) = match &item.origin {
            Origin::Parent(known) => {
                access.note(item.folder, item.root, &known.path);
                (Arc::clone(&known.path), Some(known.clone()))
            }
            Origin::Catalog | Origin::Listed => (access.locate(item.folder)?.1, None),
        };
        let root = access.root(item.root).map_err(fault(Step::OpenFolder))?;
        *path = join(&root.path, &below);
        let (links, root_dev) = (root.links, root.dev);
        let dir = root
            .dir
            .open_beneath(&*below, links)
            .map_err(|error| Stop::Fault(folder_fault(&error)))?;
        let stat = dir.stat().map_err(fault(Step::OpenFolder))?;
        let is_new = known.as_ref().is_some_and(|known| known.is_new);
        // What an earlier attempt sent may have changed what the parent told.
        let has_subfolders = known
            .as_ref()
            .is_none_or(|known| known.has_subfolders || item.is_repeated);
        let (parent_mount, was_mount_point, signature, ignores) = match known {
            Some(known) if known.is_link => (None, false, known.signature, known.ignores),
            Some(known) => (
                known.mount,
                known.was_mount_point,
                known.signature,
                known.ignores,
            ),
            None => {
                let row = access.catalog().folder(item.folder)?;
                (
                    parent_mount(&root.dir, &below, links),
                    row.mount_point,
                    row.signature,
                    outer_ignores(shared, &root.dir, &below, links),
                )
            }
        };
        Ok(Self {
            dir,
            stat,
            below,
            parent_mount,
            was_mount_point,
            is_new,
            signature: signature.filter(|_| !item.is_repeated),
            has_subfolders,
            ignores,
            links,
            root_dev,
        })
    }

    fn is_top(&self) -> bool {
        self.below.as_os_str().is_empty()
    }

    fn is_mount_point(&self) -> bool {
        !self.is_top()
            && matches!((self.stat.mount, self.parent_mount), (Some(own), Some(parent)) if own != parent)
    }

    fn verdict(&self, access: &Opener, shared: &Shared, item: &ListItem) -> Result<Verdict, Stop> {
        if !matches!(item.origin, Origin::Parent(_))
            && !shared
                .scope
                .admits_path(&self.below, item.start_depth, &self.ignores)
        {
            return Ok(Verdict::OutOfScope);
        }
        if matches!(item.origin, Origin::Listed) {
            let times = access.catalog().folder(item.folder)?.times;
            if times == Some((self.stat.meta.mtime_ns, self.stat.meta.ctime_ns)) {
                // Still to be remembered, so that no link leads here again.
                shared.is_first_visit(self.stat.id());
                return Ok(Verdict::Unchanged);
            }
        }
        if shared.listing.one_file_system && self.stat.dev != self.root_dev {
            return Ok(Verdict::OutOfScope);
        }
        if self.was_mount_point && !self.is_mount_point() && !shared.allow_empty {
            return Ok(Verdict::Offline);
        }
        let volume = shared
            .volumes
            .of(&self.dir, self.stat.dev)
            .map_err(fault(Step::OpenFolder))?;
        if volume.pseudo {
            return Ok(Verdict::Skip(volume.fstype.to_owned()));
        }
        Ok(Verdict::List)
    }
}

/// The mount of a folder's parent, for folders that come from the catalog.
fn parent_mount(root: &Dir, below: &Path, links: Links) -> Option<u64> {
    let parent = root.open_beneath(below.parent()?, links).ok()?;
    parent.stat().ok()?.mount
}

/// The ignore rules above a folder that comes from the catalog.
fn outer_ignores(shared: &Shared, root: &Dir, below: &Path, links: Links) -> IgnoreChain {
    let mut chain = IgnoreChain::default();
    if !shared.listing.gitignore {
        return chain;
    }
    let mut outer: Vec<&Path> = below.ancestors().skip(1).collect();
    outer.reverse();
    for folder in outer {
        if let Ok(dir) = root.open_beneath(folder, links) {
            chain = read_ignores(&dir, folder, &chain);
        }
    }
    chain
}

/// The chain extended by a folder's own ignore file, if it has one that can
/// be read.
fn read_ignores(dir: &Dir, below: &Path, chain: &IgnoreChain) -> IgnoreChain {
    let mut content = vec![0; IGNORE_FILE_LIMIT];
    let read = dir
        .open_file(OsStr::new(IgnoreChain::FILE), Links::Refuse)
        .and_then(|file| file.read_at(&mut content, 0));
    match read {
        Ok(length) => chain.with(below, &content[..length]),
        Err(_) => chain.clone(),
    }
}
