//! Answers that are rows of columns, in every output format.

mod answer;
mod cell;
mod columns;
mod sums;

pub use answer::{Answer, Layout, files_and_bytes};
pub use cell::{Cell, Column};
pub use columns::{Align, table};
pub use sums::sum_line;
