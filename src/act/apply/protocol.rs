//! The protocol of one group, on a worker: open and hold the copy that stays,
//! then for each copy that goes: open, hold, compare, move, look again.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use super::acting::{Acting, CANNOT_TAKE, FEWER_STAY, STOPPED, UNLEASED};
use super::verify::Held;
use crate::act::files::{Found, Refusal};
use crate::act::progress::InHand;
use crate::act::trash::Trash;
use crate::model::{
    Action, ActionId, ActionOutcome, ActionState, PlannedCopy, PlannedGroup, Role, total,
};
use crate::platform::Links;
use crate::pool::{WorkItem, WorkerContext};

/// A name that goes, with its number in the journal and its trash folder; a
/// rehearsal has no folder.
pub(crate) struct Assigned {
    pub(crate) id: ActionId,
    pub(crate) path: PathBuf,
    pub(crate) trash: Option<Arc<Trash>>,
}

/// A group to act on.
pub(crate) struct GroupItem {
    pub(crate) acting: Arc<Acting>,
    pub(crate) group: PlannedGroup,
    /// All names of all copies that go.
    pub(crate) names: Vec<Assigned>,
}

impl WorkItem for GroupItem {
    type Worker = ();
    type Report = Vec<ActionOutcome>;

    fn label(&self) -> &'static str {
        "act"
    }

    fn run(&self, _worker: &mut (), context: &WorkerContext) -> Vec<ActionOutcome> {
        let copies = self.group.with_role(Role::Act);
        match self.open_keeper() {
            Ok(keeper) => match Held::take(&keeper.file, self.acting.action) {
                Ok(held) => {
                    self.acting.space.stays(&keeper.file);
                    copies
                        .flat_map(|copy| {
                            context.set_path(&copy.copy.path);
                            self.act(copy, &keeper, &held)
                        })
                        .collect()
                }
                Err(reason) => self.skip_all(&format!("the copy that stays: {reason}")),
            },
            Err(reason) => self.skip_all(&reason),
        }
    }
}

impl GroupItem {
    /// The first copy that stays and is unchanged.
    fn open_keeper(&self) -> Result<Found, Refusal> {
        let mut opened = self
            .group
            .with_role(Role::Keep)
            .map(|kept| self.open_copy(kept));
        if self.acting.needs_all_kept {
            let all: Result<Vec<Found>, Refusal> = opened.collect();
            let all = all.map_err(|reason| format!("{FEWER_STAY}: {reason}"))?;
            return all.into_iter().next().ok_or("no copy stays".to_owned());
        }
        let mut refused = "no copy stays".to_owned();
        let found = opened.find_map(|opened| opened.map_err(|reason| refused = reason).ok());
        found.ok_or_else(|| format!("no copy that stays can be used to compare with: {refused}"))
    }

    /// A copy under the first of its names that it still has.
    fn open_copy(&self, planned: &PlannedCopy) -> Result<Found, Refusal> {
        let state = planned.state(self.group.size);
        let mut refused = String::new();
        let mut names = planned.copy.names();
        let found = names.find_map(|path| {
            let opened = self.acting.reach.open(path, &state);
            opened.map_err(|reason| refused = reason).ok()
        });
        found.ok_or(refused)
    }

    fn skip_all(&self, reason: &str) -> Vec<ActionOutcome> {
        self.acting.progress.skipped(self.names.len() as u64);
        let copies = self.group.with_role(Role::Act);
        let bytes = copies.map(|planned| planned.copy.occupied);
        self.acting.progress.bytes(total(bytes));
        self.names
            .iter()
            .map(|name| skipped(name.id, reason))
            .collect()
    }

