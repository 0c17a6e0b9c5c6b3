//! Roots: whether each is there and is what it was, and the handles of those that
//! are. An unplugged disk must never look like files that were deleted.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::{RootRow, VolumeRow};
use crate::model::RootId;
use crate::platform::{Dir, KnownVolume, Links, Volume, VolumeTable};

/// A root that can be read now.
#[derive(Debug)]
pub(crate) struct OpenRoot {
    /// Its handle.
    pub(crate) dir: Dir,
    /// Its absolute path, for messages.
    pub(crate) path: PathBuf,
    /// Whether symbolic links below it are followed.
    pub(crate) links: Links,
    /// Device of the root itself.
    pub(crate) dev: u64,
}

/// All roots that can be read now.
pub(crate) type OpenRoots = HashMap<RootId, OpenRoot>;

impl OpenRoot {
    /// A root whose folder is open.
    pub(crate) fn new(dir: Dir, path: PathBuf, follow: bool) -> io::Result<Self> {
        let links = if follow { Links::Follow } else { Links::Refuse };
        let dev = dir.stat()?.dev;
        Ok(Self {
            dir,
            path,
            links,
            dev,
        })
    }
}

/// Opens the roots that are what they were, and tells why others are not.
pub(crate) fn open_online(
    rows: impl IntoIterator<Item = RootRow>,
    volumes: &VolumeTable,
    mut tell: impl FnMut(PathBuf, String),
) -> OpenRoots {
    let mut open = OpenRoots::new();
    for row in rows {
        let opened = online_state(&row, volumes).and_then(|(dir, _)| {
            let root = OpenRoot::new(dir, row.path.clone(), row.follow);
            root.map_err(|error| error.to_string())
        });
        match opened {
            Ok(root) => {
                open.insert(row.id, root);
            }
            Err(reason) => tell(row.path, reason),
        }
    }
    open
}

/// Why a root cannot be read now as it was last time, if so; otherwise its
/// open folder.
pub(crate) fn online_state(
    root: &RootRow,
    volumes: &VolumeTable,
) -> Result<(Dir, Arc<Volume>), String> {
    let open = || -> io::Result<(Dir, Arc<Volume>)> {
        let dir = Dir::open_root(&root.path)?;
        let stat = dir.stat()?;
        let volume = volumes.of(&dir, stat.dev)?;
        Ok((dir, volume))
    };
    let (dir, volume) = open().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "the folder does not exist".to_owned(),
        _ => error.to_string(),
    })?;
    match moved_reason(root, &volume).or_else(|| empty_reason(root, &root.path)) {
        Some(reason) => Err(reason),
        None => Ok((dir, volume)),
    }
}

/// Why a root is not where it was, if so. Identities without a uuid hold within one
/// boot only, so they prove nothing; another type of filesystem does.
pub(crate) fn moved_reason(root: &RootRow, now: &Volume) -> Option<String> {
    let (before, now) = (&root.volume, volume_row(now));
    let is_other =
        before.fstype != now.fstype || (before.fstype != "tmpfs" && before.has_other_uuid(&now));
    is_other.then(|| {
        format!(
            "it is on another filesystem than last time ({} {} instead of {} {})",
            now.fstype, now.identity, before.fstype, before.identity
        )
    })
}

/// Meets the volumes of all roots that are there in the order of their paths, so
/// that every command gives the same identities to clones and to images that are
/// mounted twice.
pub(crate) fn meet_volumes(roots: &[RootRow]) -> VolumeTable {
    let known: Vec<KnownVolume> = roots
        .iter()
        .map(|root| known_volume(&root.volume))
        .collect();
    let volumes = VolumeTable::knowing(known.clone());
    let mut elsewhere = Vec::new();
    for (root, known) in roots.iter().zip(&known) {
        let met = nearest(&root.path).and_then(|dir| {
            let dev = dir.stat()?.dev;
            let is_it = volumes.in_place(&dir, dev, known)?.is_some();
            Ok((!is_it).then_some((dir, dev)))
        });
        // One that cannot be opened has no volume now.
        elsewhere.extend(met.ok().flatten());
    }
    for (dir, dev) in elsewhere {
        let _ignored = volumes.of(&dir, dev);
    }
    volumes
}

/// The folder at `path`, or the nearest one above it that is there: the volume of a
/// root that was deleted is still known by its place.
fn nearest(path: &Path) -> io::Result<Dir> {
    let open = |folder| match Dir::open_root(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        opened => Some(opened),
    };
    let opened = path.ancestors().find_map(open);
    opened.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))
}

/// A volume as the platform knows it again.
pub(crate) fn known_volume(volume: &VolumeRow) -> KnownVolume {
    KnownVolume {
        identity: volume.identity.clone(),
        disk: volume.disk.clone(),
    }
}

/// Why a root that holds nothing now is not believed, if so.
pub(crate) fn empty_reason(root: &RootRow, path: &Path) -> Option<String> {
    let is_empty = std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    (is_empty && root.files > 0).then(|| match root.files {
        1 => "it is empty, but had 1 file last time".to_owned(),
        files => format!("it is empty, but had {files} files last time"),
    })
}

/// A volume as the catalog stores it.
pub(crate) fn volume_row(volume: &Volume) -> VolumeRow {
    VolumeRow {
        identity: volume.identity.clone(),
        fstype: volume.fstype.to_owned(),
        stable_inodes: volume.stable_inodes,
        disk: volume.disk.clone(),
    }
}

/// `top` joined with a path that may be empty, without a trailing slash.
pub(crate) fn join(top: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() {
        top.to_owned()
    } else {
        top.join(below)
    }
}
