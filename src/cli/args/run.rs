//! The flags of commands that run the worker pool: how it is watched and how
//! it saves.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::settings::{Key, Layer};

/// How a run is watched and saved, as typed.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Running")]
pub(crate) struct RunArgs {
    /// How to show progress: `auto` is a bar on a terminal and nothing elsewhere
    #[arg(long, value_name = "FORM", value_parser = ["auto", "bar", "plain", "json", "none"])]
    pub(crate) progress: Option<String>,

    /// Time between two lines of `plain` or `json`, 100ms to 1h [default: 10s]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) progress_interval: Option<String>,

    /// Write figures for Prometheus to this file, at intervals and at the end
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) metrics_file: Option<PathBuf>,

    /// Time between two writes of --metrics-file, 100ms to 1h [default: 10s]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) metrics_interval: Option<String>,

    /// What a power cut may lose: `normal` the last seconds, `full` nothing saved [default: normal]
    #[arg(long, value_name = "LEVEL", value_parser = ["normal", "full"], hide_short_help = true)]
    pub(crate) durability: Option<String>,
}

impl RunArgs {
    /// The settings that were typed.
    pub(crate) fn settings(&self) -> Layer {
        let mut layer = Layer::default();
        layer.flag(Key::Progress, self.progress.as_ref());
        layer.flag(Key::ProgressInterval, self.progress_interval.as_ref());
        layer.flag(Key::MetricsFile, self.metrics_file.as_ref());
        layer.flag(Key::MetricsInterval, self.metrics_interval.as_ref());
        layer.flag(Key::Durability, self.durability.as_ref());
        layer
    }
}
