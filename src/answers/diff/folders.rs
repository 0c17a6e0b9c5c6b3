//! Looks at the folders of our place as they are now. Their names are compared
//! with the catalog's, whatever their times say: on FUSE and FAT the times of a
//! folder need not move, and a mount hides files without touching any.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::access::Checker;
use crate::catalog::{CatalogError, DiffFolder, PlaceDiff, ReadOnly, own_files};
use crate::model::{FileName, Globs};
use crate::platform::{Dir, Entries, EntryKind, FileId, Links, Stat, VolumeTable};

/// Folders whose names are in memory at once.
const AT_ONCE: usize = 64;

/// What is under our place and not known.
#[derive(Debug, Default)]
pub(crate) struct OutOfSight {
    pub(crate) files: u64,
    pub(crate) folders: u64,
    pub(crate) first: Option<PathBuf>,
}

/// Where something is mounted below our place: it may cover files that nobody
/// can see now.
#[derive(Debug, Default)]
pub(crate) struct MountPoints {
    pub(crate) number: u64,
    pub(crate) first: Option<PathBuf>,
}

/// The folders of our place, as far as they were looked at.
#[derive(Default)]
pub(crate) struct Folders {
    /// Those that lost something, or cannot be read.
    pub(crate) changed: u64,
    /// What no scan has met.
    pub(crate) unscanned: OutOfSight,
    /// What is excluded from its root.
    pub(crate) excluded: OutOfSight,
    pub(crate) mount_points: MountPoints,
    /// All of them. A name in one of them, by whatever path (bind mount, link),
    /// goes when the place goes.
    pub(crate) inside: HashSet<FileId>,
    /// The mounts met so far; the first is that of the place itself.
    mounts: HashSet<Option<u64>>,
    /// The catalog's own files, which no scan lists.
    own_files: Vec<FileId>,
    /// The roots with excludes.
    excludes: Vec<(PathBuf, Globs)>,
    volumes: VolumeTable,
}

/// A folder and the names in it.
struct Listed {
    dir: Dir,
    stat: Stat,
    names: Vec<(FileName, EntryKind)>,
}

impl Folders {
    /// Looks at all folders of the place at `path`.
    pub(crate) fn look(
        places: &mut PlaceDiff,
        path: &Path,
        checker: &Checker,
    ) -> Result<Self, CatalogError> {
        let own = own_files(places.catalog().path());
        let own = own.iter().filter_map(|file| FileId::of_path(file).ok());
        let mut all = Self {
            own_files: own.collect(),
            excludes: excludes(places.catalog())?,
            ..Self::default()
        };
        let top = Dir::open_root(path).and_then(|dir| dir.stat());
        all.mounts.extend(top.map(|stat| stat.mount));
        loop {
            let folders = places.next_folders()?;
            if folders.is_empty() {
                return Ok(all);
            }
            for some in folders.chunks(AT_ONCE) {
                let listed: Vec<_> = some
                    .par_iter()
                    .map(|folder| all.list(checker.open_folder(&folder.path)?))
                    .collect();
                for (folder, listed) in some.iter().zip(listed) {
                    all.take_in(folder, listed, places.catalog())?;
                }
            }
        }
    }

    /// Whether they hold what was scanned and nothing else.
    pub(crate) fn are_as_scanned(&self) -> bool {
        let (unscanned, excluded) = (&self.unscanned, &self.excluded);
        (self.changed, self.mount_points.number) == (0, 0)
            && (unscanned.files, unscanned.folders) == (0, 0)
            && (excluded.files, excluded.folders) == (0, 0)
    }

    /// The names in a folder, in order. What the kernel makes up is no content.
    fn list(&self, mut dir: Dir) -> io::Result<Listed> {
        let stat = dir.stat()?;
        let mut names = Vec::new();
        if !self.volumes.of(&dir, stat.dev)?.pseudo {
            let mut entries = Entries::of(&mut dir)?;
            while let Some(entry) = entries.next().transpose()? {
                let kind = match entry.kind_hint {
                    Some(kind) => kind,
                    None => {
                        let stat = entries.dir().stat_entry(&entry.name, Links::Refuse)?;
                        stat.kind
                    }
                };
                names.push((entry.name, kind));
            }
        }
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(Listed { dir, stat, names })
    }