    /// Acts on one copy, under all its names or none.
    fn act(&self, copy: &PlannedCopy, keeper: &Found, kept: &Held<'_>) -> Vec<ActionOutcome> {
        let names: Vec<&Assigned> = copy
            .copy
            .names()
            .filter_map(|path| self.names.iter().find(|name| name.path == *path))
            .collect();
        let done = match self.acting.shutdown.is_stopped() {
            true => Err(STOPPED.to_owned()),
            false => {
                let progress = &self.acting.progress;
                progress.at(&copy.copy.path);
                let done = self.try_to_act(copy, keeper, kept, &names);
                match &done {
                    Ok(outcomes) => {
                        let is_done = |one: &&ActionOutcome| one.progress != ActionState::Skipped;
                        let dealt_with = outcomes.iter().filter(is_done).count();
                        progress.dealt_with(dealt_with as u64);
                        progress.skipped((outcomes.len() - dealt_with) as u64);
                    }
                    Err(reason) if reason == STOPPED => {}
                    Err(_) => progress.skipped(names.len() as u64),
                }
                done
            }
        };
        match done {
            Ok(outcomes) => outcomes,
            Err(reason) => names.iter().map(|name| skipped(name.id, &reason)).collect(),
        }
    }

    fn try_to_act(
        &self,
        copy: &PlannedCopy,
        keeper: &Found,
        kept: &Held<'_>,
        names: &[&Assigned],
    ) -> Result<Vec<ActionOutcome>, Refusal> {
        let progress = &self.acting.progress;
        let in_hand = InHand::new(progress, self.group.size, copy.copy.occupied);
        let found = self.acting.open_all(copy, self.group.size, keeper)?;
        if names.len() != found.len() {
            return Err("one of its hard links cannot be moved to a trash folder".to_owned());
        }
        let file = &found[0].file;
        let held = Held::take(file, self.acting.action)?;
        keeper.refuse_volatile(found[0].fstype())?;
        let nobody_writes = || kept.holds() && held.holds();
        self.acting
            .prove(file, &keeper.file, &nobody_writes, &in_hand)?;
        if self.acting.action == Action::Delete {
            keeper.refuse_volatile(found[0].fstype())?;
        }
        if self.acting.is_rehearsal {
            self.acting.space.goes(file);
            return Ok(names.iter().map(|name| rehearsed(name.id)).collect());
        }
        if self.acting.action == Action::Delete {
            sync_keeper(keeper)?;
        }
        let state = copy.state(self.group.size);
        // The change time now, as long as the content is the one that was compared.
        let unwritten = || {
            let now = file.stat().ok()?.meta;
            let is_same = state.size == now.size && state.mtime_ns == now.mtime_ns;
            (is_same && nobody_writes()).then_some(now.ctime_ns)
        };
        // What is known of a file that goes back still holds only if a lease says so.
        let surely_unwritten = || unwritten().filter(|_| !held.is_unleased());
        let mut moves = Moves::default();
        for (found, name) in found.iter().zip(names) {
            if let Err(reason) = moves.make(found, name) {
                return moves.take_back(names, reason, surely_unwritten);
            }
        }
        let Some(ctime_ns) = unwritten() else {
            let reason = "a program has just begun to write to it".to_owned();
            return moves.take_back(names, reason, surely_unwritten);
        };
        if let Err(reason) = keeper.refuse_gone() {
            return moves.take_back(names, reason, surely_unwritten);
        }
        let note = match held.is_unleased() || kept.is_unleased() {
            true => UNLEASED,
            false => "",
        };
        let is_gone = self.acting.action == Action::Trash || moves.delete();
        if is_gone {
            self.acting.space.goes(file);
        }
        Ok(moves.outcomes(ctime_ns, note))
    }
}

/// The copy that stays must be on the disk, not only in memory, before another
/// one is deleted for good.
pub(crate) fn sync_keeper(keeper: &Found) -> Result<(), Refusal> {
    let synced = keeper.file.sync().and_then(|()| keeper.folder.sync());
    synced.map_err(|error| format!("the copy that stays cannot be written to the disk: {error}"))
}

/// The moves of one copy's names so far.
#[derive(Default)]
struct Moves<'a> {
    made: Vec<(&'a Found, &'a Assigned)>,
    deleted: Vec<ActionId>,
    /// Why others could not be deleted.
    not_deleted: BTreeMap<ActionId, Refusal>,
}

