//! Recovery after a crash: the disk tells what happened to each entry that is
//! still open in the journal. Repeating it changes nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::PathBuf;

use super::ActError;
use super::files::Reach;
use super::trash::{Line, Trash};
use crate::catalog::Exclusive;
use crate::model::{Action, ActionEntry, ActionId, ActionOutcome, ActionState, FileState, RunId};
use crate::platform::{Dir, Entries, Links, Stat};

/// Why an entry cannot come back.
pub(crate) const GONE: &str = "it is no longer in the trash";

/// Why an entry is skipped that is under its name.
const STOPPED: &str = "not reached: stopped";

/// Settles all entries that a crash left open; says how many.
pub fn recover(catalog: &mut Exclusive) -> Result<u64, ActError> {
    let open = catalog.open_actions()?;
    if open.is_empty() {
        return Ok(0);
    }
    let reach = Reach::of(&catalog.reader()?, &[])?;
    let outcomes = settle_entries(&reach, &open);
    catalog.settle_actions(&outcomes)?;
    Ok(outcomes.len() as u64)
}

/// What became of open entries: of all names of a copy together.
pub(crate) fn settle_entries<'e>(
    reach: &Reach,
    open: impl IntoIterator<Item = &'e ActionEntry>,
) -> Vec<ActionOutcome> {
    let mut lists = Lists {
        reach,
        known: HashMap::new(),
    };
    let mut copies: BTreeMap<_, Vec<(&ActionEntry, ActionOutcome)>> = BTreeMap::new();
    for entry in open {
        let names = copies.entry(copy_of(entry)).or_default();
        names.push((entry, lists.settle_entry(entry)));
    }
    for names in copies.values_mut() {
        keep_together(names);
    }
    let outcomes = copies.into_values().flatten();
    outcomes.map(|(_, outcome)| outcome).collect()
}

/// What the names of one copy have in common, and no others. Without an inode number
/// each name is a copy of its own.
fn copy_of(entry: &ActionEntry) -> (RunId, u64, Option<u64>, i64, Option<ActionId>) {
    let FileState { ino, ctime_ns, .. } = entry.action.state;
    let alone = ino.is_none().then_some(entry.id);
    (entry.run, entry.action.group, ino, ctime_ns, alone)
}

/// A copy goes with all its names or none: if not all had been moved, those that were
/// go back.
fn keep_together(names: &mut [(&ActionEntry, ActionOutcome)]) {
    let is = |names: &[(&ActionEntry, ActionOutcome)], state| {
        names.iter().any(|(_, outcome)| outcome.progress == state)
    };
    // What is deleted was moved with all its names before.
    if is(names, ActionState::Deleted) {
        return;
    }
    let is_open = is(names, ActionState::Moving);
    if !is_open && !is(names, ActionState::Skipped) {
        return;
    }
    let was_moved = |(entry, outcome): &&mut (&ActionEntry, ActionOutcome)| {
        let is_itself = outcome.reason.is_empty();
        entry.progress == ActionState::Moving
            && outcome.progress == ActionState::Trashed
            && is_itself
    };
    for (entry, outcome) in names.iter_mut().filter(was_moved) {
        (outcome.progress, outcome.reason) = match is_open {
            true => (
                ActionState::Moving,
                "not all its names can be looked up".into(),
            ),
            false => match put_back(entry) {
                Ok(()) => (ActionState::Skipped, STOPPED.into()),
                Err(error) => {
                    let reason = format!("{STOPPED}, and it cannot be put back: {error}");
                    (ActionState::Trashed, reason)
                }
            },
        };
    }
}

/// What the disk says of entries.
struct Lists<'r> {
    reach: &'r Reach,
    /// By trash folder, the entries that its list says were about to be deleted; `None`
    /// where it cannot be read.
    known: HashMap<PathBuf, Option<HashSet<ActionId>>>,
}

