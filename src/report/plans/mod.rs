//! Plans outside the catalog: the JSON lines in which they are exchanged,
//! written and read.

mod edit;
mod lines;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use edit::{EditedLine, edited_lines, write_group_to_edit};
pub use read::{PlanFileError, PlanReader, PlanSource};
pub use write::PlanWriter;
