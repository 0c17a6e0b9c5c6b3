//! Checks files and folders of the catalog against the disk: for `report
//! --check`, which skips what changed since the scan, and for commands whose
//! answer is about the present.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::roots::{OpenRoot, OpenRoots, meet_volumes, open_online};
use super::state::is_in_state;
use super::tops::VolumeTops;
use crate::catalog::{CatalogError, ReadOnly, RootRow, VolumeTop};
use crate::model::{CopyEntry, FileState, Group};
use crate::platform::{Dir, EntryKind, FileId, Links, OpenFile, Stat, Volume, VolumeTable};

/// How a file is now, compared with the state it was scanned in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Look {
    /// As it was.
    Same,
    /// There, but not as it was.
    Changed,
    /// Not there.
    Gone,
    /// A symbolic link, or a name in a folder that was ruled out.
    Elsewhere,
    /// Cannot be checked, and why.
    Failed(String),
}

/// Looks at catalogued files through the roots that are online. Nothing in any
/// other root is as it was.
pub(crate) struct Checker {
    roots: OpenRoots,
    volumes: VolumeTable,
    tops: VolumeTops,
}

impl Checker {
    /// A checker of the files of a catalog.
    pub(crate) fn of(catalog: &ReadOnly) -> Result<Self, CatalogError> {
        Ok(Self::new(catalog.roots()?, catalog.volume_tops()?))
    }

    fn new(roots: Vec<RootRow>, tops: Vec<VolumeTop>) -> Self {
        let volumes = meet_volumes(&roots);
        let roots = open_online(roots, &volumes, |_, _| ());
        Self {
            tops: VolumeTops::look(tops, &roots, &volumes),
            roots,
            volumes,
        }
    }

    /// The group with only those names that are still as they were scanned.
    pub(crate) fn current(&self, mut group: Group) -> Group {
        let size = group.size;
        group.copies = group
            .copies
            .into_par_iter()
            .filter_map(|copy| self.current_copy(size, copy))
            .collect();
        group
            .copies
            .sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        group
    }

    /// The copy under its remaining names; the first of them becomes its path.
    fn current_copy(&self, size: u64, mut copy: CopyEntry) -> Option<CopyEntry> {
        let mut names = std::mem::take(&mut copy.links);
        names.insert(0, std::mem::take(&mut copy.path));
        let state = FileState {
            size,
            mtime_ns: copy.mtime_ns,
            ctime_ns: copy.ctime_ns,
            ino: copy.inode,
        };
        names.retain(|name| self.look_itself(name, &state) == Look::Same);
        copy.symlinks
            .retain(|name| self.look(name, &state) == Look::Same);
        if names.is_empty() {
            return None;
        }
        copy.path = names.remove(0);
        copy.root.clone_from(&self.root_of(&copy.path)?.path);
        copy.links = names;
        Some(copy)
    }

    /// Looks at a file as its root's scans do.
    pub(crate) fn look(&self, path: &Path, state: &FileState) -> Look {
        self.judge(path, self.stat(path), state)
    }

    /// Like [`Checker::look`], for a name that must not be a link.
    fn look_itself(&self, path: &Path, state: &FileState) -> Look {
        let reached = self.reach(path);
        let seen = reached.and_then(|(dir, name, _)| dir.stat_entry(name, Links::Refuse));
        self.judge(path, seen, state)
    }

    /// The volume that a catalogued file is on now. Its folder tells: an overlay
    /// lends its files the device numbers of others.
    pub(crate) fn volume(&self, path: &Path) -> io::Result<Arc<Volume>> {
        self.volume_of_folder(&self.open_folder(path.parent().ok_or_else(gone)?)?)
    }

    /// The volume of an open folder.
    pub(crate) fn volume_of_folder(&self, dir: &Dir) -> io::Result<Arc<Volume>> {
        self.volumes.of(dir, dir.stat()?.dev)
    }

    /// Like [`Checker::look`], for a file that must stand on its own: neither a
    /// link, nor in one of the folders `not_in`.
    pub(crate) fn look_outside(
        &self,
        path: &Path,
        state: &FileState,
        not_in: &HashSet<FileId>,
    ) -> Look {
        let seen = self.reach(path).and_then(|(dir, name, _)| {
            let is_inside = not_in.contains(&dir.stat()?.id());
            let stat = dir.stat_entry(name, Links::Refuse)?;
            Ok((is_inside || stat.kind == EntryKind::Link, stat))
        });
        match seen {
            Ok((true, _)) => Look::Elsewhere,
            Ok((false, stat)) => self.judge(path, Ok(stat), state),
            Err(error) => self.judge(path, Err(error), state),
        }
    }

    /// Opens a catalogued file for reading.
    pub(crate) fn open(&self, path: &Path) -> io::Result<OpenFile> {
        let (dir, name, links) = self.reach(path)?;
        dir.open_file(name, links)
    }

    /// Opens a catalogued folder.
    pub(crate) fn open_folder(&self, path: &Path) -> io::Result<Dir> {
        let root = self.root_of(path).ok_or_else(gone)?;
        let below = path.strip_prefix(&root.path).map_err(|_| gone())?;
        root.dir.open_beneath(below, root.links)
    }

