//! What must be true, proved through open descriptors, before a copy goes.

use super::acting::{Acting, STOPPED};
use crate::access::content::{Comparison, compare};
use crate::act::files::{Found, Refusal};
use crate::act::progress::InHand;
use crate::model::{Action, PlannedCopy};
use crate::platform::{NoLease, OpenFile, ReadLease, effective_user};

/// A file that no program is writing to, as far as the system can tell.
pub(crate) struct Held<'f> {
    lease: Option<ReadLease<'f>>,
}

impl<'f> Held<'f> {
    /// Holds a file. Without a lease, because the file is another user's, only
    /// what can be undone is allowed.
    pub(crate) fn take(file: &'f OpenFile, action: Action) -> Result<Self, Refusal> {
        match (file.lease(), action) {
            (Ok(lease), _) => Ok(Self { lease: Some(lease) }),
            (Err(NoLease::OpenForWriting), _) => {
                Err("a program has it open for writing".to_owned())
            }
            (Err(NoLease::Unknown), Action::Trash) => Ok(Self { lease: None }),
            (Err(NoLease::Unknown), Action::Delete) => Err(
                "it belongs to another user, so nobody can tell whether it is being written \
                 to; only `--action trash` is allowed"
                    .to_owned(),
            ),
        }
    }

    /// Whether no program has begun to write to it.
    pub(crate) fn holds(&self) -> bool {
        self.lease.as_ref().is_none_or(ReadLease::holds)
    }

    /// Whether the system says nothing about writers.
    pub(crate) fn is_unleased(&self) -> bool {
        self.lease.is_none()
    }
}

impl Acting {
    /// A copy that is to go, open under all its names.
    pub(crate) fn open_all(
        &self,
        planned: &PlannedCopy,
        size: u64,
        keeper: &Found,
    ) -> Result<Vec<Found>, Refusal> {
        let state = planned.state(size);
        let names: Vec<Found> = planned
            .copy
            .names()
            .map(|path| self.reach.open(path, &state))
            .collect::<Result<_, _>>()?;
        for found in &names {
            self.reach.refuse_protected(&found.folder)?;
        }
        let ids: Vec<_> = names
            .iter()
            .map(|found| found.file.opened_as().id())
            .collect();
        if ids.iter().any(|id| *id != ids[0]) {
            return Err("its names no longer lead to one file".to_owned());
        }
        if ids[0] == keeper.file.opened_as().id() {
            return Err("it is the file that is kept, under another name".to_owned());
        }
        let file = &names[0].file;
        if file.opened_as().meta.nlink != names.len() as u64 {
            return Err("it has hard links outside the catalog".to_owned());
        }
        refuse_less_trusted(file, &keeper.file)?;
        Ok(names)
    }

    /// Proves that a copy equals the one that stays, while nobody writes to either.
    pub(crate) fn prove(
        &self,
        copy: &OpenFile,
        keeper: &OpenFile,
        held: &dyn Fn() -> bool,
        in_hand: &InHand<'_>,
    ) -> Result<(), Refusal> {
        let may_continue = |offset| {
            in_hand.compared(offset);
            held() && !self.shutdown.is_stopped()
        };
        match compare(copy, keeper, may_continue).map_err(|error| error.to_string())? {
            Comparison::Equal if held() => Ok(()),
            Comparison::Equal | Comparison::Stopped if !held() => {
                Err("a program has just begun to write to it or to the copy that stays".to_owned())
            }
            Comparison::Equal | Comparison::Stopped => Err(STOPPED.to_owned()),
            Comparison::Different => Err("it differs from the copy that stays".to_owned()),
            Comparison::Changed => Err("it or the copy that stays has just changed".to_owned()),
        }
    }
}

/// Run by root, dupescan could leave a user only a copy that belongs to another
/// user, who may change it later.
pub(crate) fn refuse_less_trusted(copy: &OpenFile, keeper: &OpenFile) -> Result<(), Refusal> {
    if effective_user() != 0 {
        return Ok(());
    }
    let owners = copy
        .ownership()
        .and_then(|copy| Ok((copy, keeper.ownership()?)));
    let (copy, keeper) = owners.map_err(|error| error.to_string())?;
    match keeper.uid == copy.uid || keeper.uid == 0 {
        true => Ok(()),
        false => Err("the copy that stays belongs to another user".to_owned()),
    }
}
