//! Roots that are in another place now, because their disk is mounted there or their
//! folder was renamed. Without proof, what is there is another folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::{join, known_volume, volume_row};
use crate::catalog::{CatalogError, Exclusive, RootRow};
use crate::model::FolderIdentity;
use crate::platform::{Dir, Volume, VolumeTable};
use crate::scan::observe::Notice;

/// Moves every root of the catalog that is found at, above or below one of the
/// folders to be scanned, and is no longer where it was. Whether there was one.
pub(super) fn follow(
    catalog: &mut Exclusive,
    paths: &[PathBuf],
    volumes: &VolumeTable,
    notify: &mut dyn FnMut(Notice),
) -> Result<bool, CatalogError> {
    let roots = catalog.roots()?;
    let paths: Vec<_> = paths.iter().filter(|path| is_new(path, &roots)).collect();
    if paths.is_empty() {
        return Ok(false);
    }
    let mut has_moved = false;
    let mut refused = Vec::new();
    for root in roots {
        let there = still_there(&root, volumes);
        let find = |path: &&PathBuf| find(&root, path, there.is_some(), volumes);
        let Some(found) = paths.iter().find_map(find) else {
            continue;
        };
        if let Some(why) = refusal(&root, &found, there.as_deref()) {
            refused.push((root.path, found.path, why));
        } else if !overlaps_another(&catalog.roots()?, &root, &found.path) {
            let volume = catalog.register_volume(&volume_row(&found.volume))?;
            catalog.move_root(&root.path, &found.path, volume)?;
            has_moved = true;
            notify(Notice::RootMoved(root.path, found.path));
        }
    }
    let roots = catalog.roots()?;
    refused.retain(|(_, path, _)| is_new(path, &roots));
    for (root, path, why) in refused {
        notify(Notice::NotMoved(path, root, why));
    }
    Ok(has_moved)
}

/// Whether a path is in none of the roots.
fn is_new(path: &Path, roots: &[RootRow]) -> bool {
    !roots.iter().any(|root| path.starts_with(&root.path))
}

/// A folder that looks like a root.
struct Found {
    path: PathBuf,
    volume: Arc<Volume>,
}

/// The folder that looks like a root and is in another place: `path`, one above it
/// on the same device, or one that lies below those as the root lay below its mount
/// point.
///
/// A root that is still there can only be there once more, at `path`.
fn find(root: &RootRow, path: &Path, is_there: bool, volumes: &VolumeTable) -> Option<Found> {
    let identity = root.folder?;
    let (dir, dev) = open(path)?;
    let volume = volumes.of(&dir, dev).ok()?;
    if !known_volume(&root.volume).has(&volume.plain) {
        return None;
    }
    if is_there {
        let path = is_it(path, identity, dev).then(|| path.to_owned())?;
        return Some(Found { path, volume });
    }
    let above = path.ancestors();
    let mut above = above.take_while(|folder| open(folder).is_some_and(|(_, on)| on == dev));
    let below = |folder: &Path| {
        let names: Vec<_> = root.path.iter().skip(1).collect();
        let ends = (0..=names.len()).rev();
        let mut places =
            ends.map(|first| join(folder, &names[first..].iter().collect::<PathBuf>()));
        places.find(|place| *place != root.path && is_it(place, identity, dev))
    };
    let path = above.find_map(below)?;
    Some(Found { path, volume })
}

fn is_it(place: &Path, identity: FolderIdentity, dev: u64) -> bool {
    open(place)
        .is_some_and(|(dir, on)| on == dev && dir.identity().is_ok_and(|now| now == Some(identity)))
}

/// The folder at `path` and its device, unless a link leads there.
fn open(path: &Path) -> Option<(Dir, u64)> {
    let is_real = path.canonicalize().is_ok_and(|real| real == path);
    let dir = is_real.then(|| Dir::open_root(path).ok())??;
    let dev = dir.stat().ok()?.dev;
    Some((dir, dev))
}

/// The volume of a root's folder, if that is in its place.
fn still_there(root: &RootRow, volumes: &VolumeTable) -> Option<Arc<Volume>> {
    let (dir, dev) = open(&root.path)?;
    let is_it = dir.identity().ok()? == root.folder;
    is_it.then(|| volumes.of(&dir, dev).ok())?
}

/// Why a folder that looks like a root is not taken for it, if so.
fn refusal(root: &RootRow, found: &Found, there: Option<&Volume>) -> Option<&'static str> {
    let is_same = found.volume.identity == root.volume.identity;
    match there {
        Some(there) if there.dev == found.volume.dev => {
            Some("that is still there; a file that is reached both ways is one copy")
        }
        Some(there) if there.plain == found.volume.plain => {
            Some("that is still there, on another disk with the same UUID (a clone)")
        }
        _ if is_same => None,
        _ if root.volume.disk.is_none() || found.volume.disk.is_none() => Some(
            "nothing tells whether it is on the same disk or on a clone with the same UUID \
                 (if it is the same: `forget` the new root, then `roots move`)",
        ),
        _ => Some("it is on another disk with the same UUID (a clone)"),
    }
}

fn overlaps_another(roots: &[RootRow], root: &RootRow, place: &Path) -> bool {
    let others = roots.iter().filter(|other| other.id != root.id);
    let mut others = others.map(|other| &other.path);
    others.any(|other| other.starts_with(place) || place.starts_with(other))
}
