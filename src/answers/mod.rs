//! Answers that combine queries with a look at the disk, before anything is
//! rendered.

mod diff;
mod find;
mod folders;
mod groups;
mod history;
mod now;
mod place;
mod status;

pub(crate) use diff::{
    Diff, DiffSide, DiffVerdict, FileCount, MountPoints, Objection, OutOfSight, SharedView,
    WhyUnchecked,
};
pub(crate) use find::{Counts, FindError, FindVerdict, Finder, Found, FoundFile, Sought};
pub(crate) use folders::FolderQuestion;
pub(crate) use groups::{Groups, Skipped};
pub(crate) use history::{Changes, HistoryError, PastScan};
pub(crate) use now::Now;
pub(crate) use place::{Place, PlaceError, path_named, place_ever, resolve, root_named};
pub(crate) use status::{RootState, RootStatus, Status, Unfinished, User};