impl<'a> Moves<'a> {
    /// Moves a name to the trash, and makes sure that it was the file that was
    /// compared: an editor may have put another one in its place.
    fn make(&mut self, found: &'a Found, name: &'a Assigned) -> Result<(), Refusal> {
        let trash = name.trash.as_deref().ok_or("no trash folder")?;
        let new_name = Trash::name(name.id);
        found
            .folder
            .move_entry(&found.name, &trash.dir, &new_name)
            .map_err(|error| match error.kind() {
                ErrorKind::CrossesDevices => CANNOT_TAKE.to_owned(),
                _ => format!("it cannot be moved to the trash: {error}"),
            })?;
        self.made.push((found, name));
        let moved = trash.dir.stat_entry(&new_name, Links::Refuse);
        match moved.map(|moved| moved.id()) {
            Ok(id) if id == found.file.opened_as().id() => Ok(()),
            _ => Err("another file has just taken its place".to_owned()),
        }
    }

    /// Puts back what was moved. A name that is taken by now keeps its new file,
    /// and the moved one stays in the trash. The way there and back gave all names
    /// of the file another change time, which `unwritten` tells.
    fn take_back(
        self,
        names: &[&Assigned],
        reason: Refusal,
        unwritten: impl Fn() -> Option<i64>,
    ) -> Result<Vec<ActionOutcome>, Refusal> {
        if self.made.is_empty() {
            return Err(reason);
        }
        let mut left = Vec::new();
        for (found, name) in &self.made {
            let Some(trash) = name.trash.as_deref() else {
                continue;
            };
            let back = trash
                .dir
                .move_entry(&Trash::name(name.id), &found.folder, &found.name);
            if let Err(error) = back {
                left.push(ActionOutcome {
                    id: name.id,
                    progress: ActionState::Trashed,
                    reason: format!("{reason}, and it cannot be put back: {error}"),
                    ctime_ns: None,
                });
            }
        }
        let is_back = |(found, _): &(&Found, &Assigned)| found.refuse_gone().is_ok();
        let ctime_ns = match self.made.iter().all(is_back) {
            true => unwritten(),
            false => None,
        };
        let is_left = |id| left.iter().any(|outcome: &ActionOutcome| outcome.id == id);
        let back = names.iter().filter(|name| !is_left(name.id));
        let back: Vec<ActionOutcome> = back
            .map(|name| ActionOutcome {
                ctime_ns,
                ..skipped(name.id, &reason)
            })
            .collect();
        Ok(left.into_iter().chain(back).collect())
    }

    /// Deletes what was moved, each name noted in the list first: without that, nobody
    /// can tell after a crash who deleted it. Whether no name is left: what cannot be
    /// deleted stays in the trash.
    fn delete(&mut self) -> bool {
        for (_, name) in &self.made {
            let Some(trash) = name.trash.as_deref() else {
                continue;
            };
            let noted = trash.note_deleting(name.id);
            match noted.and_then(|()| trash.dir.delete_entry(&Trash::name(name.id))) {
                Ok(()) => self.deleted.push(name.id),
                Err(error) => {
                    let reason = format!("it cannot be deleted: {error}");
                    self.not_deleted.insert(name.id, reason);
                }
            }
        }
        self.deleted.len() == self.made.len()
    }

    fn outcomes(&self, ctime_ns: i64, note: &str) -> Vec<ActionOutcome> {
        self.made
            .iter()
            .map(|(_, name)| ActionOutcome {
                id: name.id,
                progress: match self.deleted.contains(&name.id) {
                    true => ActionState::Deleted,
                    false => ActionState::Trashed,
                },
                reason: match self.not_deleted.get(&name.id) {
                    Some(reason) => reason.clone(),
                    None => note.to_owned(),
                },
                ctime_ns: Some(ctime_ns),
            })
            .collect()
    }
}

fn skipped(id: ActionId, reason: &str) -> ActionOutcome {
    ActionOutcome {
        id,
        progress: ActionState::Skipped,
        reason: reason.to_owned(),
        ctime_ns: None,
    }
}

/// What would have been done.
fn rehearsed(id: ActionId) -> ActionOutcome {
    ActionOutcome {
        id,
        progress: ActionState::Trashed,
        reason: String::new(),
        ctime_ns: None,
    }
}
