//! Undoing: files go from the trash back to where they were. A name that is taken
//! again keeps its new file; a folder that is gone is made again.

use std::collections::BTreeMap;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::ActError;
use super::files::Reach;
use super::progress::{ActProgress, expect};
use super::recover::{GONE, can_come_back, is_back, is_gone, recover};
use super::trash::{Line, Trash};
use crate::catalog::{Exclusive, ReadOnly};
use crate::model::{ActionEntry, ActionId, ActionOutcome, ActionState, RunId, escape};
use crate::platform::{Dir, Links, Ownership, effective_user};
use crate::pool::Shutdown;

/// Entries that are put back between two commits.
const BATCH: u32 = 256;

/// What became of the files.
#[derive(Debug, Default)]
pub struct Undone {
    /// Names that are back.
    pub files: u64,
    /// Names that are not, with the reason.
    pub skipped: Vec<(PathBuf, String)>,
    /// Whether it was stopped.
    pub is_interrupted: bool,
}

/// Puts back what a run moved to the trash; with paths, only what is at or below
/// them.
pub fn undo(
    catalog: &mut Exclusive,
    run: RunId,
    paths: &[PathBuf],
    shutdown: &Shutdown,
    progress: &ActProgress,
) -> Result<Undone, ActError> {
    recover(catalog)?;
    let reader = catalog.reader()?;
    let reach = Reach::of(&reader, &[])?;
    let is_wanted = |entry: &ActionEntry| {
        let path = &entry.action.path;
        entry.progress == ActionState::Trashed
            && (paths.is_empty() || paths.iter().any(|wanted| path.starts_with(wanted)))
    };
    expect(&reader, &[run], progress, is_wanted)?;
    let mut undone = Undone::default();
    let mut folders = Folders::default();
    let mut after = ActionId(0);
    while !shutdown.is_stopped() {
        let page = reader.actions(run, after, BATCH)?;
        let Some(last) = page.last() else {
            break;
        };
        after = last.id;
        let wanted: Vec<&ActionEntry> = page.iter().filter(|entry| is_wanted(entry)).collect();
        let ids: Vec<ActionId> = wanted.iter().map(|entry| entry.id).collect();
        catalog.intend_again(&ids, ActionState::Restoring)?;
        // All names of a file are looked at before the first one moves, and once more
        // after the last: each move changes the change time of all.
        let untouched: Vec<bool> = wanted
            .iter()
            .map(|entry| folders.is_untouched(entry))
            .collect();
        let mut outcomes: Vec<ActionOutcome> = wanted
            .iter()
            .map(|entry| {
                progress.at(&entry.action.path);
                let outcome = folders.restore_entry(&reach, entry, &mut undone);
                progress.bytes(entry.action.occupied);
                match outcome.progress {
                    ActionState::Restored => progress.dealt_with(1),
                    _ => progress.skipped(1),
                }
                outcome
            })
            .collect();
        for ((outcome, entry), is_untouched) in outcomes.iter_mut().zip(&wanted).zip(untouched) {
            if outcome.progress == ActionState::Restored && is_untouched {
                outcome.ctime_ns = folders.ctime_now(entry);
            }
        }
        folders.sync()?;
        catalog.settle_actions(&outcomes)?;
    }
    undone.is_interrupted = shutdown.is_stopped();
    folders.delete_empty();
    Ok(undone)
}

/// The last run that can give a file back: not one whose trash is lost.
pub fn last_to_undo(catalog: &ReadOnly) -> Result<Option<RunId>, ActError> {
    let reach = Reach::of(catalog, &[])?;
    let may_give =
        |entry: &ActionEntry| entry.progress.is_in_trash() && can_come_back(&reach, entry);
    for run in catalog.runs()? {
        let counts = catalog.action_counts(run.id)?;
        if !counts.iter().any(|(state, ..)| state.is_in_trash()) {
            continue;
        }
        let mut after = ActionId(0);
        loop {
            let page = catalog.actions(run.id, after, BATCH)?;
            let Some(last) = page.last() else {
                break;
            };
            after = last.id;
            if page.iter().any(may_give) {
                return Ok(Some(run.id));
            }
        }
    }
    Ok(None)
}

/// Puts back what the list in a trash folder names, without a catalog.
pub fn undo_trash(path: &Path) -> Result<Undone, ActError> {
    let mut undone = Undone::default();
    let mut folders = Folders::default();
    let trash = folders.trash(path).map_err(ActError::Trash)?;
    trash.lock().map_err(ActError::Trash)?;
    for line in trash.lines().map_err(ActError::Trash)? {
        let Line::File { id, place, .. } = line else {
            continue;
        };
        let Some(below) = place.below() else {
            continue;
        };
        let id = ActionId(id);
        if trash
            .dir
            .stat_entry(&Trash::name(id), Links::Refuse)
            .is_err()
        {
            // It was put back before, or never moved.
            continue;
        }
        match folders.restore(path, id, &below) {
            Ok(()) => undone.files += 1,
            Err(error) => undone
                .skipped
                .push((trash.top_path().join(below), said(&error))),
        }
    }
    folders.sync()?;
    folders.delete_empty();
    Ok(undone)
}

/// The trash folders and the folders that files went back to.
#[derive(Default)]
struct Folders {
    trashes: BTreeMap<PathBuf, Rc<OpenTrash>>,
    /// Folders that files went back to since the last sync.
    changed: Vec<Dir>,
}

/// A trash folder, and the folders that its files were in.
struct OpenTrash {
    trash: Trash,
    owners: BTreeMap<PathBuf, Ownership>,
}

