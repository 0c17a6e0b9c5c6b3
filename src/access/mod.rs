//! Opening roots and files in a known state, looking at what they are now, and
//! reading them: for scans, audits and every command that opens files.

mod check;
pub(crate) mod content;
mod holes;
mod opener;
mod roots;
mod state;
mod tops;

pub(crate) use check::{Checker, Look};
pub(crate) use holes::{Holes, is_surely_sparse};
pub(crate) use opener::{OpenError, Opener, folder_fault};
pub(crate) use roots::{
    OpenRoot, OpenRoots, empty_reason, join, known_volume, meet_volumes, moved_reason,
    online_state, open_online, volume_row,
};
pub(crate) use state::{can_change_unseen, is_in_state, is_racy, is_unchanged};
pub(crate) use tops::VolumeTops;
