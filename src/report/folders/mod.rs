//! The answers of `dupescan folders`: folders that hold the same files, and
//! pairs that hold partly the same. What they are comes from the caller,
//! whole; this writes it for people and for programs.

mod answer;
mod csv;
mod json;
mod table;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use crate::report::style::Style;
pub use answer::{
    FolderAnswer, FolderFormat, FolderGroup, FolderPair, FolderReport, FolderScope, FolderTotals,
    Identical, Similar,
};

/// Writes a whole answer.
pub fn write_folders<W: Write>(
    report: &FolderReport,
    format: FolderFormat,
    style: Style,
    out: W,
) -> io::Result<()> {
    match format {
        FolderFormat::Table => table::write(report, style, out),
        FolderFormat::Json => json::write(report, out),
        FolderFormat::Csv => csv::write(report, style, out),
    }
}
