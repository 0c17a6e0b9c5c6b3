//! Where the catalog has the content of a file, or a digest.

mod finder;
mod sought;

pub(crate) use finder::{Counts, FindVerdict, Finder, Found, FoundFile};
pub(crate) use sought::{FindError, Sought};
