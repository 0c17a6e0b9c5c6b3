//! What work items need around them: what all items of a run share, and what one
//! item has learned so far.

mod item;
mod listing;
mod run;

pub(crate) use item::{HandIn, ItemContext, Opening};
pub(crate) use listing::ListingContext;
pub(crate) use run::RunContext;
