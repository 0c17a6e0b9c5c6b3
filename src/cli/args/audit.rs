//! The command `audit`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::answer::{AnswerArgs, FilterArgs};
use super::limits::LimitArgs;
use super::run::RunArgs;
use crate::model::Timestamp;
use crate::settings::{Key, Layer, values};

/// Read files again and compare them with their digests
///
/// Content that differs though size, times and inode do not is bit rot: exit code 1. What was
/// changed since the scan is listed as changed. An audit that was stopped goes on.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan audit ~/Pictures
  dupescan audit --baseline --nice
  dupescan audit /mnt/backup --older-than 90d --bwlimit 50M")]
pub(crate) struct AuditArgs {
    /// Audit files at and below this path; all without it
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,

    /// Also read the files that have no digest yet, and keep theirs for the next audit
    #[arg(long)]
    pub(crate) baseline: bool,

    /// Leave out files that were audited since this day (2026-01-31), time (RFC 3339) or age (90d)
    #[arg(long, value_name = "DATE", value_parser = values::moment)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) older_than: Option<Timestamp>,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,

    /// Leave processor and disk to other programs where they want them
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_parser = ["true", "false"])]
    #[arg(hide_possible_values = true, help_heading = "Running")]
    pub(crate) nice: Option<String>,

    /// Read at most this many bytes per second (50M, 50M/s); 0 is no limit
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    #[arg(help_heading = "Running")]
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
