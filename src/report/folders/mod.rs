//! The answers of `dupescan folders`: duplicate folders, and pairs of similar
//! ones. The caller provides them; this writes them for people and programs.

mod answer;
mod csv;
mod json;
mod table;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use crate::report::format::Format;
use crate::report::style::Style;
pub use answer::FolderReport;

/// Writes a whole answer in one of [`Format::OF_ROWS`].
pub fn write_folders<W: Write>(
    report: &FolderReport,
    format: Format,
    style: Style,
    out: W,
) -> io::Result<()> {
    match format {
        Format::Json => json::write(report, out),
        Format::Csv => csv::write(report, style, out),
        _ => table::write(report, style, out),
    }
}
