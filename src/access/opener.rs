//! One worker's way to catalogued folders and files: through directory handles
//! below the handle of a root, never by absolute paths, which may be too long or
//! lead elsewhere by now.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use super::roots::{OpenRoot, OpenRoots, join};
use crate::catalog::{CatalogError, FolderPaths, ReadOnly, WorkCopy, WorkName};
use crate::model::{Fault, FaultClass, FolderId, RootId, Step};
use crate::platform::{Dir, Links, OpenFile, Stat};

/// Folder handles kept open, where files cannot be opened by their whole path in
/// one call. Files come in inode order, so the same few folders come up again and
/// again.
const KEPT_FOLDERS: usize = 8;

/// Opens catalogued folders and files.
pub(crate) struct Opener {
    catalog: ReadOnly,
    roots: Arc<OpenRoots>,
    paths: FolderPaths,
    kept: VecDeque<(FolderId, Arc<Dir>)>,
}

/// Why a copy cannot be opened.
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

impl Opener {
    /// An opener with a read connection of its own.
    pub(crate) fn new(catalog: ReadOnly, roots: Arc<OpenRoots>) -> Self {
        Self {
            catalog,
            roots,
            paths: FolderPaths::default(),
            kept: VecDeque::new(),
        }
    }

    /// The read connection.
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

    /// Remembers the path of a folder that is being listed: its files may be
    /// opened later.
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
            let (root, below) = self.locate(name.0)?;
            let (step, error) = match self.open_at(name, root, &below) {
                Ok(file) => return Ok(file),
                Err(failed) => failed,
            };
            let fault = file_fault(step, &error);
            if fault.class != FaultClass::Vanished {
                return Err(OpenError::Failed(self.absolute(name)?, fault));
            }
            if step == Step::Open {
                gone.push(name.clone());
            }
        }
        Err(OpenError::Vanished(gone))
    }

    fn open_at(
        &mut self,
        name: &WorkName,
        root: RootId,
        below: &Path,
    ) -> Result<OpenFile, (Step, io::Error)> {
        if let Some(file) = self.open_at_once(name, root, below) {
            return Ok(file);
        }
        // Step by step, to find out what fails.
        let dir = self
            .open_folder(name.0, root, below)
            .map_err(|error| (Step::OpenFolder, error))?;
        dir.open_file(&name.1, self.links(root))
            .map_err(|error| (Step::Open, error))
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

    fn links(&self, root: RootId) -> Links {
        self.root(root).map_or(Links::Refuse, |root| root.links)
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
            let links = self.links(root);
            let stat = self
                .open_folder(name.0, root, &below)
                .and_then(|dir| dir.stat_entry(&name.1, links));
            if stat.is_ok_and(|stat| stat.id() == file.opened_as().id()) {
                names.push(name.clone());
            }
        }
        Ok(names)
    }

    /// The folder of a name and its state; `None` where it cannot be opened.
    pub(crate) fn folder_of(
        &mut self,
        name: &WorkName,
    ) -> Result<Option<(Arc<Dir>, Stat)>, CatalogError> {
        let (root, below) = self.locate(name.0)?;
        let dir = self.open_folder(name.0, root, &below).ok();
        Ok(dir.and_then(|dir| dir.stat().ok().map(|stat| (dir, stat))))
    }

    /// Closes the kept folders; at the end of an item, so that the next one
    /// notices a replaced folder.
    pub(crate) fn release(&mut self) {
        self.kept.clear();
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
