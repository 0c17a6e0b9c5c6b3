//! Answers that combine queries with a look at the disk, before anything is
//! rendered.

mod status;

pub(crate) use status::{RootState, RootStatus, Status, Unfinished, User};
