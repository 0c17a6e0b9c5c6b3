//! Opening a folder to be listed, and deciding whether it is.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use super::subfolders::{Subfolder, Subfolders};
use super::visit::{Stop, Visit, fault};
use crate::access::{folder_fault, join};
use crate::catalog::Signature;
use crate::model::{Step, VolumeId};
use crate::platform::{Dir, Links, Stat, Volume};
use crate::scan::context::ListingContext;
use crate::scan::engine::{FromParent, ListItem, Origin};
use crate::scan::scope::IgnoreChain;

/// Larger ignore files are taken for something else.
const IGNORE_FILE_LIMIT: usize = 1 << 20;

/// What is to be done with an open folder.
pub(super) enum Verdict {
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
pub(super) struct Folder {
    pub(super) dir: Dir,
    pub(super) stat: Stat,
    pub(super) below: Arc<Path>,
    pub(super) links: Links,
    root_dev: u64,
    pub(super) known: KnownOfFolder,
}

/// What is known of a folder before it is looked into.
pub(super) struct KnownOfFolder {
    /// The parent's mount; `None` where it is not known, or means nothing because
    /// a link led here.
    parent_mount: Option<u64>,
    was_mount_point: bool,
    /// Whether a symbolic link leads to it, or to a folder above it.
    pub(super) is_linked: bool,
    /// Whether the catalog cannot hold anything about it yet.
    pub(super) is_new: bool,
    /// The signature that the catalog holds of its files.
    pub(super) signature: Option<Signature>,
    /// Whether the catalog may hold live subfolders of it.
    pub(super) has_subfolders: bool,
    /// The volume that the catalog holds of it.
    pub(super) volume: Option<VolumeId>,
    pub(super) ignores: IgnoreChain,
}

impl Folder {
    pub(super) fn open(visit: &mut Visit<'_, '_>) -> Result<Self, Stop> {
        let item = visit.item;
        let opener = &mut *visit.context.opener;
        let below = match &item.origin {
            Origin::Parent(parent) => {
                opener.note(item.folder, item.root, &parent.path);
                Arc::clone(&parent.path)
            }
            Origin::Catalog | Origin::Listed => opener.locate(item.folder)?.1,
        };
        let root = opener.root(item.root).map_err(fault(Step::OpenFolder))?;
        visit.path = join(&root.path, &below);
        let dir = root
            .dir
            .open_beneath(&*below, root.links)
            .map_err(|error| Stop::Fault(folder_fault(&error)))?;
        let stat = dir.stat().map_err(fault(Step::OpenFolder))?;
        let mut known = match &item.origin {
            Origin::Parent(parent) => KnownOfFolder::from_parent(parent, item),
            Origin::Catalog | Origin::Listed => {
                let row = opener.catalog().folder(item.folder)?;
                KnownOfFolder {
                    parent_mount: parent_mount(&root.dir, &below, root.links),
                    was_mount_point: row.mount_point,
                    is_linked: is_linked(&root.dir, &below, root.links),
                    is_new: false,
                    signature: row.signature,
                    has_subfolders: true,
                    volume: row.volume,
                    ignores: outer_ignores(visit.listing, &root.dir, &below, root.links),
                }
            }
        };
        known.signature = known.signature.filter(|_| !item.is_repeated);
        Ok(Self {
            dir,
            stat,
            links: root.links,
            root_dev: root.dev,
            below,
            known,
        })
    }
}

impl KnownOfFolder {
    fn from_parent(parent: &FromParent, item: &ListItem) -> Self {
        let is_linked = parent.is_link;
        Self {
            parent_mount: parent.mount.filter(|_| !is_linked),
            was_mount_point: parent.was_mount_point && !is_linked,
            is_linked: is_linked || parent.is_below_link,
            is_new: parent.is_new,
            signature: parent.signature,
            // What an earlier attempt sent may have changed what the parent told.
            has_subfolders: parent.has_subfolders || item.is_repeated,
            volume: parent.volume,
            ignores: parent.ignores.clone(),
        }
    }
}

impl Folder {
    /// Whether another filesystem is mounted on it.
    pub(super) fn is_mount_point(&self) -> bool {
        let is_top = self.below.as_os_str().is_empty();
        !is_top
            && matches!(
                (self.stat.mount, self.known.parent_mount),
                (Some(own), Some(parent)) if own != parent
            )
    }

