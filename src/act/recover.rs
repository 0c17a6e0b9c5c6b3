//! Recovery after a crash: the disk tells what happened to each entry that is
//! still open in the journal. Repeating it changes nothing.

use std::io;

use super::ActError;
use super::trash::Trash;
use crate::catalog::Exclusive;
use crate::model::{Action, ActionEntry, ActionOutcome, ActionState};
use crate::platform::{Dir, Links, Stat};

/// Settles all entries that a crash left open; says how many.
pub fn recover(catalog: &mut Exclusive) -> Result<u64, ActError> {
    let open = catalog.open_actions()?;
    let outcomes: Vec<ActionOutcome> = open.iter().map(settle_entry).collect();
    if !outcomes.is_empty() {
        catalog.settle_actions(&outcomes)?;
    }
    Ok(outcomes.len() as u64)
}

/// What became of an open entry.
pub(crate) fn settle_entry(entry: &ActionEntry) -> ActionOutcome {
    let in_trash = look_in_trash(entry);
    let (progress, reason, ctime_ns) = match (entry.progress, in_trash) {
        (ActionState::Moving, Ok(Some(stat))) => moved(entry, &stat),
        (ActionState::Moving, Ok(None)) => match (entry.kind, exists(entry)) {
            (_, true) => (ActionState::Skipped, "not reached: stopped", None),
            // Only a file that was proved to have an equal copy is ever deleted.
            (Action::Delete, false) => (ActionState::Deleted, "", None),
            (Action::Trash, false) => {
                let gone =
                    "it is neither under its name nor in the trash: deleted by another program";
                (ActionState::Skipped, gone, None)
            }
        },
        // The next scan finds it, and reads it: it may have changed in the trash.
        (ActionState::Restoring, Ok(None)) => (ActionState::Restored, "", None),
        (ActionState::Deleting, Ok(None)) => (ActionState::Deleted, "", None),
        (_, Ok(Some(_))) => (ActionState::Trashed, "", None),
        (ActionState::Moving, Err(_)) if is_in_its_place(entry) => {
            (ActionState::Skipped, "not reached: stopped", None)
        }
        (ActionState::Restoring, Err(_)) if is_in_its_place(entry) => {
            (ActionState::Restored, "", None)
        }
        // Its disk may be offline: the entry stays open.
        (open, Err(_)) => (open, "its trash folder cannot be opened", None),
        (settled, Ok(None)) => (settled, "", None),
    };
    ActionOutcome {
        id: entry.id,
        progress,
        reason: reason.to_owned(),
        ctime_ns,
    }
}

/// A file that was moved just before the crash: if it is the one that was
/// compared, it is in the trash; another one goes back.
fn moved(entry: &ActionEntry, stat: &Stat) -> (ActionState, &'static str, Option<i64>) {
    if is_the_one(entry, stat) {
        // Its content may have changed since the crash: without a change time it
        // counts as unread once it is back.
        return (ActionState::Trashed, "", None);
    }
    match put_back(entry) {
        Ok(()) => (ActionState::Skipped, "another file took its place", None),
        Err(_) => (
            ActionState::Trashed,
            "it is another file, and its place is taken",
            None,
        ),
    }
}

fn is_the_one(entry: &ActionEntry, stat: &Stat) -> bool {
    let state = &entry.action.state;
    stat.meta.size == state.size
        && stat.meta.mtime_ns == state.mtime_ns
        && state.ino.is_none_or(|ino| ino == stat.meta.ino)
}

/// Whether the file of an entry, and no other one, is under its name again, as
/// after undoing without the catalog.
pub(crate) fn is_back(entry: &ActionEntry) -> bool {
    !matches!(look_in_trash(entry), Ok(Some(_))) && is_in_its_place(entry)
}

fn is_in_its_place(entry: &ActionEntry) -> bool {
    let path = &entry.action.path;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return false;
    };
    let found = Dir::open_root(folder).and_then(|dir| dir.stat_entry(name, Links::Refuse));
    found.is_ok_and(|stat| is_the_one(entry, &stat))
}

fn look_in_trash(entry: &ActionEntry) -> io::Result<Option<Stat>> {
    let trash = Trash::open(&entry.action.trash)?;
    match trash.dir.stat_entry(&Trash::name(entry.id), Links::Refuse) {
        Ok(stat) => Ok(Some(stat)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn exists(entry: &ActionEntry) -> bool {
    std::fs::symlink_metadata(&entry.action.path).is_ok()
}

fn put_back(entry: &ActionEntry) -> io::Result<()> {
    let trash = Trash::open(&entry.action.trash)?;
    let below = entry.action.path.strip_prefix(trash.top_path());
    let below = below.map_err(|_| io::ErrorKind::InvalidInput)?;
    let (folder, name) = below
        .parent()
        .zip(below.file_name())
        .ok_or(io::ErrorKind::InvalidInput)?;
    let folder = trash.top()?.open_beneath(folder, Links::Refuse)?;
    trash.dir.move_entry(&Trash::name(entry.id), &folder, name)
}
