//! The command `folders`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::format::RowsFormat;
use super::report::extension;
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
        value_enum,
        default_value_t,
        value_name = "MEASURE",
        requires = "similar"
    )]
    #[arg(help_heading = "Comparison")]
    pub(crate) by: Weight,

    /// List the differing files of each pair
    #[arg(long, requires = "similar", help_heading = "Comparison")]
    pub(crate) detail: bool,

    /// Compare file names as well
    #[arg(long, help_heading = "Comparison")]
    pub(crate) same_names: bool,

    #[command(flatten)]
    pub(crate) format: RowsFormat,

    /// Output file, written atomically
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Show at most this many groups or pairs
    #[arg(short = 'n', long, value_name = "N", value_parser = values::whole(1..=u64::MAX))]
    #[arg(allow_negative_numbers = true, help_heading = "Output")]
    pub(crate) limit: Option<u64>,

    /// Show exact sizes in bytes
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) bytes: bool,

    /// Compare only files of at least this size (10M)
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    #[arg(allow_negative_numbers = true, help_heading = "Which files")]
    pub(crate) min_size: Option<u64>,

    /// Compare only files of at most this size
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    #[arg(
        allow_negative_numbers = true,
        help_heading = "Which files",
        hide_short_help = true
    )]
    pub(crate) max_size: Option<u64>,

    /// Skip files that match this glob; can be repeated
    #[arg(short = 'E', long, value_name = "GLOB", value_parser = values::glob, help_heading = "Which files")]
    pub(crate) exclude: Vec<String>,

    /// Compare only files with these extensions (jpg,png)
    #[arg(short, long, value_name = "EXT", value_delimiter = ',', value_parser = extension)]
    #[arg(help_heading = "Which files")]
    pub(crate) ext: Vec<String>,

    /// Compare folders even if a scan skipped files in them
    #[arg(long, help_heading = "Which files", hide_short_help = true)]
    pub(crate) as_scanned: bool,
}

impl FoldersArgs {
    /// Checks what clap cannot, and takes the value of `--similar PATH` for a
    /// path if it is not a number.
    pub(crate) fn check(&mut self) -> anyhow::Result<Option<u8>> {
        exit::check_sizes(self.min_size, self.max_size)?;
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

/// The values of `--by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Weight {
    /// By number of distinct files
    #[default]
    Count,
    /// By their size in bytes
    Bytes,
}

impl From<Weight> for Measure {
    fn from(weight: Weight) -> Self {
        match weight {
            Weight::Count => Self::Count,
            Weight::Bytes => Self::Bytes,
        }
    }
}
