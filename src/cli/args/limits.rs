//! Tuning options of the worker pool.

use clap::Args;

use crate::settings::{Key, Layer};

/// The tuning options, as typed.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Tuning")]
pub(crate) struct LimitArgs {
    /// Number of threads [default: number of cores]
    #[arg(short = 'j', long, alias = "workers", value_name = "N")]
    #[arg(allow_negative_numbers = true, help_heading = None::<&str>)]
    pub(crate) threads: Option<String>,

    /// Queued work items per thread, 1 to 1000 [default: 64]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        hide_short_help = true,
        hide_long_help = true
    )]
    pub(crate) queue_per_worker: Option<String>,

    /// Rows written to the catalog at once, 1 to 1000000 [default: 5000]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        hide_short_help = true,
        hide_long_help = true
    )]
    pub(crate) batch_rows: Option<String>,

    /// Longest time before results are saved, 1ms to 1m
    /// [default: 250ms]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        hide_short_help = true,
        hide_long_help = true
    )]
    pub(crate) batch_time: Option<String>,

    /// Give up on a file or folder after this long without progress, 1s to 1d [default: 5m]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        hide_short_help = true,
        hide_long_help = true
    )]
    pub(crate) item_timeout: Option<String>,

    /// Warn about a file or folder after this long without progress, 1s to 1d [default: 30s]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        hide_short_help = true,
        hide_long_help = true
    )]
    pub(crate) stall_warning: Option<String>,

    /// Longest wait for threads after Ctrl-C, 100ms to 10m [default: 5s]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        hide_short_help = true,
        hide_long_help = true
    )]
    pub(crate) shutdown_timeout: Option<String>,

    /// Retries after temporary read errors, 0 to 100 [default: 3]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        hide_short_help = true,
        hide_long_help = true
    )]
    pub(crate) retries: Option<String>,

    /// Pause before the first retry, up to 10m; doubles each time [default: 200ms]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        hide_short_help = true,
        hide_long_help = true
    )]
    pub(crate) backoff: Option<String>,

    /// Internal errors after which a scan gives up, 1 to 1000000 [default: 10]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        hide_short_help = true,
        hide_long_help = true
    )]
    pub(crate) fatal_errors: Option<String>,
}

impl LimitArgs {
    /// The settings that were typed.
    pub(crate) fn settings(&self) -> Layer {
        let mut layer = Layer::default();
        layer.flag(Key::Threads, self.threads.as_ref());
        layer.flag(Key::QueuePerWorker, self.queue_per_worker.as_ref());
        layer.flag(Key::BatchRows, self.batch_rows.as_ref());
        layer.flag(Key::BatchTime, self.batch_time.as_ref());
        layer.flag(Key::ItemTimeout, self.item_timeout.as_ref());
        layer.flag(Key::StallWarning, self.stall_warning.as_ref());
        layer.flag(Key::ShutdownTimeout, self.shutdown_timeout.as_ref());
        layer.flag(Key::Retries, self.retries.as_ref());
        layer.flag(Key::Backoff, self.backoff.as_ref());
        layer.flag(Key::FatalErrors, self.fatal_errors.as_ref());
        layer
    }
}
