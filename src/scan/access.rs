//! How workers reach folders and files: through directory handles below the
//! handle of a root, never by absolute paths.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use super::context::Shared;
use crate::catalog::{CatalogError, FolderPaths, ReadOnly, WorkCopy, WorkName};
use crate::model::{
    Fault, FaultClass, FileMeta, FileState, FolderId, RootId, Step, VolumeId, is_too_young,
};
use crate::platform::{Dir, Links, OpenFile, Stat};

/// Folder handles a worker keeps open, where files cannot be opened by their
/// whole path in one call. They come in inode order, so that the same few
/// folders come up again and again.
const KEPT_FOLDERS: usize = 8;

/// A root that can be read now.
#[derive(Debug)]
pub(crate) struct OpenRoot {
    /// Its handle.
    pub dir: Dir,
    /// Its absolute path, for messages.
    pub path: PathBuf,
    /// Whether symbolic links below it are followed.
    pub links: Links,
    /// Device of the root itself.
    pub dev: u64,
}

/// All roots that can be read now.
pub(crate) type OpenRoots = Arc<HashMap<RootId, OpenRoot>>;

/// One worker's way to files.
pub(crate) struct Access {
    catalog: ReadOnly,
    roots: OpenRoots,
    paths: FolderPaths,
    kept: VecDeque<(FolderId, Arc<Dir>)>,
}

/// Why a copy could not be opened.
pub(crate) enum OpenError {
    /// The file or its folder failed.
    Failed(PathBuf, Fault),
    /// Every name is gone; those in the list were looked for in their folder.
    Vanished(Vec<WorkName>),
    /// The catalog failed.
    Catalog(CatalogError),
}

impl From<CatalogError> for OpenError {
    fn from(error: CatalogError) -> Self {
        Self::Catalog(error)
    }
}

impl Access {
    /// Access through a read connection of the worker's own.
    pub(crate) fn new(catalog: ReadOnly, roots: OpenRoots) -> Self {
        Self {
            catalog,
            roots,
            paths: FolderPaths::default(),
            kept: VecDeque::new(),
        }
    }

    /// The worker's read connection.
    pub(crate) fn catalog(&self) -> &ReadOnly {
        &self.catalog
    }

    /// A root that can be read.
    pub(crate) fn root(&self, root: RootId) -> io::Result<&OpenRoot> {
        self.roots
            .get(&root)
            .ok_or_else(|| io::Error::from(Errno::NODEV))
    }

    /// The root of a catalogued folder and its path below it.
    pub(crate) fn locate(&mut self, folder: FolderId) -> Result<(RootId, Arc<Path>), CatalogError> {
        self.paths.get(&self.catalog, folder)
    }

    /// Takes note of the path of a folder that is being listed: its files may
    /// be opened later.
    pub(crate) fn note(&mut self, folder: FolderId, root: RootId, below: &Arc<Path>) {
        self.paths.remember(folder, root, below);
    }

    /// The absolute path of a catalogued file, for messages.
    pub(crate) fn absolute(&mut self, name: &WorkName) -> Result<PathBuf, CatalogError> {
        let (root, below) = self.locate(name.0)?;
        let top = self.root(root).map_or(Path::new(""), |root| &root.path);
        Ok(join(top, &below).join(&name.1))
    }

    /// Opens a copy under the first of its names that is still there.
    pub(crate) fn open(&mut self, copy: &WorkCopy) -> Result<OpenFile, OpenError> {
        let mut gone = Vec::new();
        for name in &copy.names {
            match self.open_name(name)? {
                Ok(file) => return Ok(file),
                Err((step, error)) => {
                    let fault = file_fault(step, &error);
                    if fault.class != FaultClass::Vanished {
                        return Err(OpenError::Failed(self.absolute(name)?, fault));
                    }
                    if step == Step::Open {
                        gone.push(name.clone());
                    }
                }
            }
        }
        Err(OpenError::Vanished(gone))
    }

