//! Trash folders: on the filesystem of the files, in the topmost folder that the
//! user owns, private, and with a list of what is in them, so that undoing needs
//! no catalog.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

use super::files::{Reach, Refusal};
use crate::model::{ActionId, FileState, RunId, is_trash, trash_name};
use crate::platform::{Dir, Entries, Links, Ownership, effective_user};

/// The list in each trash folder.
const MANIFEST: &str = "manifest.jsonl";

/// An open trash folder of one run.
#[derive(Debug)]
pub(crate) struct Trash {
    pub(crate) dir: Dir,
    pub(crate) path: PathBuf,
}

impl Trash {
    /// The name of an entry in it.
    pub(crate) fn name(action: ActionId) -> OsString {
        action.to_string().into()
    }

    /// Opens a trash folder that exists; one that another user could have made is
    /// refused.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "not a trash folder");
        let run = path.file_name().ok_or_else(wrong)?;
        let above = path.parent().ok_or_else(wrong)?;
        let own = above
            .file_name()
            .filter(|name| is_trash(name))
            .ok_or_else(wrong)?;
        let top = Dir::open_root(above.parent().ok_or_else(wrong)?)?;
        let mut dir = top;
        for name in [own, run] {
            dir = dir.open_folder(name)?;
            refuse_foreign(&dir)?;
        }
        Ok(Self {
            dir,
            path: path.to_owned(),
        })
    }

    /// The folder that holds it: everything in it comes from below that one.
    pub(crate) fn top(&self) -> io::Result<Dir> {
        self.dir.parent()?.parent()
    }

    /// The path of that folder.
    pub(crate) fn top_path(&self) -> &Path {
        self.path.ancestors().nth(2).unwrap_or(Path::new("/"))
    }

    /// Makes sure that no other process is moving files into it or out of it.
    pub(crate) fn lock(&self) -> io::Result<()> {
        self.dir.try_lock().map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::Error::new(
                io::ErrorKind::WouldBlock,
                "another command is moving files into it or out of it",
            ),
            _ => error,
        })
    }

    /// Adds lines to its list and waits until they are on the disk.
    pub(crate) fn note(&self, lines: &[Line]) -> io::Result<()> {
        self.append(lines)?.sync_data()
    }

    /// Adds a line that an entry is about to be deleted without ever having been in
    /// the trash for the journal. A killed program leaves it behind even if it is not
    /// on the disk yet.
    pub(crate) fn note_deleting(&self, id: ActionId) -> io::Result<()> {
        self.append(&[Line::Deleting { id: id.0 }]).map(drop)
    }

    fn append(&self, lines: &[Line]) -> io::Result<File> {
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, line)?;
            text.push(b'\n');
        }
        let mut file: File = self.dir.append_to(OsStr::new(MANIFEST))?;
        file.write_all(&text)?;
        Ok(file)
    }

    /// Its list. A line that a crash cut off is skipped.
    pub(crate) fn lines(&self) -> io::Result<Vec<Line>> {
        let file = self.dir.open_to_read(OsStr::new(MANIFEST))?;
        let mut lines = Vec::new();
        for line in BufReader::new(file).split(b'\n') {
            lines.extend(serde_json::from_slice::<Line>(&line?).ok());
        }
        Ok(lines)
    }

    /// Deletes the folder if nothing is left in it but the list, and the folder
    /// above if it has no other run. One that cannot be deleted does no harm.
    pub(crate) fn delete_if_unused(&self) {
        if let Err(error) = self.delete_if_empty() {
            let path = self.path.display().to_string();
            tracing::debug!(%error, path, "the trash folder stays");
        }
    }

    fn delete_if_empty(&self) -> io::Result<()> {
        // By its handle: its path may lead elsewhere by now.
        let mut dir = self.dir.open_beneath([""; 0], Links::Refuse)?;
        for entry in Entries::of(&mut dir)? {
            if *entry?.name != *OsStr::new(MANIFEST) {
                return Ok(());
            }
        }
        match self.dir.delete_entry(OsStr::new(MANIFEST)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let above = self.dir.parent()?;
        above.delete_folder(self.path.file_name().unwrap_or_default())?;
        let own = self.path.parent().and_then(Path::file_name);
        let deleted = above.parent()?.delete_folder(own.unwrap_or_default());
        deleted.or_else(|error| match error.kind() {
            io::ErrorKind::DirectoryNotEmpty => Ok(()),
            _ => Err(error),
        })
    }
}

