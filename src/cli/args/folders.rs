//! The command `folders`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::report::extension;
use crate::cli::terminal::exit;
use crate::folders::Measure;
use crate::report::FolderFormat;
use crate::settings::values;

/// Least similarity that can be asked for. Below a half, folders with most of
/// their files different would be called alike.
const LEAST: u8 = 50;

/// Show folders that hold the same files, or partly the same
///
/// Whole subtrees are compared, and their contents decide. Only the topmost folders are shown, those
/// that free most first; the first of a group is the one to keep. Nothing is scanned: the answer is
/// as of the last scan, and says which that was.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan folders --limit 20
  dupescan folders ~/Pictures --same-names
  dupescan folders --similar
  dupescan folders --similar 80 --by bytes --detail ~/Pictures
  dupescan folders --exclude .DS_Store --exclude Thumbs.db --format csv")]
pub(crate) struct FoldersArgs {
    /// Show groups and pairs with at least one folder at or below these paths
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// Show pairs that have at least so much in common, in percent, from 50 to 100 [default: 50]
    ///
    /// That is: contents in both folders, of the contents in either. Empty files are left out, and
    /// files whose content is undetermined count as different.
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, help_heading = "What is asked")]
    #[arg(default_missing_value = "50", allow_negative_numbers = true)]
    #[arg(conflicts_with = "same_names")]
    pub(crate) similar: Option<PathBuf>,

    /// What is weighed for --similar
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WEIGHT",
        requires = "similar"
    )]
    #[arg(help_heading = "What is asked")]
    pub(crate) by: Weight,

    /// List the differences of each pair, file by file
    #[arg(long, requires = "similar", help_heading = "What is asked")]
    pub(crate) detail: bool,

    /// Identical folders must have the same names in them, too
    #[arg(long, help_heading = "What is asked")]
    pub(crate) same_names: bool,

    /// Form of the list
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORM",
        help_heading = "Output"
    )]
    pub(crate) format: FoldersFormat,

    /// Write to this file instead, all or nothing
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Stop after this many groups or pairs
    #[arg(long, value_name = "N", value_parser = values::whole(1..=u64::MAX))]
    #[arg(allow_negative_numbers = true, help_heading = "Output")]
    pub(crate) limit: Option<u64>,

    /// Show exact numbers of bytes
    #[arg(long, help_heading = "Output")]
    pub(crate) bytes: bool,

    /// Compare files of at least this size (1k, 10M, 2GiB) only
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    #[arg(allow_negative_numbers = true, help_heading = "Which files")]
    pub(crate) min_size: Option<u64>,

    /// Compare files of at most this size only
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    #[arg(allow_negative_numbers = true, help_heading = "Which files")]
    pub(crate) max_size: Option<u64>,

    /// Leave out files that match this glob; may be repeated
    #[arg(long, value_name = "GLOB", value_parser = values::glob, help_heading = "Which files")]
    pub(crate) exclude: Vec<String>,

    /// Compare files with these extensions only (jpg,png); may be repeated
    #[arg(long, value_name = "EXT", value_delimiter = ',', value_parser = extension)]
    #[arg(help_heading = "Which files")]
    pub(crate) ext: Vec<String>,

    /// Compare what was scanned, though filters of the scan may have left files out
    #[arg(long, help_heading = "Which files")]
    pub(crate) as_scanned: bool,
}

impl FoldersArgs {
    /// Checks what clap cannot, and sorts out `--similar PATH`: what is no
    /// number was meant as a path.
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
                "invalid value '{number}' for '--similar [<PERCENT>]': {reason}"
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

/// What is weighed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Weight {
    /// Every content counts as one
    #[default]
    Count,
    /// Every content counts as its bytes
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

/// The forms of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum FoldersFormat {
    /// For people
    #[default]
    Table,
    /// One JSON document
    Json,
    /// One line per folder, per pair, or per difference
    Csv,
}

impl From<FoldersFormat> for FolderFormat {
    fn from(format: FoldersFormat) -> Self {
        match format {
            FoldersFormat::Table => Self::Table,
            FoldersFormat::Json => Self::Json,
            FoldersFormat::Csv => Self::Csv,
        }
    }
}