impl Lists<'_> {
    fn settle_entry(&mut self, entry: &ActionEntry) -> ActionOutcome {
        let in_trash = look(self.reach, entry);
        let (progress, reason, ctime_ns) = match (entry.progress, in_trash) {
            (ActionState::Moving, Ok(Some(stat))) => moved(entry, &stat),
            (ActionState::Moving, Ok(None)) => {
                let (progress, reason) = self.not_in_trash(entry);
                (progress, reason, None)
            }
            // Whoever deleted the folder of the trash may have deleted this in it.
            (ActionState::Restoring | ActionState::Deleting, Ok(None))
                if look_in_trash(entry).is_err() && !is_in_its_place(entry) =>
            {
                (ActionState::Gone, GONE, None)
            }
            // The next scan finds it, and reads it: it may have changed in the trash.
            (ActionState::Restoring, Ok(None)) => (ActionState::Restored, "", None),
            (ActionState::Deleting, Ok(None)) => (ActionState::Deleted, "", None),
            (_, Ok(Some(_))) => (ActionState::Trashed, "", None),
            (ActionState::Moving, Err(_)) if is_in_its_place(entry) => {
                (ActionState::Skipped, STOPPED, None)
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

    /// A file that was to be moved and is not in the trash: only the list there tells
    /// whether this program deleted it. Another one may have renamed it.
    fn not_in_trash(&mut self, entry: &ActionEntry) -> (ActionState, &'static str) {
        let was_deleting = match entry.kind {
            Action::Delete => self.was_deleting(entry),
            Action::Trash => Some(false),
        };
        match (was_deleting, exists(entry)) {
            (Some(true), _) => (ActionState::Deleted, ""),
            (_, Ok(true)) => (ActionState::Skipped, STOPPED),
            (Some(false), Ok(false)) => (
                ActionState::Skipped,
                "it is neither under its name nor in the trash: deleted or moved by another program",
            ),
            (None, Ok(false)) => (
                entry.progress,
                "the list in its trash folder cannot be read",
            ),
            (_, Err(_)) => (entry.progress, "its name cannot be looked up"),
        }
    }

    fn was_deleting(&mut self, entry: &ActionEntry) -> Option<bool> {
        let trash = &entry.action.trash;
        if !self.known.contains_key(trash) {
            let read = Trash::open(trash).and_then(|trash| trash.lines());
            let ids = match read {
                Ok(lines) => Some(lines.iter().filter_map(Line::deleting).collect()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Some(HashSet::new()),
                Err(_) => None,
            };
            self.known.insert(trash.clone(), ids);
        }
        let ids = self.known.get(trash)?.as_ref();
        ids.map(|ids| ids.contains(&entry.id))
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

/// Whether an entry that should be in the trash is neither there nor under its name;
/// `false` where that cannot be told.
pub(crate) fn is_gone(reach: &Reach, entry: &ActionEntry) -> bool {
    matches!(look(reach, entry), Ok(None)) && !is_in_its_place(entry)
}

/// Whether an entry is in the trash, or may be.
pub(crate) fn can_come_back(reach: &Reach, entry: &ActionEntry) -> bool {
    !matches!(look(reach, entry), Ok(None))
}

/// An entry in the trash; `None` if it is not there, which a missing trash folder means
/// too, if its disk is there.
fn look(reach: &Reach, entry: &ActionEntry) -> io::Result<Option<Stat>> {
    match look_in_trash(entry) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_online(reach, entry) => {
            Ok(None)
        }
        looked => looked,
    }
}

/// Whether the disk of a trash folder is there: its root is online, and the folder that
/// held the trash is no empty mount point below it.
fn is_online(reach: &Reach, entry: &ActionEntry) -> bool {
    let Some((root, ..)) = reach.root_of(&entry.action.path) else {
        return false;
    };
    let top = entry.action.trash.ancestors().nth(2);
    let Some(below) = top.and_then(|top| top.strip_prefix(&root.path).ok()) else {
        return false;
    };
    let opened = root.dir.open_beneath(below, Links::Refuse);
    opened.is_ok_and(|mut top| Entries::of(&mut top).is_ok_and(|mut any| any.next().is_some()))
}

fn look_in_trash(entry: &ActionEntry) -> io::Result<Option<Stat>> {
    let trash = Trash::open(&entry.action.trash)?;
    match trash.dir.stat_entry(&Trash::name(entry.id), Links::Refuse) {
        Ok(stat) => Ok(Some(stat)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether some file has the name of an entry.
fn exists(entry: &ActionEntry) -> io::Result<bool> {
    match std::fs::symlink_metadata(&entry.action.path) {
        Ok(_) => Ok(true),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(false),
            _ => Err(error),
        },
    }
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
