//! Listing one folder: read its entries, stat them, and tell the writer what
//! differs from the catalog.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::access::{Access, folder_fault, join};
use super::diff::{self, Diff};
use super::entries::{Examiner, Found};
use super::item::{Failure, FromParent, Item, ItemReport, ListItem, Origin, Place};
use super::pool::WorkerContext;
use super::scope::{IgnoreChain, is_ignore_file};
use super::shared::Shared;
use super::subfolders::{self, Subfolder, Subfolders};
use crate::catalog::{CatalogError, FolderListing, NewFolder, Record};
use crate::fault::{Fault, FaultClass, Step};
use crate::model::{FolderId, VolumeId, now_ns};
use crate::platform::{Dir, Links, RawEntry, Stat};

/// A folder whose times are fresher than this may change again without their
/// moving, and is listed again by a resume.
const FRESH_NS: i64 = 3_000_000_000;
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
pub(super) fn list(
    access: &mut Access,
    shared: &Shared,
    item: &ListItem,
    is_last_attempt: bool,
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
    match visit.run(access, &mut report, &mut path) {
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
            again: Some(Item::List(item.clone())),
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
        access: &mut Access,
        report: &mut ItemReport,
        path: &mut PathBuf,
    ) -> Result<(), Stop> {
        let (shared, item, context) = (self.shared, self.item, self.context);
        let folder = Folder::open(access, shared, item, path)?;
        context.set_path(path);
        match folder.verdict(access, shared, item)? {
            Verdict::List => return folder.list(access, self, report, path),
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

/// Sends a record unless the item was given up in the meantime.
fn send(shared: &Shared, context: &WorkerContext, report: &mut ItemReport, record: Record) {
    if context.settle()
        && let Err(error) = shared.writer.send(record)
    {
        report.fatal = Some(error);
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
    ignores: IgnoreChain,
    root_dev: u64,
}

impl Folder {
    fn open(
        access: &mut Access,
        shared: &Shared,
        item: &ListItem,
        path: &mut PathBuf,
    ) -> Result<Self, Stop> {
        let (below, known) = match &item.origin {
            Origin::Parent(known) => (Arc::clone(&known.path), Some(known.clone())),
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
        let (parent_mount, was_mount_point, ignores) = match known {
            Some(known) if known.is_link => (None, false, known.ignores),
            Some(known) => (known.mount, known.was_mount_point, known.ignores),
            None => (
                parent_mount(&root.dir, &below, links),
                access.catalog().folder(item.folder)?.mount_point,
                outer_ignores(shared, &root.dir, &below, links),
            ),
        };
        Ok(Self {
            dir,
            stat,
            below,
            parent_mount,
            was_mount_point,
            ignores,
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

    fn verdict(&self, access: &Access, shared: &Shared, item: &ListItem) -> Result<Verdict, Stop> {
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
            .of(&self.dir, &self.stat)
            .map_err(fault(Step::OpenFolder))?;
        if volume.pseudo {
            return Ok(Verdict::Skip(volume.fstype.to_owned()));
        }
        Ok(Verdict::List)
    }

    fn list(
        mut self,
        access: &Access,
        visit: &Visit<'_>,
        report: &mut ItemReport,
        path: &Path,
    ) -> Result<(), Stop> {
        let (shared, item, context) = (visit.shared, visit.item, visit.context);
        let began = now_ns();
        let (volume, volume_id) = shared
            .volume(&self.dir, &self.stat)?
            .map_err(fault(Step::OpenFolder))?;
        let entries = self.read_entries(context)?;
        if shared.listing.gitignore && entries.iter().any(|entry| is_ignore_file(&entry.name)) {
            self.ignores = read_ignores(&self.dir, &self.below, &self.ignores);
        }
        let stable_dev = volume.stable_inodes.then_some(self.stat.dev);
        let found = self.sort_entries(visit, entries, stable_dev, report, path)?;
        // Asked last, so that an attempt that failed does not count.
        if !shared.is_first_visit(self.stat.id()) {
            let record = self.elsewhere(access, item, volume_id, began)?;
            send(shared, context, report, record);
            return Ok(());
        }
        let known = access.catalog().files_of(item.folder)?;
        let diff = diff::compare(
            found.files,
            &found.unsure_files,
            known,
            stable_dev,
            shared.ignore_ctime,
        );
        let known_folders = access.catalog().subfolders_of(item.folder)?;
        let mut subfolders = subfolders::pair(
            &found.folders,
            &found.unsure_folders,
            known_folders,
            shared.allow_empty,
            || shared.writer.allocate_folder(),
        );
        if !shared.allow_empty {
            subfolders.keep_unplugged(|gone| access.catalog().has_mount_point_below(gone))?;
        }
        context.metrics().folders_listed.add(1);
        context.metrics().files_seen.add(diff.counts.files);
        context.metrics().files_unchanged.add(diff.unchanged);
        report.offline.extend(
            subfolders
                .unplugged
                .iter()
                .map(|name| join(path, Path::new(name))),
        );
        let record = self.record(item, volume_id, began, diff, &subfolders);
        // Those of a folder that is listed again are looked at again or still
        // pending by themselves; none may be listed twice at once.
        if !matches!(item.origin, Origin::Listed) {
            report.subfolders = self.children(item, volume_id, &subfolders);
        }
        send(shared, context, report, record);
        Ok(())
    }

    /// A folder that was listed under another path: rows that an earlier scan
    /// made under this one would never be looked at again.
    fn elsewhere(
        &self,
        access: &Access,
        item: &ListItem,
        volume: VolumeId,
        began: i64,
    ) -> Result<Record, Stop> {
        let files = access.catalog().files_of(item.folder)?;
        let folders = access.catalog().subfolders_of(item.folder)?;
        let diff = diff::compare(Vec::new(), &[], files, None, false);
        let subfolders = subfolders::pair(&[], &[], folders, true, || FolderId(0));
        if diff.vanished.is_empty() && subfolders.vanished.is_empty() {
            return Ok(visited(item));
        }
        Ok(self.record(item, volume, began, diff, &subfolders))
    }

    fn read_entries(&mut self, context: &WorkerContext) -> Result<Vec<RawEntry>, Stop> {
        let mut entries = Vec::new();
        for entry in self.dir.read().map_err(fault(Step::ReadFolder))? {
            entries.push(entry.map_err(fault(Step::ReadFolder))?);
            if entries.len() % 1_000 == 0 {
                context.progress(0);
            }
        }
        entries.sort_unstable_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        Ok(entries)
    }

    /// Sorts the entries by what they are. On the last attempt those that
    /// cannot be examined are reported one by one.
    fn sort_entries(
        &self,
        visit: &Visit<'_>,
        entries: Vec<RawEntry>,
        stable_dev: Option<u64>,
        report: &mut ItemReport,
        path: &Path,
    ) -> Result<Found, Stop> {
        let examiner = Examiner {
            dir: &self.dir,
            folder: &self.stat,
            below: &self.below,
            ignores: &self.ignores,
            start_depth: visit.item.start_depth,
            stable_dev,
            shared: visit.shared,
        };
        let mut found = Found::default();
        for (number, entry) in entries.into_iter().enumerate() {
            if number % 1_000 == 999 {
                visit.context.progress(0);
            }
            let Err(error) = examiner.sort(&entry, &mut found) else {
                continue;
            };
            let fault = Fault::from_io(Step::Stat, &error);
            if fault.class == FaultClass::Vanished {
                continue;
            }
            if fault.class.is_retried() && !visit.is_last_attempt {
                return Err(Stop::Fault(fault));
            }
            found.unsure_files.push(entry.name.clone());
            found.unsure_folders.push(entry.name.clone());
            report.failures.push(Failure {
                place: Place {
                    folder: visit.item.folder,
                    name: entry.name.clone(),
                },
                path: path.join(&entry.name),
                volume: visit.item.volume,
                again: None,
                fault,
            });
        }
        Ok(found)
    }

    fn record(
        &self,
        item: &ListItem,
        volume: VolumeId,
        began: i64,
        diff: Diff,
        subfolders: &Subfolders,
    ) -> Record {
        let meta = &self.stat.meta;
        let is_repeat = matches!(item.origin, Origin::Listed);
        let is_fresh = meta.ctime_ns.max(meta.mtime_ns) > began - FRESH_NS;
        let of_all =
            |wanted: fn(&Subfolder) -> bool| subfolders.all.iter().filter(move |f| wanted(f));
        Record::Listed(Box::new(FolderListing {
            scan: item.scan,
            root: item.root,
            folder: item.folder,
            volume,
            mount_point: self.is_mount_point(),
            times: (!is_fresh).then_some((meta.mtime_ns, meta.ctime_ns)),
            files: diff.changes,
            vanished: diff.vanished,
            new_folders: of_all(|folder| folder.is_new)
                .map(|folder| NewFolder {
                    id: folder.id,
                    name: folder.name.clone(),
                })
                .collect(),
            returned_folders: of_all(|folder| folder.returned)
                .map(|folder| folder.id)
                .collect(),
            vanished_folders: subfolders.vanished.iter().map(|gone| gone.0).collect(),
            is_repeat,
            counts: if is_repeat {
                diff.counts.only_new()
            } else {
                diff.counts
            },
        }))
    }

    /// The subfolders to list next. Those that a resumed scan knew before are
    /// looked at by way of the catalog.
    fn children(
        &self,
        item: &ListItem,
        volume: VolumeId,
        subfolders: &Subfolders,
    ) -> Vec<ListItem> {
        let is_repeat = matches!(item.origin, Origin::Listed);
        subfolders
            .all
            .iter()
            .filter(|folder| !is_repeat || folder.is_new || folder.returned)
            .map(|folder| ListItem {
                scan: item.scan,
                root: item.root,
                volume,
                folder: folder.id,
                start_depth: item.start_depth,
                origin: Origin::Parent(FromParent {
                    path: self.below.join(&folder.name).into(),
                    mount: self.stat.mount,
                    was_mount_point: folder.was_mount_point,
                    is_link: folder.is_link,
                    ignores: self.ignores.clone(),
                }),
            })
            .collect()
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
