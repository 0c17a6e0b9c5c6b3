//! The command `folders`.

use std::path::PathBuf;

use clap::{Arg, Args, ValueHint};

use super::shared::{AnswerArgs, FilterArgs};
use super::shared::{Choice, one_of};
use crate::cli::terminal::exit;
use crate::folders::Measure;
use crate::settings::values;

/// Lowest similarity that can be asked for. Below 50 %, folders that differ in
/// most of their files would be called similar.
const LEAST: u8 = 50;

/// Show duplicate folders, or similar ones
///
/// Compares whole folder trees by content. Shows only the topmost folders, largest savings first; the
/// first folder of each group is the one to keep. Reads the catalog only: the result is as of the
/// last scan.
#[derive(Debug, Args)]
#[command(mut_args(for_folders))]
#[command(after_help = "\
Examples:
  dupescan folders -n 20
  dupescan folders ~/Pictures --similar 80 --by bytes --detail
  dupescan folders -E .DS_Store -E Thumbs.db --format csv")]
pub(crate) struct FoldersArgs {
    /// Only groups and pairs in these folders
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// Pairs at least this similar, 50 to 100 %
    ///
    /// Similarity is the number of distinct files in both folders, divided by the number in either.
    /// Empty files are skipped, and unchecked files count as different. Put PATH before --similar.
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, help_heading = "Comparison")]
    #[arg(default_missing_value = "50", allow_negative_numbers = true)]
    #[arg(conflicts_with = "same_names")]
    pub(crate) similar: Option<PathBuf>,

    /// Similarity measure: count or bytes
    #[arg(
        long,
        value_name = "MEASURE",
        default_value = "count",
        requires = "similar"
    )]
    #[arg(value_parser = one_of(MEASURES), help_heading = "Comparison")]
    pub(crate) by: Measure,

    /// List the differing files of each pair
    #[arg(long, requires = "similar", help_heading = "Comparison")]
    pub(crate) detail: bool,

    /// Compare file names as well
    #[arg(long, help_heading = "Comparison")]
    pub(crate) same_names: bool,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    /// Compare folders even if a scan skipped files in them
    #[arg(long, help_heading = "Which files", hide_short_help = true)]
    pub(crate) as_scanned: bool,
}

impl FoldersArgs {
    /// Checks what clap cannot, and takes the value of `--similar PATH` for a
    /// path if it is not a number.
    pub(crate) fn check(&mut self) -> anyhow::Result<Option<u8>> {
        self.filter.check()?;
        let Some(value) = &self.similar else {
            return Ok(None);
        };
        let Some(number) = value.to_str().filter(|text| is_number(text)) else {
            self.paths.insert(0, value.clone());
            return Ok(Some(LEAST));
        };
        let percent = values::whole(LEAST..=100)(number.trim_end_matches('%'));
        percent.map(Some).map_err(|reason| {
            exit::usage(format_args!(
                "invalid value '{number}' for --similar: {reason}"
            ))
        })
    }
}

/// Whether a word can only have been meant as a number.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || "-.,%".contains(c))
}

/// What shared options mean here.
fn for_folders(arg: Arg) -> Arg {
    let help = match arg.get_id().as_str() {
        "limit" => "Show at most this many groups or pairs",
        "bytes" => "Show exact sizes in bytes",
        "min_size" => "Compare only files of at least this size (10M)",
        "max_size" => "Compare only files of at most this size",
        "ext" => "Compare only files with these extensions (jpg,png)",
        _ => return arg,
    };
    arg.help(help)
}

/// The values of `--by`.
const MEASURES: &[Choice<Measure>] = &[
    ("count", "By number of distinct files", Measure::Count),
    ("bytes", "By their size in bytes", Measure::Bytes),
];
