//! The command `audit`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::shared::{AnswerArgs, FilterArgs};
use super::shared::{PaceArgs, RunArgs};
use crate::model::Timestamp;
use crate::settings::values;

/// Read files again to detect corruption (bit rot)
///
/// Compares files with their stored hashes. A file is corrupted if its content differs while size,
/// times and inode do not (exit code 1). Files changed since the scan are listed as changed. Run the
/// same command again to resume an interrupted audit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan audit ~/Pictures
  dupescan audit --baseline --nice
  dupescan audit /mnt/backup --older-than 90d --bwlimit 50M")]
pub(crate) struct AuditArgs {
    /// Only files in this folder [default: everything]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,

    /// Also hash files that have no stored hash yet
    #[arg(long)]
    pub(crate) baseline: bool,

    /// Skip files audited since this date, or age (90d)
    #[arg(long, value_name = "DATE", value_parser = values::moment)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) older_than: Option<Timestamp>,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,

    #[command(flatten)]
    pub(crate) pace: PaceArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}
