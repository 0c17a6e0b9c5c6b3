//! Answers for people: files, groups, and comparisons of places.

mod changes;
mod copies;
mod files;
mod groups;
mod lookup;
mod paths;
mod place_diff;
mod places;
mod sweep;
mod tree;
mod unresolved;

pub use copies::FewTotals;
pub use files::{FileEntry, FileFilter, FileList, Verdict};
pub use groups::{
    Exclusion, GroupFilter, GroupList, Order, Whereabouts, folder_of, has_extension, wants_places,
};
pub use lookup::{Known, Lookup};
pub(crate) use paths::RootPaths;
pub use place_diff::{Completeness, DiffFile, DiffFolder, DiffMatch, PlaceDiff, Unresolved};
pub(crate) use places::Extent;
pub use tree::{TreeFault, TreeFile, TreeFolder};
pub(crate) use unresolved::count_unchecked;
