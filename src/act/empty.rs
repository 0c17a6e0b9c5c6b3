//! Emptying the trash: nothing is deleted for good before it is proved, byte for
//! byte, that an equal copy still exists, and that this copy is on the disk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::ActError;
use super::apply::{Held, refuse_less_trusted, sync_keeper};
use super::files::{Reach, Refusal};
use super::guards::{Guards, fleeting_tree};
use super::progress::{ActProgress, InHand, expect};
use super::recover::{GONE, is_back, is_gone, recover};
use super::space::{FreeSpace, Space};
use super::trash::Trash;
use crate::access::content::{Comparison, compare};
use crate::catalog::{Exclusive, Lookup, ReadOnly};
use crate::model::{
    Action, ActionEntry, ActionId, ActionOutcome, ActionState, FileState, Reclaimable, RunId,
    Timestamp, total,
};
use crate::platform::{Links, Volume};
use crate::pool::Shutdown;

/// Entries that are deleted between two commits.
const BATCH: u32 = 256;
/// Why an entry stays.
const WRITTEN: &str = "a program has just begun to write to it or to the copy that stays";

/// What became of the trash.
#[derive(Debug, Default)]
pub struct Emptied {
    /// Names that were deleted for good.
    pub files: u64,
    /// Bytes that they occupied.
    pub bytes: u64,
    /// What deleting them was to give back.
    pub reclaimable: Reclaimable,
    /// How much free space was gained.
    pub measured: u64,
    /// Names that stay in the trash, with the reason.
    pub skipped: Vec<(PathBuf, String)>,
    /// Whether it was stopped.
    pub is_interrupted: bool,
}

/// Deletes from the trash what was moved there before a moment: by one run, or by
/// all.
pub fn empty_trash(
    catalog: &mut Exclusive,
    run: Option<RunId>,
    before: Timestamp,
    shutdown: &Shutdown,
    progress: &ActProgress,
) -> Result<Emptied, ActError> {
    recover(catalog)?;
    let reader = catalog.reader()?;
    let emptying = Emptying {
        reach: &Reach::of(&reader, &[])?,
        shutdown,
        progress,
        space: Space::default(),
    };
    let (mut emptied, mut free) = (Emptied::default(), FreeSpace::default());
    let runs = reader.runs()?.into_iter().rev().map(|run| run.id);
    let runs: Vec<RunId> = runs
        .filter(|known| run.is_none_or(|run| run == *known))
        .collect();
    let is_due = |entry: &ActionEntry| entry.progress == ActionState::Trashed && entry.at < before;
    expect(&reader, &runs, progress, is_due)?;
    for run in runs {
        let mut after = ActionId(0);
        while !shutdown.is_stopped() {
            let page = reader.actions(run, after, BATCH)?;
            let Some(last) = page.last() else {
                break;
            };
            after = last.id;
            let due: Vec<ActionEntry> = page.into_iter().filter(is_due).collect();
            if !due.is_empty() {
                for trash in trashes_of(&due) {
                    free.note(&trash.dir).map_err(ActError::Sync)?;
                }
                empty_batch(catalog, &emptying, &due, &mut emptied)?;
            }
        }
    }
    emptied.reclaimable = emptying.space.reclaimable();
    let gained = free.gained(emptied.reclaimable.at_least);
    emptied.measured = gained.map_err(ActError::Sync)?;
    emptied.is_interrupted = shutdown.is_stopped();
    Ok(emptied)
}

fn empty_batch(
    catalog: &mut Exclusive,
    emptying: &Emptying<'_>,
    due: &[ActionEntry],
    emptied: &mut Emptied,
) -> Result<(), ActError> {
    let reader = catalog.reader()?;
    let digests: Vec<_> = due.iter().map(|entry| entry.action.digest).collect();
    let mut lookup = Lookup::build(reader.sibling()?, &[], &digests)?;
    let ids: Vec<_> = due.iter().map(|entry| entry.id).collect();
    catalog.intend_again(&ids, ActionState::Deleting)?;
    let mut guards = Guards::default();
    let mut outcomes = Vec::new();
    for entry in due {
        if emptying.shutdown.is_stopped() {
            outcomes.push(outcome(entry, ActionState::Trashed, String::new()));
            continue;
        }
        if is_back(entry) {
            outcomes.push(outcome(entry, ActionState::Restored, String::new()));
            continue;
        }
        if is_gone(emptying.reach, entry) {
            emptying.progress.skipped(1);
            let path = entry.action.path.clone();
            emptied.skipped.push((path, GONE.to_owned()));
            outcomes.push(outcome(entry, ActionState::Gone, GONE.to_owned()));
            continue;
        }
        // The plan accepted the first one; others must not belong to a program.
        let first = Some(entry.action.keeper.clone());
        let mut keepers: Vec<PathBuf> = first
            .into_iter()
            .filter(|keeper| fleeting_tree(keeper).is_none())
            .collect();
        let others = lookup.of_digest(&entry.action.digest)?.into_iter();
        let others = others.map(|known| known.path);
        keepers.extend(others.filter(|other| guards.tree_of(other).is_none()));
        emptying.progress.at(&entry.action.path);
        let in_hand = emptying.in_hand(entry);
        let deleted = delete(emptying, &reader, (entry, &in_hand), &keepers)?;
        drop(in_hand);
        let (progress, reason) = match deleted {
            Err(_) if emptying.shutdown.is_stopped() => (ActionState::Trashed, String::new()),
            Ok(()) => {
                emptied.files += 1;
                emptying.progress.dealt_with(1);
                emptied.bytes = total([emptied.bytes, entry.action.occupied]);
                (ActionState::Deleted, String::new())
            }
            Err(reason) => {
                emptying.progress.skipped(1);
                emptied
                    .skipped
                    .push((entry.action.path.clone(), reason.clone()));
                (ActionState::Trashed, reason)
            }
        };
        outcomes.push(outcome(entry, progress, reason));
    }
    let trashes = trashes_of(due);
    for trash in &trashes {
        trash.dir.sync().map_err(ActError::Sync)?;
    }
    catalog.settle_actions(&outcomes)?;
    // Only now: without the folder, nobody can tell what a crash left behind.
    trashes.iter().for_each(Trash::delete_if_unused);
    Ok(())
}

