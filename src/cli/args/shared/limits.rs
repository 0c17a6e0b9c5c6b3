//! Tuning options of the worker pool. Each is a setting of the same name.

use clap::Args;

use crate::settings::{Key, Layer};

/// Options that only `--help-all` shows: `name: value => setting`.
macro_rules! tuning_options {
    ($($(#[$help:meta])+ $name:ident: $value:literal => $key:ident,)+) => {
        /// The tuning options, as typed.
        #[derive(Debug, Default, Args)]
        #[command(next_help_heading = "Tuning")]
        pub(crate) struct LimitArgs {
            /// Number of threads [default: number of cores]
            #[arg(short = 'j', long, alias = "workers", value_name = "N")]
            #[arg(allow_negative_numbers = true, help_heading = None::<&str>)]
            threads: Option<String>,
            $(
                $(#[$help])+
                #[arg(long, value_name = $value, allow_negative_numbers = true)]
                #[arg(hide_short_help = true, hide_long_help = true)]
                $name: Option<String>,
            )+
        }

        impl LimitArgs {
            /// The settings that were typed.
            pub(crate) fn settings(&self) -> Layer {
                let mut layer = Layer::default();
                layer.flag(Key::Threads, self.threads.as_ref());
                $(layer.flag(Key::$key, self.$name.as_ref());)+
                layer
            }
        }
    };
}

tuning_options! {
    /// Queued work items per thread, 1 to 1000 [default: 64]
    queue_per_thread: "N" => QueuePerThread,

    /// Rows written to the catalog at once, 1 to 1000000 [default: 5000]
    batch_rows: "N" => BatchRows,

    /// Longest time before results are saved, 1ms to 1m
    /// [default: 250ms]
    batch_time: "TIME" => BatchTime,

    /// Give up on a file or folder after this long without progress, 1s to 1d [default: 5m]
    item_timeout: "TIME" => ItemTimeout,

    /// Warn about a file or folder after this long without progress, 1s to 1d [default: 30s]
    stall_warning: "TIME" => StallWarning,

    /// Longest wait for threads after Ctrl-C, 100ms to 10m [default: 5s]
    shutdown_timeout: "TIME" => ShutdownTimeout,

    /// Retries after temporary read errors, 0 to 100 [default: 3]
    retries: "N" => Retries,

    /// Pause before the first retry, up to 10m; doubles each time [default: 200ms]
    backoff: "TIME" => Backoff,

    /// Internal errors after which a scan gives up, 1 to 1000000 [default: 10]
    fatal_errors: "N" => FatalErrors,
}