    #[allow(
        clippy::type_complexity,
        reason = "two kinds of failure, told apart by the caller"
    )]
    fn open_name(
        &mut self,
        name: &WorkName,
    ) -> Result<Result<OpenFile, (Step, io::Error)>, CatalogError> {
        let (root, below) = self.locate(name.0)?;
        if let Some(file) = self.open_at_once(name, root, &below) {
            return Ok(Ok(file));
        }
        // Step by step, to find out what fails.
        let dir = match self.open_folder(name.0, root, &below) {
            Ok(dir) => dir,
            Err(error) => return Ok(Err((Step::OpenFolder, error))),
        };
        let links = self.root(root).map_or(Links::Refuse, |root| root.links);
        Ok(dir
            .open_file(&name.1, links)
            .map_err(|error| (Step::Open, error)))
    }

    /// Opens a file without opening its folder first, unless that is open
    /// already.
    fn open_at_once(&self, name: &WorkName, root: RootId, below: &Path) -> Option<OpenFile> {
        if self.kept.iter().any(|(kept, _)| *kept == name.0) {
            return None;
        }
        let root = self.root(root).ok()?;
        root.dir.open_file_beneath(below, &name.1, root.links).ok()
    }

    fn open_folder(
        &mut self,
        folder: FolderId,
        root: RootId,
        below: &Path,
    ) -> io::Result<Arc<Dir>> {
        if let Some((_, dir)) = self.kept.iter().find(|(kept, _)| *kept == folder) {
            return Ok(Arc::clone(dir));
        }
        let root = self.root(root)?;
        let dir = Arc::new(root.dir.open_beneath(below, root.links)?);
        if self.kept.len() >= KEPT_FOLDERS {
            self.kept.pop_front();
        }
        self.kept.push_back((folder, Arc::clone(&dir)));
        Ok(dir)
    }

    /// Those names of a copy that lead to the open file now: another one may
    /// have been given to another file meanwhile.
    pub(crate) fn names_of(
        &mut self,
        copy: &WorkCopy,
        file: &OpenFile,
    ) -> Result<Vec<WorkName>, CatalogError> {
        let mut names = Vec::new();
        for name in &copy.names {
            let (root, below) = self.locate(name.0)?;
            let links = self.root(root).map_or(Links::Refuse, |root| root.links);
            let stat = self
                .open_folder(name.0, root, &below)
                .and_then(|dir| dir.stat_entry(&name.1, links));
            if stat.is_ok_and(|stat| stat.id() == file.opened_as().id()) {
                names.push(name.clone());
            }
        }
        Ok(names)
    }

    /// Whether a name's folder still lies on `volume`. Where a disk is no
    /// longer mounted, the folder below the mount says nothing about its files.
    pub(crate) fn lies_on(
        &mut self,
        shared: &Shared,
        name: &WorkName,
        volume: VolumeId,
    ) -> Result<bool, CatalogError> {
        let (root, below) = self.locate(name.0)?;
        let Ok(dir) = self.open_folder(name.0, root, &below) else {
            return Ok(false);
        };
        let Ok(stat) = dir.stat() else {
            return Ok(false);
        };
        let now = shared.volume(&dir, &stat)?;
        Ok(now.is_ok_and(|(_, id)| id == volume))
    }

    /// Lets go of kept folder handles; at the end of an item, so that a
    /// replaced folder is noticed by the next one.
    pub(crate) fn release(&mut self) {
        self.kept.clear();
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

/// Opening reports a file that was replaced by something else through the
/// error numbers of what it now is.
fn file_fault(step: Step, error: &io::Error) -> Fault {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::LOOP | Errno::ISDIR | Errno::NXIO) if step == Step::Open => {
            Fault::not_a_file(step)
        }
        _ if step == Step::OpenFolder => folder_fault(error),
        _ => Fault::from_io(step, error),
    }
}

/// A folder that a link or a file has taken the place of is gone.
pub(crate) fn folder_fault(error: &io::Error) -> Fault {
    let fault = Fault::from_io(Step::OpenFolder, error);
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::LOOP | Errno::NOTDIR) => Fault {
            class: FaultClass::Vanished,
            ..fault
        },
        _ => fault,
    }
}

/// Whether a file is in the state that the catalog holds. The inode counts
/// only where the catalog kept it.
pub(crate) fn is_in_state(meta: &FileMeta, state: &FileState) -> bool {
    state.is_of(meta)
}

/// Whether a file stayed the same between two looks at its open handle.
pub(crate) fn is_same(before: &Stat, after: &Stat) -> bool {
    before.meta.size == after.meta.size
        && before.meta.mtime_ns == after.meta.mtime_ns
        && before.meta.ctime_ns == after.meta.ctime_ns
}

/// Whether the file was too fresh when reading began for its times to tell a
/// later change. Where inodes are not stable, ctime may not be kept either.
pub(crate) fn is_racy(state: &FileState, began_ns: i64) -> bool {
    let changed = match state.ino {
        Some(_) => state.ctime_ns,
        None => state.ctime_ns.max(state.mtime_ns.min(began_ns)),
    };
    is_too_young(changed, began_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000_000_000;

    fn state(mtime_ns: i64, ctime_ns: i64, ino: Option<u64>) -> FileState {
        FileState {
            size: 1,
            mtime_ns,
            ctime_ns,
            ino,
        }
    }

    #[test]
    fn a_file_is_racy_for_three_seconds_after_its_change() {
        const RACY_NS: i64 = 3_000_000_000;
        assert!(is_racy(&state(0, NOW, Some(1)), NOW));
        assert!(is_racy(&state(0, NOW - RACY_NS + 1, Some(1)), NOW));
        assert!(!is_racy(&state(0, NOW - RACY_NS, Some(1)), NOW));
        // A modification time in the future says nothing where ctime is kept,
        // and cannot be told from a fresh one where it is not.
        assert!(!is_racy(&state(NOW * 2, 0, Some(1)), NOW));
        assert!(is_racy(&state(NOW * 2, 0, None), NOW));
    }

    #[test]
    fn the_inode_counts_only_where_the_catalog_kept_it() {
        let meta = FileMeta {
            size: 1,
            allocated: 0,
            mtime_ns: 2,
            ctime_ns: 3,
            ino: 4,
            nlink: 1,
        };
        assert!(is_in_state(&meta, &state(2, 3, Some(4))));
        assert!(!is_in_state(&meta, &state(2, 3, Some(5))));
        assert!(is_in_state(&meta, &state(2, 3, None)));
        assert!(!is_in_state(&meta, &state(2, 4, None)));
    }
}