/// The trash folders of these entries, those that still exist.
fn trashes_of(due: &[ActionEntry]) -> Vec<Trash> {
    let folders: BTreeSet<&Path> = due.iter().map(|entry| &*entry.action.trash).collect();
    let trashes = folders.into_iter().map(Trash::open);
    trashes.flatten().collect()
}

fn outcome(entry: &ActionEntry, progress: ActionState, reason: String) -> ActionOutcome {
    ActionOutcome {
        id: entry.id,
        progress,
        reason,
        ctime_ns: None,
    }
}

/// Deletes one entry, if one of the keepers proves to be equal.
fn delete(
    emptying: &Emptying<'_>,
    catalog: &ReadOnly,
    (entry, in_hand): (&ActionEntry, &InHand<'_>),
    keepers: &[PathBuf],
) -> Result<Result<(), Refusal>, ActError> {
    let mut refused = "no equal copy is known".to_owned();
    for keeper in keepers {
        let Some(row) = catalog.current_file(keeper)? else {
            continue;
        };
        if row.is_corrupted {
            continue;
        }
        match emptying.delete_beside((entry, in_hand), keeper, &row.state) {
            Ok(()) => return Ok(Ok(())),
            Err(reason) => refused = reason,
        }
    }
    Ok(Err(format!("stays in the trash: {refused}")))
}

/// What all entries share.
struct Emptying<'a> {
    reach: &'a Reach,
    shutdown: &'a Shutdown,
    progress: &'a ActProgress,
    /// What deleting gives back.
    space: Space,
}

impl<'a> Emptying<'a> {
    fn in_hand(&self, entry: &ActionEntry) -> InHand<'a> {
        InHand::new(
            self.progress,
            entry.action.state.size,
            entry.action.occupied,
        )
    }

    fn delete_beside(
        &self,
        (entry, in_hand): (&ActionEntry, &InHand<'_>),
        keeper: &Path,
        state: &FileState,
    ) -> Result<(), Refusal> {
        let said = |error: std::io::Error| error.to_string();
        let keeper = self.reach.open(keeper, state)?;
        let kept = Held::take(&keeper.file, Action::Delete)?;
        let trash = Trash::open(&entry.action.trash).map_err(said)?;
        let name = Trash::name(entry.id);
        let file = trash.dir.open_file(&name, Links::Refuse).map_err(said)?;
        if file.opened_as().id() == keeper.file.opened_as().id() {
            return Err("the copy that stays is the same file".to_owned());
        }
        refuse_less_trusted(&file, &keeper.file)?;
        keeper.refuse_volatile(Volume::type_of(&file).map_err(said)?)?;
        let held = Held::take(&file, Action::Delete)?;
        let nobody_writes = || kept.holds() && held.holds();
        let may_continue = |offset| {
            in_hand.compared(offset);
            nobody_writes() && !self.shutdown.is_stopped()
        };
        match compare(&file, &keeper.file, may_continue).map_err(said)? {
            Comparison::Different => return Err("no copy equals it any more".to_owned()),
            Comparison::Changed => {
                return Err("it or the copy that stays has just changed".to_owned());
            }
            Comparison::Stopped => return Err(WRITTEN.to_owned()),
            Comparison::Equal => sync_keeper(&keeper)?,
        }
        if !nobody_writes() {
            return Err(WRITTEN.to_owned());
        }
        keeper.refuse_gone()?;
        self.space.stays(&keeper.file);
        trash.dir.delete_entry(&name).map_err(said)?;
        // A file with names left gives nothing back.
        if file.stat().is_ok_and(|now| now.meta.nlink == 0) {
            self.space.goes(&file);
        }
        Ok(())
    }
}