    /// Whether the folder is to be listed.
    pub(super) fn verdict(&self, visit: &Visit<'_, '_>) -> Result<Verdict, Stop> {
        let Visit { listing, item, .. } = visit;
        let is_from_parent = matches!(item.origin, Origin::Parent(_));
        let (scope, ignores) = (listing.scope(item.root), &self.known.ignores);
        if !is_from_parent && !scope.admits_path(&self.below, item.start_depth, ignores) {
            return Ok(Verdict::OutOfScope);
        }
        if visit.is_repeat() && self.is_as_listed(visit)? {
            // Still to be remembered, so that no link leads here again.
            listing.is_first_visit(self.stat.id());
            return Ok(Verdict::Unchanged);
        }
        if listing.options.one_file_system && self.stat.dev != self.root_dev {
            return Ok(Verdict::OutOfScope);
        }
        if self.known.was_mount_point && !self.is_mount_point() && !listing.allow_empty {
            return Ok(Verdict::Offline);
        }
        let volume = self.volume(visit)?;
        Ok(match volume.pseudo {
            true => Verdict::Skip(volume.fstype.to_owned()),
            false => Verdict::List,
        })
    }

    fn volume(&self, visit: &Visit<'_, '_>) -> Result<Arc<Volume>, Stop> {
        let volumes = &visit.context.run.volumes;
        let volume = volumes.of(&self.dir, self.stat.dev);
        volume.map_err(fault(Step::OpenFolder))
    }

    /// Whether its times are those of its last listing, and prove something.
    fn is_as_listed(&self, visit: &Visit<'_, '_>) -> Result<bool, Stop> {
        if !self.volume(visit)?.folder_times {
            return Ok(false);
        }
        let row = visit.context.opener.catalog().folder(visit.item.folder)?;
        let meta = &self.stat.meta;
        Ok(row.times == Some((meta.mtime_ns, meta.ctime_ns)))
    }

    /// The subfolders to list next. Those that a resumed scan knew before are
    /// looked at by way of the catalog.
    pub(super) fn children(
        &self,
        item: &ListItem,
        volume: VolumeId,
        subfolders: &Subfolders,
    ) -> Vec<ListItem> {
        let child = |folder: &Subfolder| ListItem {
            scan: item.scan,
            root: item.root,
            volume,
            folder: folder.id,
            start_depth: item.start_depth,
            origin: Origin::Parent(FromParent {
                path: self.below.join(&folder.name).into(),
                mount: self.stat.mount,
                is_new: folder.is_new,
                was_mount_point: folder.was_mount_point,
                signature: folder.signature,
                has_subfolders: folder.has_subfolders,
                volume: folder.volume,
                is_link: folder.is_link,
                is_below_link: self.known.is_linked,
                ignores: self.known.ignores.clone(),
            }),
            hung: None,
            is_repeated: false,
        };
        subfolders.all.iter().map(child).collect()
    }

    /// Adds the rules of the folder's own ignore file.
    pub(super) fn read_ignores(&mut self) {
        self.known.ignores = read_ignores(&self.dir, &self.below, &self.known.ignores);
    }
}

/// Whether the way to a folder that comes from the catalog passes through a link.
fn is_linked(root: &Dir, below: &Path, links: Links) -> bool {
    links == Links::Follow && root.open_beneath(below, Links::Refuse).is_err()
}

/// The mount of a folder's parent, for folders that come from the catalog.
fn parent_mount(root: &Dir, below: &Path, links: Links) -> Option<u64> {
    let parent = root.open_beneath(below.parent()?, links).ok()?;
    parent.stat().ok()?.mount
}

/// The ignore rules above a folder that comes from the catalog.
fn outer_ignores(listing: &ListingContext, root: &Dir, below: &Path, links: Links) -> IgnoreChain {
    let mut chain = IgnoreChain::default();
    if !listing.options.gitignore {
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

/// The chain extended by a folder's own ignore file, if it has one that can be
/// read.
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
