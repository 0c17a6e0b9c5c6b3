//! What every answer needs: when it was made, as of which scan, and how it
//! should look.

use anstyle::{AnsiColor, Style as Paint};

use crate::model::{AsOf, Filters, NotCompared, Timestamp};

/// Space that can be reclaimed.
pub(crate) const GAIN: Paint = AnsiColor::Green.on_default().bold();
pub(crate) const STRONG: Paint = Paint::new().bold();
pub(crate) const FAINT: Paint = Paint::new().dimmed();

/// What is known about a report before its first group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// When the report was asked for.
    pub generated_at: Timestamp,
    /// Up to which scan the report holds; `None` when nothing was scanned yet.
    pub as_of: Option<AsOf>,
    /// Number of scans that were interrupted or are still running.
    pub unfinished: usize,
    /// What it was narrowed down to.
    pub filters: Filters,
    /// The rules by which a copy of each group is marked as the one to keep, as they
    /// were typed; none if no copy is marked.
    pub keep: Vec<String>,
    /// Files that are not compared because of their size.
    pub not_compared: Option<NotCompared>,
}

/// How a report should look, as far as its format leaves a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Print every name of a copy. JSON, JSONL and HTML always list them.
    pub links: bool,
    /// End paths with NUL instead of a newline; fdupes format and paths only.
    pub nul: bool,
    /// The output is a terminal, which must never see a control character
    /// from a file name. Tables and JSON escape them everywhere.
    pub terminal: bool,
    /// Columns that a line of the table should keep to; paths stay whole.
    pub width: Option<u16>,
    /// Colour the table.
    pub color: bool,
    /// Print exact numbers of bytes in the table, not rounded sizes.
    pub exact_bytes: bool,
}

impl Style {
    /// Text in this paint, where there is colour.
    pub(crate) fn painted(&self, paint: Paint, text: &str) -> String {
        if self.color {
            format!("{paint}{text}{paint:#}")
        } else {
            text.to_owned()
        }
    }
}
