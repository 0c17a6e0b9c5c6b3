//! Plans outside the catalog: the JSON lines in which they are exchanged,
//! written and read.

mod lines;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{PlanFileError, PlanReader, PlanSource};
pub use write::PlanWriter;