    /// Compares a folder with its rows.
    fn take_in(
        &mut self,
        folder: &DiffFolder,
        listed: io::Result<Listed>,
        catalog: &ReadOnly,
    ) -> Result<(), CatalogError> {
        let Ok(Listed { dir, stat, names }) = listed else {
            self.changed += 1;
            return Ok(());
        };
        self.inside.insert(stat.id());
        self.note_mount(&stat, &folder.path);
        let mut known: HashSet<OsString> = catalog.names_in_scope(folder.id)?.into_iter().collect();
        for (name, kind) in names {
            if known.remove(&*name) {
                continue;
            }
            let path = folder.path.join(&*name);
            match kind {
                EntryKind::File => self.add_file(&dir, &name, path),
                EntryKind::Folder => self.add_folder(&dir, Path::new(&*name), path),
                EntryKind::Link | EntryKind::Special => {}
            }
        }
        let is_same = known.is_empty() && has_only_listed_emptiness(&dir, folder, catalog)?;
        self.changed += u64::from(!is_same);
        Ok(())
    }

    fn note_mount(&mut self, stat: &Stat, path: &Path) {
        // Where a link led to another mount, nothing is mounted.
        let is_linked = || std::fs::canonicalize(path).is_ok_and(|real| real != path);
        if stat.mount.is_some() && !self.mounts.contains(&stat.mount) && !is_linked() {
            self.mounts.insert(stat.mount);
            self.mount_points.number += 1;
            self.mount_points
                .first
                .get_or_insert_with(|| path.to_owned());
        }
    }

    fn add_file(&mut self, dir: &Dir, name: &FileName, path: PathBuf) {
        let stat = dir.stat_entry(name, Links::Refuse);
        if stat.is_ok_and(|stat| self.own_files.contains(&stat.id())) {
            return;
        }
        let found = self.out_of_sight(&path);
        found.files += 1;
        found.first.get_or_insert(path);
    }

    /// Where something is counted that is not known: what is excluded may hold
    /// more that is.
    fn out_of_sight(&mut self, path: &Path) -> &mut OutOfSight {
        let is_excluded = self.excludes.iter().any(|(root, globs)| {
            let below = path.strip_prefix(root);
            below.is_ok_and(|below| globs.matches_file(below))
        });
        match is_excluded {
            true => &mut self.excluded,
            false => &mut self.unscanned,
        }
    }

    /// Counts a folder that the catalog does not have, with all that is in it.
    fn add_folder(&mut self, above: &Dir, below: &Path, path: PathBuf) {
        let mut rest = vec![(below.to_owned(), path)];
        while let Some((below, path)) = rest.pop() {
            let found = self.out_of_sight(&path);
            found.folders += 1;
            found.first.get_or_insert_with(|| path.clone());
            let dir = above.open_beneath(&below, Links::Refuse);
            let Ok(listed) = dir.and_then(|dir| self.list(dir)) else {
                continue;
            };
            for (name, kind) in listed.names {
                let path = path.join(&*name);
                match kind {
                    EntryKind::File => self.add_file(&listed.dir, &name, path),
                    EntryKind::Folder => rest.push((below.join(&*name), path)),
                    EntryKind::Link | EntryKind::Special => {}
                }
            }
        }
    }
}

/// The roots with excludes.
fn excludes(catalog: &ReadOnly) -> Result<Vec<(PathBuf, Globs)>, CatalogError> {
    let roots = catalog.roots()?.into_iter();
    let compiled = roots.map(|root| (root.path, root.scope.excludes.compile()));
    Ok(compiled.filter(|(_, globs)| !globs.is_empty()).collect())
}

/// Whether the files that were empty still are. They are not compared, so one
/// that got content would be lost.
fn has_only_listed_emptiness(
    dir: &Dir,
    folder: &DiffFolder,
    catalog: &ReadOnly,
) -> Result<bool, CatalogError> {
    let names = catalog.empty_files_of(folder.id)?;
    Ok(names
        .iter()
        .all(|name| match dir.stat_entry(name, Links::Refuse) {
            Ok(stat) => stat.kind == EntryKind::File && stat.meta.size == 0,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }))
}