impl Deref for OpenTrash {
    type Target = Trash;

    fn deref(&self) -> &Trash {
        &self.trash
    }
}

impl Folders {
    fn trash(&mut self, path: &Path) -> io::Result<Rc<OpenTrash>> {
        if let Some(known) = self.trashes.get(path) {
            return Ok(Rc::clone(known));
        }
        let trash = Trash::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let path = escape(path);
                io::Error::other(format!("its trash folder {path} is not there"))
            }
            _ => error,
        })?;
        let mut owners = BTreeMap::new();
        for line in trash.lines().unwrap_or_default() {
            if let Line::Folder {
                place,
                uid,
                gid,
                mode,
            } = line
                && let Some(folder) = place.below()
            {
                owners.insert(folder, Ownership { uid, gid, mode });
            }
        }
        let open = Rc::new(OpenTrash { trash, owners });
        self.trashes.insert(path.to_owned(), Rc::clone(&open));
        Ok(open)
    }

    fn restore_entry(
        &mut self,
        reach: &Reach,
        entry: &ActionEntry,
        undone: &mut Undone,
    ) -> ActionOutcome {
        let action = &entry.action;
        let (progress, reason) = match self.try_to_restore(entry) {
            Ok(()) => {
                undone.files += 1;
                (ActionState::Restored, String::new())
            }
            Err(_) if is_back(entry) => (ActionState::Restored, String::new()),
            Err(error) => {
                let (progress, reason) = match is_gone(reach, entry) {
                    true => (ActionState::Gone, GONE.to_owned()),
                    false => (ActionState::Trashed, said(&error)),
                };
                undone.skipped.push((action.path.clone(), reason.clone()));
                (progress, reason)
            }
        };
        ActionOutcome {
            id: entry.id,
            progress,
            reason,
            ctime_ns: None,
        }
    }

    /// Whether nothing changed an entry in the trash, so that what is known of its
    /// content still holds.
    fn is_untouched(&mut self, entry: &ActionEntry) -> bool {
        let state = &entry.action.state;
        let trash = self.trash(&entry.action.trash);
        let stat =
            trash.and_then(|trash| trash.dir.stat_entry(&Trash::name(entry.id), Links::Refuse));
        stat.is_ok_and(|stat| {
            stat.meta.size == state.size
                && stat.meta.mtime_ns == state.mtime_ns
                && Some(stat.meta.ctime_ns) == entry.trashed_ctime_ns
        })
    }

    fn try_to_restore(&mut self, entry: &ActionEntry) -> io::Result<()> {
        let trash = self.trash(&entry.action.trash)?;
        let below = entry.action.path.strip_prefix(trash.top_path());
        let below = below.map_err(|_| io::ErrorKind::InvalidInput)?;
        self.restore(&entry.action.trash, entry.id, below)
    }

    /// The change time of an entry that is back.
    fn ctime_now(&mut self, entry: &ActionEntry) -> Option<i64> {
        let path = &entry.action.path;
        let trash = self.trash(&entry.action.trash).ok()?;
        let below = path.parent()?.strip_prefix(trash.top_path()).ok()?;
        let folder = trash.top().ok()?.open_beneath(below, Links::Refuse).ok()?;
        let stat = folder.stat_entry(path.file_name()?, Links::Refuse).ok()?;
        Some(stat.meta.ctime_ns)
    }

    /// Moves an entry back to a path below the folder of the trash.
    fn restore(&mut self, trash: &Path, id: ActionId, below: &Path) -> io::Result<()> {
        let trash = self.trash(trash)?;
        let (parent, name) = below
            .parent()
            .zip(below.file_name())
            .ok_or(io::ErrorKind::InvalidInput)?;
        let folder = open_or_make(&trash.top()?, parent, &trash.owners)?;
        trash.dir.move_entry(&Trash::name(id), &folder, name)?;
        self.changed.push(folder);
        Ok(())
    }

    /// Waits until what was moved is on the disk.
    fn sync(&mut self) -> Result<(), ActError> {
        let filesystems: BTreeMap<u64, Dir> = std::mem::take(&mut self.changed)
            .into_iter()
            .filter_map(|dir| Some((dir.stat().ok()?.dev, dir)))
            .collect();
        let mut filesystems = filesystems.values();
        filesystems
            .try_for_each(Dir::sync_filesystem)
            .map_err(ActError::Sync)
    }

    /// Deletes trash folders that are empty now.
    fn delete_empty(&self) {
        for trash in self.trashes.values() {
            trash.delete_if_unused();
        }
    }
}

fn said(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AlreadyExists => "another file has its name now".to_owned(),
        io::ErrorKind::NotFound => GONE.to_owned(),
        _ => error.to_string(),
    }
}

/// Opens a folder below `top`; one that is gone is made again, with its owner and
/// permissions.
fn open_or_make(top: &Dir, below: &Path, owners: &BTreeMap<PathBuf, Ownership>) -> io::Result<Dir> {
    let opened = top.open_beneath(below, Links::Refuse);
    let (Some(parent), Some(name)) = (below.parent(), below.file_name()) else {
        return opened;
    };
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    let above = open_or_make(top, parent, owners)?;
    let owner = owners.get(below).copied();
    let made = above.make_folder(name, owner.map_or(0o755, |owner| owner.mode))?;
    if let Some(owner) = owner.filter(|_| effective_user() == 0) {
        made.give_to(owner)?;
    }
    above.sync()?;
    Ok(made)
}
