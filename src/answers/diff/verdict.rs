//! What a file of one place is, seen from the other.

use crate::answers::now::Now;
use crate::catalog::Unresolved;

/// What one file is, seen from the other place.
pub(crate) enum DiffVerdict {
    Duplicate,
    /// The other place does not have it.
    Only {
        /// The other place has it as another path into this one.
        is_alias: bool,
    },
    Unchecked(WhyUnchecked),
    /// Its size is not one that is compared.
    NotCompared,
}

/// Why two files are not known to be separate: one is on a filesystem of this
/// type, which may show the files of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SharedView {
    Ours(&'static str),
    Theirs(&'static str),
}

/// Why it is not known whether the other place has a file.
pub(crate) enum WhyUnchecked {
    /// The file is not as it was scanned.
    File(Now),
    /// Its best copy is not.
    ItsCopy(Now),
    /// Its copy may be the file itself, seen through another filesystem.
    MaybeItself(SharedView),
    NotRead(Unresolved),
}
