//! Plans to act on duplicates, the journal of what was done, and the folders
//! that no plan touches. A change to a file and its row in `files` are one
//! transaction.

mod current;
mod effects;
mod journal;
mod plans;
mod protected;
#[cfg(test)]
mod tests;

pub use current::CurrentFile;
pub use plans::PlanWriter;
