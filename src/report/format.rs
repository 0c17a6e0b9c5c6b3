//! The output formats of all commands.

use std::fmt;

use crate::model::Algorithm;

/// How output is written: the formats of all commands. Each command accepts
/// some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// A table for people.
    #[default]
    Table,
    /// One JSON document.
    Json,
    /// One JSON object per line.
    Jsonl,
    /// Comma-separated values, for spreadsheets.
    Csv,
    /// One path per line and a blank line between groups, as fdupes prints them.
    Fdupes,
    /// One path per line and nothing else, for scripts.
    Paths,
    /// One self-contained page for a browser.
    Html,
    /// Checksums as `sha256sum` and similar programs print them.
    Sums(Algorithm),
}

impl Format {
    /// The formats of a report of duplicates.
    pub const OF_REPORTS: [Self; 7] = [
        Self::Table,
        Self::Json,
        Self::Jsonl,
        Self::Csv,
        Self::Fdupes,
        Self::Paths,
        Self::Html,
    ];
    /// The formats of an answer that is a list of rows.
    pub const OF_ROWS: [Self; 3] = [Self::Table, Self::Json, Self::Csv];
    /// The formats of a plan.
    pub const OF_PLANS: [Self; 5] = [Self::Table, Self::Json, Self::Jsonl, Self::Csv, Self::Html];
    /// The formats of an export.
    pub const OF_EXPORTS: [Self; 6] = [
        Self::Sums(Algorithm::Sha256),
        Self::Sums(Algorithm::Sha512),
        Self::Sums(Algorithm::Sha3_256),
        Self::Sums(Algorithm::Blake3),
        Self::Csv,
        Self::Jsonl,
    ];
    /// The formats of everything else.
    pub const PLAIN: [Self; 2] = [Self::Table, Self::Json];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Fdupes => "fdupes",
            Self::Paths => "paths",
            Self::Html => "html",
            Self::Sums(Algorithm::Sha256) => "sha256sums",
            Self::Sums(Algorithm::Sha512) => "sha512sums",
            Self::Sums(Algorithm::Sha3_256) => "sha3-256sums",
            Self::Sums(Algorithm::Blake3) => "b3sums",
        }
    }

    /// Whether a note beside a report says how many groups a limit skipped.
    pub(crate) const fn notes_limit(self) -> bool {
        matches!(self, Self::Csv | Self::Fdupes | Self::Paths)
    }

    /// Whether a note beside a report says which scan it reflects.
    pub(crate) const fn notes_scan(self) -> bool {
        matches!(self, Self::Jsonl | Self::Csv | Self::Fdupes | Self::Paths)
    }

    /// What it is, for the help.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Table => "For people",
            Self::Json => "One JSON document",
            Self::Jsonl => "One JSON object per line",
            Self::Csv => "Comma-separated values",
            Self::Fdupes => "One path per line, groups separated by an empty line, like fdupes",
            Self::Paths => "One path per line, for scripts",
            Self::Html => "A web page with charts, search and filters",
            Self::Sums(Algorithm::Sha256) => "Checksums for `sha256sum -c`",
            Self::Sums(Algorithm::Sha512) => "Checksums for `sha512sum -c`",
            Self::Sums(Algorithm::Sha3_256) => "SHA3-256 checksums in the same format",
            Self::Sums(Algorithm::Blake3) => "Checksums for `b3sum -c`",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_padded() {
        let all = || Format::OF_REPORTS.into_iter().chain(Format::OF_EXPORTS);
        let names: std::collections::HashSet<_> = all().map(Format::name).collect();
        let formats: std::collections::HashSet<_> = all().collect();
        assert_eq!(names.len(), formats.len());
        assert_eq!(format!("[{:>6}]", Format::Csv), "[   csv]");
    }
}
