//! How a catalogued file is now, compared with the state it was scanned in.

use std::path::Path;

use crate::access::{Checker, Look};

/// How a catalogued file is now. Of several copies of a content, the first in
/// this order says most about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Now {
    AsScanned,
    /// As scanned, but it was read too shortly after its last change for its
    /// times to prove anything.
    TooYoung,
    Offline,
    /// As scanned, but an audit found that its content is corrupted.
    Corrupted,
    Changed,
    Gone,
    Unreadable(String),
}

impl Now {
    /// What a look at a file means.
    pub(crate) fn of(look: Look, path: &Path, is_corrupted: bool, checker: &Checker) -> Self {
        match look {
            Look::Same if is_corrupted => Self::Corrupted,
            Look::Same => Self::AsScanned,
            Look::Changed | Look::Elsewhere => Self::Changed,
            Look::Gone if !checker.is_online(path) => Self::Offline,
            Look::Gone => Self::Gone,
            Look::Failed(why) => Self::Unreadable(why),
        }
    }
}
