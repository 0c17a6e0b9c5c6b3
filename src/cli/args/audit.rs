//! The command `audit`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::answer::{AnswerArgs, FilterArgs};
use super::limits::LimitArgs;
use super::run::RunArgs;
use crate::model::Timestamp;
use crate::settings::{Key, Layer, values};

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

    /// Run at low CPU and I/O priority
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_parser = ["true", "false"])]
    #[arg(hide_possible_values = true, help_heading = None::<&str>)]
    pub(crate) nice: Option<String>,

    /// Read at most this many bytes per second (50M)
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    #[arg(hide_short_help = true, help_heading = None::<&str>)]
    pub(crate) bwlimit: Option<String>,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

impl AuditArgs {
    /// The settings that were typed.
    pub(crate) fn settings(&self) -> Layer {
        let mut layer = Layer::default();
        layer.flag(Key::Nice, self.nice.as_ref());
        layer.flag(Key::Bwlimit, self.bwlimit.as_ref());
        layer.over(self.run.settings().over(self.limits.settings()))
    }
}
