//! The command `report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::format::ReportFormat;
use crate::catalog::Order;
use crate::cli::terminal::exit;
use crate::report::Format;
use crate::settings::values;

/// Show duplicate files
///
/// Reads the catalog only: the result is as of the last scan.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan report -n 20
  dupescan report ~/Downloads --min-size 10M --sort size
  dupescan report --format html -o dupes.html
  dupescan report --format fdupes -0 | grep -z . | xargs -0 ls -l")]
pub(crate) struct ReportArgs {
    /// Only groups with a copy in one of these folders
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) format: ReportFormat,

    /// Output file, written atomically
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Sort by reclaimable, size, count or path
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "ORDER",
        help_heading = "Output"
    )]
    pub(crate) sort: ReportSort,

    /// Show at most this many groups
    #[arg(short = 'n', long, value_name = "N", value_parser = values::whole(1..=u64::MAX))]
    #[arg(allow_negative_numbers = true, help_heading = "Output")]
    pub(crate) limit: Option<u64>,

    /// Show all hard links of a copy, not only the first
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) links: bool,

    /// Show exact sizes in bytes in tables
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) bytes: bool,

    /// With --format fdupes: NUL instead of newlines
    #[arg(short = '0', long, help_heading = "Output", hide_short_help = true)]
    pub(crate) null: bool,

    /// Only groups of at least this many copies
    #[arg(long, value_name = "N", default_value = "2", value_parser = values::whole(2..=u64::MAX))]
    #[arg(
        allow_negative_numbers = true,
        help_heading = "Which groups",
        hide_short_help = true
    )]
    pub(crate) min_count: u64,

    /// Only files of at least this size (10M)
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    #[arg(allow_negative_numbers = true, help_heading = "Which groups")]
    pub(crate) min_size: Option<u64>,

    /// Only files of at most this size
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    #[arg(
        allow_negative_numbers = true,
        help_heading = "Which groups",
        hide_short_help = true
    )]
    pub(crate) max_size: Option<u64>,

    /// Skip files that match this glob; can be repeated
    #[arg(short = 'E', long, value_name = "GLOB", value_parser = values::glob, help_heading = "Which groups")]
    pub(crate) exclude: Vec<String>,

    /// Only files with these extensions (jpg,png)
    #[arg(short, long, value_name = "EXT", value_delimiter = ',', value_parser = extension)]
    #[arg(help_heading = "Which groups")]
    pub(crate) ext: Vec<String>,

    /// Include empty files
    #[arg(long, help_heading = "Which groups", hide_short_help = true)]
    pub(crate) empty: bool,

    /// Only groups with copies in more than one root
    #[arg(long, help_heading = "Which groups")]
    pub(crate) across: bool,

    /// Check the disk; skip files changed since the scan
    #[arg(long, help_heading = "Which groups")]
    pub(crate) check: bool,
}

impl ReportArgs {
    /// Checks what clap cannot: values that conflict with each other.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.null && self.format.format() != Format::Fdupes {
            return Err(exit::usage(format_args!(
                "-0 requires --format fdupes, not {}",
                self.format.format()
            )));
        }
        exit::check_sizes(self.min_size, self.max_size)
    }
}

/// The orders of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ReportSort {
    /// Most reclaimable space first
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
