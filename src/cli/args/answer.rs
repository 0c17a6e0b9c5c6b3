//! The options that the commands which ask the catalog share: which files
//! they are about, and the form of the answer.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::report::extension;
use crate::catalog::FileFilter;
use crate::cli::terminal::exit;
use crate::model::Globs;
use crate::report::AnswerFormat;
use crate::settings::values;

/// Which files an answer is about.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Which files")]
pub(crate) struct FilterArgs {
    /// Files of at least this size (1k, 10M, 2GiB)
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_negative_numbers = true)]
    pub(crate) min_size: Option<u64>,

    /// Files of at most this size
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_negative_numbers = true)]
    pub(crate) max_size: Option<u64>,

    /// Leave out files that match this glob; may be repeated
    #[arg(long, value_name = "GLOB", value_parser = values::glob)]
    pub(crate) exclude: Vec<String>,

    /// Files with these extensions only (jpg,png); may be repeated
    #[arg(long, value_name = "EXT", value_delimiter = ',', value_parser = extension)]
    pub(crate) ext: Vec<String>,
}

impl FilterArgs {
    /// The filter, checked where clap cannot.
    pub(crate) fn filter(&self) -> anyhow::Result<FileFilter> {
        exit::check_sizes(self.min_size, self.max_size)?;
        Ok(FileFilter {
            min_size: self.min_size,
            max_size: self.max_size,
            extensions: self.ext.clone(),
            exclude: exclusion(&self.exclude)?,
        })
    }
}

/// What `--exclude` leaves out; `None` for nothing.
pub(crate) fn exclusion(globs: &[String]) -> anyhow::Result<Option<crate::catalog::Exclusion>> {
    let globs = excluded(globs)?;
    Ok(match globs.is_empty() {
        true => None,
        false => Some(Box::new(move |path| globs.matches_file(path))),
    })
}

/// The globs of `--exclude`.
pub(crate) fn excluded(globs: &[String]) -> anyhow::Result<Globs> {
    Globs::new(globs).map_err(|(glob, reason)| {
        exit::usage(format_args!(
            "invalid value '{glob}' from --exclude: {reason}"
        ))
    })
}

/// The form of an answer.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct AnswerArgs {
    /// Form of the answer
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) format: AnswerForm,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Show exact numbers of bytes in tables
    #[arg(long)]
    pub(crate) bytes: bool,
}

/// Where an answer goes, and how much of it.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Write to this file instead, all or nothing
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Show this many rows at most; totals are over all
    #[arg(long, value_name = "N", value_parser = values::whole(1..=u64::MAX))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) limit: Option<u64>,
}

/// The forms of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum AnswerForm {
    /// For people
    #[default]
    Table,
    /// One JSON document
    Json,
    /// One line per row
    Csv,
}

impl From<AnswerForm> for AnswerFormat {
    fn from(form: AnswerForm) -> Self {
        match form {
            AnswerForm::Table => Self::Table,
            AnswerForm::Json => Self::Json,
            AnswerForm::Csv => Self::Csv,
        }
    }
}
