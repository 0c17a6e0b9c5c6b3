//! Opening roots and files in a known state, and reading them. For everything
//! that reads files outside or inside a scan.

mod check;
pub mod content;

pub(crate) use check::{Checker, Look};
pub use content::probe_of;
