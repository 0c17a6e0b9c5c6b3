//! What all groups of a run share.

use std::sync::Arc;

use crate::act::files::Reach;
use crate::act::progress::ActProgress;
use crate::act::space::Space;
use crate::model::Action;
use crate::pool::Shutdown;

/// Why an item was not reached.
pub(crate) const STOPPED: &str = "not reached: stopped";

/// Why a name is skipped that its filesystem moves to another folder only: one with
/// the same project quota or encryption.
pub(crate) const CANNOT_TAKE: &str = "its filesystem does not move it into the trash folder";

/// What is noted of a name that went without the system saying whether a program
/// writes to it.
pub(crate) const UNLEASED: &str =
    "unleased: it belongs to another user, so nobody can tell whether it is being written to";

/// Why a name is in the trash that was to be deleted, where nothing else is known.
pub(crate) const STILL_IN_TRASH: &str = "it was moved to the trash and not deleted";

/// Why a group is skipped if several copies were to stay and not all of them are
/// left.
pub(crate) const FEWER_STAY: &str = "fewer copies would stay than the plan asks for";

/// What all groups of a run share.
pub(crate) struct Acting {
    pub(crate) reach: Reach,
    pub(crate) action: Action,
    /// Whether all copies that stay must be as they were, and not only one.
    pub(crate) needs_all_kept: bool,
    /// Whether everything is checked and nothing changed.
    pub(crate) is_rehearsal: bool,
    /// What deleting all that goes gives back.
    pub(crate) space: Space,
    /// The user's request to stop. It never stops the pool itself, so that each
    /// item says what became of it.
    pub(crate) shutdown: Shutdown,
    pub(crate) progress: Arc<ActProgress>,
}