    /// Whether the root of a path is online, by the rules of scans.
    pub(crate) fn is_online(&self, path: &Path) -> bool {
        self.root_of(path).is_some()
    }

    /// The state of a catalogued file now.
    pub(crate) fn stat(&self, path: &Path) -> io::Result<Stat> {
        let (dir, name, links) = self.reach(path)?;
        dir.stat_entry(name, links)
    }

    /// The folder of a file, through the root's handle, since whole paths may
    /// be too long.
    fn reach<'p>(&self, path: &'p Path) -> io::Result<(Dir, &'p OsStr, Links)> {
        let root = self.root_of(path).ok_or_else(gone)?;
        let name = path.file_name().ok_or_else(gone)?;
        let parent = path.parent().ok_or_else(gone)?;
        Ok((self.open_folder(parent)?, name, root.links))
    }

    /// The one definition of "as it was": on the volume that was scanned, and in the
    /// state that was scanned.
    fn judge(&self, path: &Path, seen: io::Result<Stat>, state: &FileState) -> Look {
        match seen {
            Ok(stat) if !stat.is_file() || !is_in_state(&stat, state) => Look::Changed,
            Ok(stat) if !self.tops.holds(path, stat.dev) => Look::Changed,
            Ok(_) => Look::Same,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Look::Gone,
            Err(error) => Look::Failed(error.to_string()),
        }
    }

    fn root_of(&self, path: &Path) -> Option<&OpenRoot> {
        self.roots
            .values()
            .find(|root| path.starts_with(&root.path))
    }
}

fn gone() -> io::Error {
    io::ErrorKind::NotFound.into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::catalog::VolumeRow;
    use crate::model::{Algorithm, FolderId, RootId};

    fn checker(root: &Path) -> Checker {
        let root = RootRow {
            id: RootId(1),
            path: root.to_owned(),
            top: FolderId(1),
            volume: VolumeRow {
                identity: "uuid:1".into(),
                fstype: "ext4".into(),
                stable_inodes: true,
                disk: None,
            },
            folder: None,
            volume_id: crate::model::VolumeId(1),
            follow: false,
            scope: crate::model::RootScope::default(),
            folders: 1,
            files: 0,
            bytes: 0,
        };
        Checker::new(vec![root], Vec::new())
    }

    fn copy(root: &Path, name: &str) -> CopyEntry {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "content").unwrap();
        entry(root, name)
    }

    fn entry(root: &Path, name: &str) -> CopyEntry {
        let path = root.join(name);
        let stat = Dir::open_root(path.parent().unwrap())
            .and_then(|dir| dir.stat_entry(path.file_name().unwrap(), Links::Refuse))
            .unwrap();
        CopyEntry {
            path,
            root: root.to_owned(),
            mtime_ns: stat.meta.mtime_ns,
            ctime_ns: stat.meta.ctime_ns,
            volume: "uuid:1".into(),
            inode: Some(stat.meta.ino),
            ..CopyEntry::default()
        }
    }

    fn names(root: &Path, copies: Vec<CopyEntry>) -> Vec<String> {
        let group = checker(root).current(Group {
            digest: Algorithm::Sha256.digest_of_nothing(),
            algorithm: Algorithm::Sha256,
            size: 7,
            byte_for_byte: false,
            kept: None,
            copies,
        });
        let shown = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
        let copies = group.copies.iter();
        copies
            .map(|copy| {
                let names = copy.links.iter().fold(shown(&copy.path), |names, link| {
                    format!("{names} = {}", shown(link))
                });
                assert_eq!(copy.root, root);
                names
            })
            .collect()
    }

    #[test]
    fn what_changed_vanished_or_was_replaced_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let list = [
            "a", "b/grown", "b/gone", "touched", "replaced", "linked", "z",
        ];
        let mut copies: Vec<_> = list.iter().map(|name| copy(root, name)).collect();
        fs::write(root.join("b/grown"), "more content").unwrap();
        fs::remove_file(root.join("b/gone")).unwrap();
        copies[3].mtime_ns -= 1;
        copies[4].inode = copies[4].inode.map(|inode| inode + 1);
        fs::remove_file(root.join("linked")).unwrap();
        std::os::unix::fs::symlink(root.join("a"), root.join("linked")).unwrap();
        copies[6].inode = None;
        assert_eq!(names(root, copies), ["a", "z"]);
    }

    #[test]
    fn a_copy_lives_on_under_its_other_names() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        copy(root, "d");
        fs::hard_link(root.join("d"), root.join("e")).unwrap();
        let first = CopyEntry {
            path: root.join("a"),
            links: ["c", "d", "e"].map(|name| root.join(name)).to_vec(),
            ..entry(root, "d")
        };
        let second = copy(root, "b");
        assert_eq!(names(root, vec![first, second]), ["b", "d = e"]);
    }

    #[test]
    fn an_offline_root_has_nothing_current() {
        let folder = tempfile::tempdir().unwrap();
        let entry = copy(folder.path(), "a");
        let gone = folder.path().join("gone");
        let moved = CopyEntry {
            path: gone.join("a"),
            ..entry
        };
        assert_eq!(names(&gone, vec![moved]), [""; 0]);
    }
}
