//! Reaching the files of a plan: below the handles of their roots, never through
//! a link, on filesystems where a device and an inode number are one file.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::access::{OpenRoot, OpenRoots, open_online};
use crate::catalog::{CatalogError, ReadOnly};
use crate::model::{FileState, is_trash};
use crate::platform::{Dir, FileId, Links, OpenFile, Stat, Volume, VolumeTable};

/// Filesystems on which a device and an inode number are one file, and which
/// tests act on. All others show files that may be reached in another way.
const ACTED_ON: &[&str] = &["ext4", "xfs", "btrfs", IN_MEMORY];

/// The filesystem whose files are lost when the computer is switched off.
pub(crate) const IN_MEMORY: &str = "tmpfs";

/// Whether files on a filesystem of this type are acted on.
pub(crate) fn is_acted_on(fstype: &str) -> bool {
    ACTED_ON.contains(&fstype)
}

/// The roots that are online, and the folders that are never touched.
pub(crate) struct Reach {
    roots: OpenRoots,
    protected: HashSet<FileId>,
    /// The device and the mount of each protected folder.
    protected_on: HashSet<(u64, Option<u64>)>,
}

/// A file, open, with the folder that holds its name.
pub(crate) struct Found {
    pub(crate) file: OpenFile,
    pub(crate) folder: Dir,
    pub(crate) name: OsString,
    fstype: &'static str,
}

impl Found {
    /// Refuses a file that is no longer under its name: another program may have
    /// deleted or replaced it since it was opened.
    pub(crate) fn refuse_gone(&self) -> Result<(), Refusal> {
        match self.folder.stat_entry(&self.name, Links::Refuse) {
            Ok(stat) if stat.id() == self.file.opened_as().id() => Ok(()),
            _ => Err("the copy that stays has just been deleted or replaced".to_owned()),
        }
    }

    /// Refuses a copy that stays only until the computer is switched off, for a
    /// file that does not.
    pub(crate) fn refuse_volatile(&self, fstype: &str) -> Result<(), Refusal> {
        match self.fstype == IN_MEMORY && fstype != IN_MEMORY {
            true => Err(format!(
                "the copy that stays is only in memory ({IN_MEMORY})"
            )),
            false => Ok(()),
        }
    }

    /// The filesystem that it is on.
    pub(crate) fn fstype(&self) -> &'static str {
        self.fstype
    }
}

/// Why a file is not touched, in words for the journal.
pub(crate) type Refusal = String;

impl Reach {
    /// The roots of a catalog; `protected` are paths.
    pub(crate) fn of(catalog: &ReadOnly, protected: &[PathBuf]) -> Result<Self, CatalogError> {
        let roots = open_online(catalog.roots()?, &VolumeTable::new(), |_, _| ());
        let ids = protected
            .iter()
            .filter_map(|path| FileId::of_path(path).ok());
        let mounts = protected.iter().filter_map(|path| {
            let stat = Dir::open_root(path).and_then(|dir| dir.stat()).ok()?;
            Some((stat.dev, stat.mount))
        });
        Ok(Self {
            roots,
            protected: ids.collect(),
            protected_on: mounts.collect(),
        })
    }

    /// The root of a path, and the path of the folder below it.
    pub(crate) fn root_of<'p>(&self, path: &'p Path) -> Option<(&OpenRoot, &'p Path, &'p OsStr)> {
        let root = self
            .roots
            .values()
            .find(|root| path.starts_with(&root.path))?;
        let below = path.parent()?.strip_prefix(&root.path).ok()?;
        Some((root, below, path.file_name()?))
    }

    /// Opens the folder of a path.
    pub(crate) fn folder_of(&self, path: &Path) -> Result<Dir, Refusal> {
        let (root, below, _) = self.root_of(path).ok_or("its root is offline")?;
        let folder = root.dir.open_beneath(below, Links::Refuse);
        folder.map_err(|error| format!("its folder cannot be opened: {error}"))
    }

    /// Opens a file that must be in this state.
    pub(crate) fn open(&self, path: &Path, state: &FileState) -> Result<Found, Refusal> {
        if path.iter().any(is_trash) {
            return Err("it is in a trash folder".to_owned());
        }
        let folder = self.folder_of(path)?;
        let name = path.file_name().unwrap_or_default();
        let file = folder
            .open_file(name, Links::Refuse)
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => "it no longer exists".to_owned(),
                _ => format!("it cannot be opened: {error}"),
            })?;
        let stat = file.stat_with_mount().map_err(|error| error.to_string())?;
        if !state.is_of(&stat.meta, stat.dev) {
            return Err("it has changed since the scan".to_owned());
        }
        let inside = folder.stat().map_err(|error| error.to_string())?;
        refuse_other_mounts(&stat, &inside)?;
        let fstype = Volume::type_of(&file).map_err(|error| error.to_string())?;
        match is_acted_on(fstype) {
            true => Ok(Found {
                file,
                folder,
                name: name.to_owned(),
                fstype,
            }),
            false => Err(format!(
                "it is on {fstype}, where files cannot be told apart reliably"
            )),
        }
    }

    /// Refuses a folder that is protected, or inside a folder that is, whatever
    /// their names are now.
    pub(crate) fn refuse_protected(&self, folder: &Dir) -> Result<(), Refusal> {
        if self.protected.is_empty() {
            return Ok(());
        }
        let here = folder.stat().map_err(|error| error.to_string())?;
        let mut on = self.protected_on.iter();
        if on.any(|(dev, mount)| *dev == here.dev && *mount != here.mount) {
            // The way up from a bind mount leads past the folders it was mounted from.
            return Err("it is on another mount of a disk with a protected folder".to_owned());
        }
        let walk = || -> io::Result<bool> {
            let mut at = folder.passage_up()?;
            let mut id = folder.stat()?.id();
            loop {
                let above = at.stat()?.id();
                if self.protected.contains(&id) {
                    return Ok(true);
                }
                if above == id {
                    return Ok(false);
                }
                (at, id) = (at.passage_up()?, above);
            }
        };
        match walk() {
            Ok(false) => Ok(()),
            Ok(true) => Err("it is in a protected folder".to_owned()),
            Err(error) => Err(format!("the folders above it cannot be checked: {error}")),
        }
    }
}

/// A file that is mounted over another one is reached in two ways.
fn refuse_other_mounts(file: &Stat, folder: &Stat) -> Result<(), Refusal> {
    match (file.dev, file.mount) == (folder.dev, folder.mount) {
        true => Ok(()),
        false => Err("it is mounted over its folder".to_owned()),
    }
}
