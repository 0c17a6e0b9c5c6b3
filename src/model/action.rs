//! Plans to act on duplicates, and the journal of what was done: plain types
//! that the catalog stores, `act` carries out and reports show.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::digest::Digest;
use super::files::{CopyEntry, FileState, total};
use super::ids::{ActionId, PlanId, RunId, ScanId};
use super::options::PlanOptions;
use super::stage::words;
use super::time::Timestamp;

words!(
    /// What happens to the redundant copies of a plan.
    Action {
        /// They are moved to a trash folder on the same filesystem; can be undone.
        Trash = "trash",
        /// They are deleted for good.
        Delete = "delete",
    }
);

words!(
    /// What a plan does with a copy.
    Role {
        /// It stays, and the others are compared with it before they go.
        Keep = "keep",
        /// It goes.
        Act = "act",
    }
);

words!(
    /// What became of one name in a run. A crash can leave the three that end in
    /// -ing; the next command that acts finds out what happened.
    ActionState {
        /// About to be moved to the trash.
        Moving = "moving",
        /// In the trash.
        Trashed = "trashed",
        /// Not touched; the reason says why.
        Skipped = "skipped",
        /// About to be moved back.
        Restoring = "restoring",
        /// Back under its name.
        Restored = "restored",
        /// About to be deleted from the trash.
        Deleting = "deleting",
        /// Deleted for good.
        Deleted = "deleted",
        /// No longer in the trash: another program deleted or moved it.
        Gone = "gone",
    }
);

/// How the names of trash folders begin. Scans never enter them.
const TRASH: &str = ".dupescan-trash-";

/// The name of a user's trash folders.
pub fn trash_name(user: u32) -> String {
    format!("{TRASH}{user}")
}

/// Whether a folder of this name is a trash folder of some user.
pub fn is_trash(name: &OsStr) -> bool {
    let user = name.as_bytes().strip_prefix(TRASH.as_bytes());
    user.is_some_and(|user| !user.is_empty() && user.iter().all(u8::is_ascii_digit))
}

impl ActionState {
    /// Whether only a look at the disk can tell what happened.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Moving | Self::Restoring | Self::Deleting)
    }

    /// Whether an entry in this state is in the trash, or may be after a crash.
    pub fn is_in_trash(self) -> bool {
        self == Self::Trashed || self.is_open()
    }
}

/// A group of equal files in a plan: at least one copy is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedGroup {
    /// Its number in the plan, from 1.
    pub number: u64,
    /// The common digest.
    pub digest: Digest,
    /// The common size in bytes.
    pub size: u64,
    /// Its copies, the kept ones first.
    pub copies: Vec<PlannedCopy>,
}

/// A copy in a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCopy {
    /// What happens to it.
    pub role: Role,
    /// The copy, in the state it was scanned in.
    pub copy: CopyEntry,
}

impl PlannedCopy {
    /// The state in which it must be found.
    pub fn state(&self, size: u64) -> FileState {
        FileState {
            size,
            mtime_ns: self.copy.mtime_ns,
            ctime_ns: self.copy.ctime_ns,
            ino: self.copy.inode,
        }
    }
}

impl PlannedGroup {
    /// The copies with this role.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &PlannedCopy> {
        self.copies.iter().filter(move |copy| copy.role == role)
    }

    /// What it adds to the totals of its plan.
    pub fn totals(&self) -> PlanTotals {
        let act = || self.with_role(Role::Act);
        PlanTotals {
            groups: 1,
            files: act()
                .map(|planned| planned.copy.names().count() as u64)
                .sum(),
            bytes: total(act().map(|planned| planned.copy.occupied)),
        }
    }
}

/// The sums of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct PlanTotals {
    /// Groups with a copy that goes.
    pub groups: u64,
    /// Names that go.
    pub files: u64,
    /// Bytes on the disk that these occupy.
    pub bytes: u64,
}

impl PlanTotals {
    /// Adds those of another group.
    pub fn add(&mut self, other: Self) {
        self.groups += other.groups;
        self.files += other.files;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// What deleting files gives back to their disks. Compressed blocks, and blocks that
/// other files or snapshots share, make it a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Reclaimable {
    /// At least so many bytes.
    pub at_least: u64,
    /// At most so many bytes.
    pub at_most: u64,
}

impl Reclaimable {
    /// A range.
    pub fn between(at_least: u64, at_most: u64) -> Self {
        Self { at_least, at_most }
    }

    /// A figure that is certain.
    pub fn exactly(bytes: u64) -> Self {
        Self::between(bytes, bytes)
    }

    /// Adds that of more files.
    pub fn add(&mut self, other: Self) {
        self.at_least = self.at_least.saturating_add(other.at_least);
        self.at_most = self.at_most.saturating_add(other.at_most);
    }
}

/// A plan without its groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanHeader {
    /// Its number.
    pub id: PlanId,
    /// What it does.
    pub action: Action,
    /// The rules and limits it was made with.
    pub options: PlanOptions,
    /// The newest scan when it was made.
    pub scan: ScanId,
    /// When it was made.
    pub created: Timestamp,
    /// Its sums.
    pub totals: PlanTotals,
    /// What deleting its files gives back; `None` where that was not found out.
    pub reclaimable: Option<Reclaimable>,
}

/// One time that a plan was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunHeader {
    /// Its number.
    pub id: RunId,
    /// The plan.
    pub plan: PlanId,
    /// What was done.
    pub action: Action,
    /// When it began.
    pub started: Timestamp,
    /// When it ended; `None` while it is under way, or after it was stopped.
    pub finished: Option<Timestamp>,
}

/// A name about to be acted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAction {
    /// The number of its group in the plan.
    pub group: u64,
    /// Where it is.
    pub path: PathBuf,
    /// A copy that stays.
    pub keeper: PathBuf,
    /// The state in which it must be found.
    pub state: FileState,
    /// Bytes that it occupies on disk; 0 for further names of one file.
    pub occupied: u64,
    /// The digest of its content.
    pub digest: Digest,
    /// The trash folder that it goes to, under its number.
    pub trash: PathBuf,
}

/// One entry of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionEntry {
    /// Its number, which is its name in the trash folder.
    pub id: ActionId,
    /// The run.
    pub run: RunId,
    /// What the run does.
    pub kind: Action,
    /// What was to be done.
    pub action: NewAction,
    /// What became of it.
    pub progress: ActionState,
    /// Why it was skipped, or what is special about it; empty otherwise.
    pub reason: String,
    /// Its change time in the trash, where it is there.
    pub trashed_ctime_ns: Option<i64>,
    /// When it was last changed.
    pub at: Timestamp,
}

/// What became of an action, for the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionOutcome {
    /// The action.
    pub id: ActionId,
    /// What became of it.
    pub progress: ActionState,
    /// Why it was skipped, or what is special about it; empty otherwise.
    pub reason: String,
    /// The change time that the file has now, where it is in the trash or back.
    pub ctime_ns: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trash_folders_are_known_by_their_names() {
        assert!(is_trash(OsStr::new(&trash_name(1000))));
        for other in [
            ".dupescan-trash-",
            ".dupescan-trash-x",
            "trash",
            ".dupescan-trash",
        ] {
            assert!(!is_trash(OsStr::new(other)), "{other}");
        }
    }
}