/// One line of the list in a trash folder. Paths are below the folder that holds
/// the trash, so that they hold wherever the disk is mounted.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// A file that is, or was about to be, moved here under this name.
    File {
        id: i64,
        place: Place,
        size: u64,
        mtime_ns: i64,
    },
    /// A folder that a file was in.
    Folder {
        place: Place,
        uid: u32,
        gid: u32,
        mode: u32,
    },
    /// A file that is about to be deleted, right after it was moved here.
    Deleting { id: i64 },
}

/// A path: as text for people, and exactly in Base64.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Place {
    path: String,
    path_b64: String,
}

impl Place {
    fn of(below: &Path) -> Self {
        Self {
            path: below.to_string_lossy().into_owned(),
            path_b64: BASE64_STANDARD.encode(below.as_os_str().as_bytes()),
        }
    }

    /// The path; `None` for one that leads elsewhere.
    pub(crate) fn below(&self) -> Option<PathBuf> {
        let bytes = BASE64_STANDARD.decode(&self.path_b64).ok()?;
        let path = PathBuf::from(OsString::from_vec(bytes));
        let is_plain = |part| matches!(part, Component::Normal(_));
        path.components().all(is_plain).then_some(path)
    }
}

impl Line {
    pub(crate) fn file(id: ActionId, below: &Path, state: &FileState) -> Self {
        Self::File {
            id: id.0,
            place: Place::of(below),
            size: state.size,
            mtime_ns: state.mtime_ns,
        }
    }

    /// The entry that is about to be deleted.
    pub(crate) fn deleting(&self) -> Option<ActionId> {
        match self {
            Self::Deleting { id } => Some(ActionId(*id)),
            _ => None,
        }
    }

    pub(crate) fn folder(below: &Path, owner: Ownership) -> Self {
        Self::Folder {
            place: Place::of(below),
            uid: owner.uid,
            gid: owner.gid,
            mode: owner.mode,
        }
    }
}

/// The trash folders of one run, found or made when a file first needs one.
pub(crate) struct TrashFolders<'r> {
    reach: &'r Reach,
    run: RunId,
    /// By the folder of the file.
    found: HashMap<PathBuf, Result<Arc<Trash>, Refusal>>,
    made: HashMap<PathBuf, Arc<Trash>>,
    /// By the folder of the file: whether one could be found or made.
    checked: HashMap<PathBuf, Result<(), Refusal>>,
    /// By the folder of files, one whose trash folder they cannot be moved into, nor
    /// into one above.
    unfit: HashMap<PathBuf, PathBuf>,
}

impl<'r> TrashFolders<'r> {
    pub(crate) fn new(reach: &'r Reach, run: RunId) -> Self {
        Self {
            reach,
            run,
            found: HashMap::new(),
            made: HashMap::new(),
            checked: HashMap::new(),
            unfit: HashMap::new(),
        }
    }

