//! Options of commands that run the worker pool: progress, metrics,
//! durability, tuning, and how hard they read.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::limits::LimitArgs;
use crate::settings::{Key, Layer};

/// How progress is shown, as typed.
#[derive(Debug, Default, Args)]
pub(crate) struct ProgressArgs {
    /// Progress display: auto, bar, plain, json or none
    #[arg(long, value_name = "FORMAT", value_parser = ["auto", "bar", "plain", "json", "none"])]
    #[arg(hide_short_help = true, help_heading = None::<&str>)]
    pub(crate) progress: Option<String>,

    /// Time between lines of plain or json progress, 100ms to 1h [default: 10s]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        hide_short_help = true,
        hide_long_help = true,
        help_heading = None::<&str>
    )]
    pub(crate) progress_interval: Option<String>,
}

impl ProgressArgs {
    /// The settings that were typed.
    pub(crate) fn settings(&self) -> Layer {
        let mut layer = Layer::default();
        layer.flag(Key::Progress, self.progress.as_ref());
        layer.flag(Key::ProgressInterval, self.progress_interval.as_ref());
        layer
    }
}

/// Progress, metrics, durability and tuning, as typed.
#[derive(Debug, Default, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,

    /// Write Prometheus metrics to this file while running
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(hide_short_help = true, help_heading = None::<&str>)]
    pub(crate) metrics_file: Option<PathBuf>,

    /// How often to write --metrics-file, 100ms to 1h [default: 10s]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        hide_short_help = true,
        hide_long_help = true,
        help_heading = None::<&str>
    )]
    pub(crate) metrics_interval: Option<String>,

    /// What a power failure may lose: normal: the last seconds; full: nothing [default: normal]
    #[arg(long, value_name = "LEVEL", value_parser = ["normal", "full"])]
    #[arg(hide_short_help = true, hide_long_help = true, help_heading = None::<&str>)]
    pub(crate) durability: Option<String>,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

impl RunArgs {
    /// The settings that were typed.
    pub(crate) fn settings(&self) -> Layer {
        let mut layer = Layer::default();
        layer.flag(Key::MetricsFile, self.metrics_file.as_ref());
        layer.flag(Key::MetricsInterval, self.metrics_interval.as_ref());
        layer.flag(Key::Durability, self.durability.as_ref());
        layer
            .over(self.progress.settings())
            .over(self.limits.settings())
    }
}

/// How hard a command reads, as typed.
#[derive(Debug, Default, Args)]
pub(crate) struct PaceArgs {
    /// Run at low CPU and I/O priority
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_parser = ["true", "false"])]
    #[arg(hide_possible_values = true, help_heading = None::<&str>)]
    pub(crate) nice: Option<String>,

    /// Read at most this many bytes per second (50M)
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    #[arg(help_heading = None::<&str>, hide_short_help = true)]
    pub(crate) bwlimit: Option<String>,
}

impl PaceArgs {
    /// The settings that were typed.
    pub(crate) fn settings(&self) -> Layer {
        let mut layer = Layer::default();
        layer.flag(Key::Nice, self.nice.as_ref());
        layer.flag(Key::Bwlimit, self.bwlimit.as_ref());
        layer
    }
}
