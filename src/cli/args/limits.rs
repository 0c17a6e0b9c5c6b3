//! The flags for the limits of the worker pool.

use clap::Args;

use crate::settings::{Key, Layer};

/// The limits of the worker pool, as typed.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Worker threads, 1 to 256 [default: the number of cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) workers: Option<String>,

    /// Work items that wait per worker, 1 to 1000 [default: 64]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) queue_per_worker: Option<String>,

    /// Files saved to the catalog at once, 1 to 1000000 [default: 5000]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) batch_rows: Option<String>,

    /// Longest time until what was learned is saved, 1ms to 1m (thousands of results: up to
    /// 0.75s more) [default: 250ms]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) batch_time: Option<String>,

    /// Give up on a file or folder without progress for this long, 1s to 1d [default: 5m]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) item_timeout: Option<String>,

    /// Warn about a file or folder without progress for this long, 1s to 1d [default: 30s]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) stall_warning: Option<String>,

    /// Longest time to stop after Ctrl-C, 100ms to 10m [default: 5s]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) shutdown_timeout: Option<String>,

    /// Attempts after the first one when reading fails for the moment, 0 to 100 [default: 3]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) retries: Option<String>,

    /// Pause before the first new attempt, up to 10m; it doubles each time [default: 200ms]
    #[arg(
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) backoff: Option<String>,

    /// Internal failures after which a scan gives up, 1 to 1000000 [default: 10]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) fatal_errors: Option<String>,
}

impl LimitArgs {
    /// The limits that were typed.
    pub(crate) fn settings(&self) -> Layer {
        let mut layer = Layer::default();
        layer.flag(Key::Workers, self.workers.as_ref());
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
