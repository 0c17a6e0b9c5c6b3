//! The command `report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use crate::catalog::Order;
use crate::cli::terminal::exit;
use crate::report::Format;
use crate::settings::values;

/// Show the duplicate groups of the catalog
///
/// Nothing is scanned: the answer is as of the last scan, and says which that was.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan report --limit 20
  dupescan report ~/Downloads --min-size 10M --sort size
  dupescan report --across --format csv --output duplicates.csv
  dupescan report --format html --output dupes.html
  dupescan report --format fdupes -0 | grep -z . | xargs -0 ls -l")]
pub(crate) struct ReportArgs {
    /// Show groups with at least one copy below these paths; all their copies are shown
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// Form of the report
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORM",
        help_heading = "Output"
    )]
    pub(crate) format: ReportFormat,

    /// Write to this file instead, all or nothing
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Order of the groups
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "ORDER",
        help_heading = "Output"
    )]
    pub(crate) sort: ReportSort,

    /// Stop after this many groups
    #[arg(long, value_name = "N", value_parser = values::whole(1..=u64::MAX))]
    #[arg(allow_negative_numbers = true, help_heading = "Output")]
    pub(crate) limit: Option<u64>,

    /// Show every name of a copy (hard links), not one
    #[arg(long, help_heading = "Output")]
    pub(crate) links: bool,

    /// Show exact sizes in bytes instead of rounded ones (with --format table)
    #[arg(long, help_heading = "Output")]
    pub(crate) bytes: bool,

    /// End paths with a NUL byte instead of a new line (with --format fdupes); one more parts groups
    #[arg(short = '0', long, help_heading = "Output")]
    pub(crate) null: bool,

    /// Show groups of at least this many copies
    #[arg(long, value_name = "N", default_value = "2", value_parser = values::whole(2..=u64::MAX))]
    #[arg(allow_negative_numbers = true, help_heading = "Which groups")]
    pub(crate) min_count: u64,

    /// Show files of at least this size (1k, 10M, 2GiB)
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    #[arg(allow_negative_numbers = true, help_heading = "Which groups")]
    pub(crate) min_size: Option<u64>,

    /// Show files of at most this size
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    #[arg(allow_negative_numbers = true, help_heading = "Which groups")]
    pub(crate) max_size: Option<u64>,

    /// Leave out files that match this glob; may be repeated
    #[arg(long, value_name = "GLOB", value_parser = values::glob, help_heading = "Which groups")]
    pub(crate) exclude: Vec<String>,

    /// Show files with these extensions only (jpg,png); may be repeated
    #[arg(long, value_name = "EXT", value_delimiter = ',', value_parser = extension)]
    #[arg(help_heading = "Which groups")]
    pub(crate) ext: Vec<String>,

    /// Show empty files too
    #[arg(long, help_heading = "Which groups")]
    pub(crate) empty: bool,

    /// Show only groups with copies under more than one root
    #[arg(long, help_heading = "Which groups")]
    pub(crate) across: bool,

    /// Look at each file now, and leave out what changed since it was scanned
    #[arg(long, help_heading = "Which groups")]
    pub(crate) check: bool,
}

impl ReportArgs {
    /// Checks what clap cannot: values that are wrong only beside each other.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.null && self.format != ReportFormat::Fdupes {
            return Err(exit::usage(format_args!(
                "-0 goes with --format fdupes only, not with {}",
                Format::from(self.format)
            )));
        }
        exit::check_sizes(self.min_size, self.max_size)
    }
}

/// The forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    #[default]
    Table,
    /// One JSON document
    Json,
    /// One JSON object per group and line
    Jsonl,
    /// One line per copy
    Csv,
    /// One path per line and an empty line between groups, as fdupes prints them
    Fdupes,
    /// One page for a browser, with pictures, search and filters
    Html,
}

impl From<ReportFormat> for Format {
    fn from(format: ReportFormat) -> Self {
        match format {
            ReportFormat::Table => Self::Table,
            ReportFormat::Json => Self::Json,
            ReportFormat::Jsonl => Self::Jsonl,
            ReportFormat::Csv => Self::Csv,
            ReportFormat::Fdupes => Self::Fdupes,
            ReportFormat::Html => Self::Html,
        }
    }
}

/// The orders of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ReportSort {
    /// What frees most first
    #[default]
    Reclaimable,
    /// Largest files first
    Size,
    /// Most copies first
    Count,
    /// By the first path
    Path,
}

impl From<ReportSort> for Order {
    fn from(sort: ReportSort) -> Self {
        match sort {
            ReportSort::Reclaimable => Self::Reclaimable,
            ReportSort::Size => Self::Size,
            ReportSort::Count => Self::Count,
            ReportSort::Path => Self::Path,
        }
    }
}

/// An extension without its dot, whether or not one was typed.
pub(crate) fn extension(text: &str) -> Result<String, String> {
    let name = text.strip_prefix('.').unwrap_or(text);
    if name.is_empty() || name.contains(['/', '.']) {
        return Err("expected an extension such as jpg or .jpg".to_owned());
    }
    Ok(name.to_owned())
}
