//! Options shared by the commands that query the catalog: which files, and the
//! output.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::format::RowsFormat;
use crate::catalog::FileFilter;
use crate::cli::terminal::exit;
use crate::model::{Filters, Globs};
use crate::report::text::human_size;
use crate::settings::values;

/// Which files an answer is about.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Which files")]
pub(crate) struct FilterArgs {
    /// Only files of at least this size (10M)
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_negative_numbers = true)]
    pub(crate) min_size: Option<u64>,

    /// Only files of at most this size
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub(crate) max_size: Option<u64>,

    /// Skip files that match this glob; can be repeated
    #[arg(short = 'E', long, value_name = "GLOB", value_parser = values::glob)]
    pub(crate) exclude: Vec<String>,

    /// Only files with these extensions (jpg,png)
    #[arg(short, long, value_name = "EXT", value_delimiter = ',', value_parser = extension)]
    pub(crate) ext: Vec<String>,
}

impl FilterArgs {
    /// The filter, whose globs are these.
    pub(crate) fn filter(&self, globs: &Globs) -> FileFilter {
        let exclude = (!globs.is_empty()).then(|| globs.clone());
        FileFilter {
            min_size: self.min_size,
            max_size: self.max_size,
            extensions: self.ext.clone(),
            exclude: exclude
                .map(|globs| Box::new(move |path: &Path| globs.matches_file(path)) as _),
        }
    }

    /// What the answer says about itself; it is also about `paths`, if any.
    pub(crate) fn named(&self, paths: impl IntoIterator<Item = PathBuf>) -> Filters {
        Filters {
            paths: paths.into_iter().collect(),
            min_size: self.min_size,
            max_size: self.max_size,
            extensions: self.ext.clone(),
            exclude: self.exclude.clone(),
            ..Filters::default()
        }
    }

    /// Refuses a `--max-size` below `--min-size`.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        match (self.min_size, self.max_size) {
            (Some(min), Some(max)) if min > max => Err(exit::usage(format_args!(
                "invalid value '{}' for --max-size: expected at least --min-size, {}",
                human_size(max),
                human_size(min)
            ))),
            _ => Ok(()),
        }
    }
}

/// An extension without its dot, whether or not one was typed.
fn extension(text: &str) -> Result<String, String> {
    let name = text.strip_prefix('.').unwrap_or(text);
    if name.is_empty() || name.contains(['/', '.']) {
        return Err("expected an extension such as jpg or .jpg".to_owned());
    }
    Ok(name.to_owned())
}

/// The globs of `--exclude`.
pub(crate) fn excluded(globs: &[String]) -> anyhow::Result<Globs> {
    Globs::new(globs).map_err(|(glob, reason)| {
        exit::usage(format_args!(
            "invalid value '{glob}' for --exclude: {reason}"
        ))
    })
}

/// The output of an answer.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    pub(crate) format: RowsFormat,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Show exact sizes in bytes in tables
    #[arg(long, hide_short_help = true)]
    pub(crate) bytes: bool,
}

/// Where an answer goes, and how much of it.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Output file, written atomically
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Show at most this many rows
    #[arg(short = 'n', long, value_name = "N", value_parser = values::whole(1..=u64::MAX))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) limit: Option<u64>,
}
