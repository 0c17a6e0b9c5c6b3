//! What all groups of a run share.

use crate::act::files::Reach;
use crate::model::Action;
use crate::pool::Shutdown;

/// Why an item was not reached.
pub(crate) const STOPPED: &str = "not reached: stopped";

/// What all groups of a run share.
pub(crate) struct Acting {
    pub(crate) reach: Reach,
    pub(crate) action: Action,
    /// Whether everything is checked and nothing changed.
    pub(crate) is_rehearsal: bool,
    /// The user's request to stop. The pool itself is never stopped by it, so that
    /// each item says what became of it.
    pub(crate) shutdown: Shutdown,
}