    /// The trash folder for a file.
    pub(crate) fn of(&mut self, path: &Path) -> Result<Arc<Trash>, Refusal> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        if let Some(known) = self.found.get(folder) {
            return known.clone();
        }
        let place = self.find(path, Self::made_in);
        self.found.insert(folder.to_owned(), place.clone());
        place
    }

    /// Whether there would be a trash folder for a file. Makes nothing.
    pub(crate) fn check(&mut self, path: &Path) -> Result<(), Refusal> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        if let Some(known) = self.checked.get(folder) {
            return known.clone();
        }
        let checked = self.find(path, |_, _, dir| can_be_made_in(dir));
        self.checked.insert(folder.to_owned(), checked.clone());
        checked
    }

    /// Notes that a file cannot be moved into a trash folder, and looks for one further
    /// down; `false` if there is none.
    pub(crate) fn look_further_down(&mut self, path: &Path, trash: &Trash) -> bool {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let known = self.found.get(folder).and_then(|found| found.as_ref().ok());
        if known.is_some_and(|known| known.path == trash.path) {
            let unfit = trash.top_path().to_owned();
            self.unfit.insert(folder.to_owned(), unfit);
            self.found.remove(folder);
        }
        self.of(path).is_ok()
    }

    /// Deletes those that are empty.
    pub(crate) fn delete_empty(&self) {
        for trash in self.made.values() {
            trash.delete_if_unused();
        }
    }

    /// What `take` gives for the topmost folder that a file can be moved into.
    fn find<T>(
        &mut self,
        path: &Path,
        take: impl Fn(&mut Self, &Path, &Dir) -> io::Result<T>,
    ) -> Result<T, Refusal> {
        let folder = self.reach.folder_of(path)?;
        let wanted = folder.stat().map_err(|error| error.to_string())?;
        let (root, below, _) = self.reach.root_of(path).ok_or("its root is offline")?;
        let mut at = root.path.clone();
        let dir = root.dir.open_beneath([""; 0], Links::Refuse);
        let mut dir = dir.map_err(|error| error.to_string())?;
        let unfit = path
            .parent()
            .and_then(|folder| self.unfit.get(folder).cloned());
        let is_fit = |at: &Path| unfit.as_ref().is_none_or(|unfit| !unfit.starts_with(at));
        let mut refused = None;
        let mut names = below.iter();
        loop {
            let stat = dir.stat().map_err(|error| error.to_string())?;
            if (stat.dev, stat.mount) == (wanted.dev, wanted.mount) && is_fit(&at) {
                match take(&mut *self, &at, &dir) {
                    Ok(taken) => return Ok(taken),
                    Err(error) => refused = Some(error),
                }
            }
            let Some(name) = names.next() else {
                return Err(match refused {
                    Some(error) => format!("no trash folder can be made for it: {error}"),
                    None => "no trash folder can be made on its filesystem".to_owned(),
                });
            };
            at.push(name);
            dir = dir
                .open_beneath([name], Links::Refuse)
                .map_err(|error| error.to_string())?;
        }
    }

    /// The trash folder in this folder, which must be the user's own.
    fn made_in(&mut self, path: &Path, dir: &Dir) -> io::Result<Arc<Trash>> {
        if let Some(known) = self.made.get(path) {
            return Ok(Arc::clone(known));
        }
        refuse_other_owner(dir)?;
        let own = trash_name(effective_user());
        let top = open_or_make(dir, OsStr::new(&own))?;
        let (run, inner) = make_new(&top, self.run)?;
        // Where a filesystem has no locks, nothing is worse than without them.
        if let Err(error) = inner.try_lock() {
            tracing::debug!(%error, run, "the trash folder is not locked");
        }
        top.sync()?;
        dir.sync()?;
        let trash = Arc::new(Trash {
            dir: inner,
            path: path.join(own).join(run),
        });
        self.made.insert(path.to_owned(), Arc::clone(&trash));
        Ok(trash)
    }
}

/// Whether a trash folder is in this folder, or could be made there.
fn can_be_made_in(dir: &Dir) -> io::Result<()> {
    let owner = refuse_other_owner(dir)?;
    match dir.open_folder(OsStr::new(&trash_name(effective_user()))) {
        Ok(own) => refuse_foreign(&own),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match effective_user() == 0 || owner.mode & 0o300 == 0o300 {
                true => Ok(()),
                false => Err(io::ErrorKind::PermissionDenied.into()),
            }
        }
        Err(error) => Err(error),
    }
}

fn refuse_other_owner(dir: &Dir) -> io::Result<Ownership> {
    let (user, owner) = (effective_user(), dir.ownership()?);
    match user == 0 || owner.uid == user {
        true => Ok(owner),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the folder belongs to another user",
        )),
    }
}

/// Makes the folder of a run. Another catalog may have a run of this number whose
/// folder is still there: entries of two runs are never mixed.
fn make_new(dir: &Dir, run: RunId) -> io::Result<(String, Dir)> {
    let mut name = run.to_string();
    let mut number = 1;
    loop {
        match dir.make_folder(OsStr::new(&name), 0o700) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                number += 1;
                name = format!("{run}-{number}");
            }
            made => return Ok((name, made?)),
        }
    }
}

fn open_or_make(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
    let opened = match dir.make_folder(name, 0o700) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => dir.open_folder(name)?,
        made => made?,
    };
    refuse_foreign(&opened)?;
    Ok(opened)
}

/// A trash folder that others may read or change was not made by this program.
fn refuse_foreign(dir: &Dir) -> io::Result<()> {
    let owner = dir.ownership()?;
    match owner.uid == effective_user() && owner.mode & 0o077 == 0 {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the trash folder is not private to this user",
        )),
    }
}
