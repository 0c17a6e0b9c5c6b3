//! The command `report`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, Args, ValueHint};

use super::shared::FilterArgs;
use super::shared::ReportFormat;
use super::shared::{Choice, one_of};
use crate::catalog::Order;
use crate::cli::terminal::exit;
use crate::report::Format;
use crate::settings::values;

/// Show duplicate files
///
/// Reads the catalog only: the result is as of the last scan.
#[derive(Debug, Args)]
#[command(mut_args(for_groups))]
#[command(after_help = "\
Examples:
  dupescan report ~/Downloads -n 20 --sort size
  dupescan report --format html -o dupes.html
  dupescan report --paths --keep oldest -0 | xargs -0 ls -l")]
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
    #[arg(long, value_name = "ORDER", default_value = "reclaimable")]
    #[arg(value_parser = one_of(ORDERS), help_heading = "Output")]
    pub(crate) sort: Order,

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

    /// Short for --format paths: one path per line
    #[arg(long = "paths", conflicts_with_all = ["format", "json"])]
    #[arg(help_heading = "Output", hide_short_help = true)]
    pub(crate) is_flat: bool,

    /// Mark the copy to keep: oldest, under:PATH … or first
    ///
    /// Takes the rules of `dupescan plan --keep`; can be repeated. `first` is the first path. With
    /// --paths, that copy is not printed; with --format fdupes it is printed first. Only the rules
    /// count here: a plan also spares what is protected or guarded.
    #[arg(long, value_name = "RULE", help_heading = "Output")]
    pub(crate) keep: Vec<OsString>,

    /// With --paths or --format fdupes: NUL instead of newlines
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

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    /// Include empty files
    #[arg(long, help_heading = "Which groups", hide_short_help = true)]
    pub(crate) empty: bool,

    /// Only groups with copies in more than one PATH, or root
    #[arg(long, alias = "isolate", help_heading = "Which groups")]
    pub(crate) across: bool,

    /// Check the disk; skip files changed since the scan
    #[arg(long, help_heading = "Which groups")]
    pub(crate) check: bool,
}

impl ReportArgs {
    /// The format that was asked for.
    pub(crate) fn format(&self) -> Format {
        match self.is_flat {
            true => Format::Paths,
            false => self.format.format(),
        }
    }

    /// Checks what clap cannot: values that conflict with each other.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let format = self.format();
        if self.null && !matches!(format, Format::Fdupes | Format::Paths) {
            return Err(exit::usage(format_args!(
                "-0 requires --paths or --format fdupes, not {format}"
            )));
        }
        self.filter.check()
    }
}

/// The values of `--sort`.
const ORDERS: &[Choice<Order>] = &[
    (
        "reclaimable",
        "Most reclaimable space first",
        Order::Reclaimable,
    ),
    ("size", "Largest files first", Order::Size),
    ("count", "Most copies first", Order::Count),
    ("path", "By the first path", Order::Path),
];

/// The options that choose files, under the heading of those that choose groups.
fn for_groups(arg: Arg) -> Arg {
    match arg.get_help_heading() {
        Some("Which files") => arg.help_heading("Which groups"),
        _ => arg,
    }
}
