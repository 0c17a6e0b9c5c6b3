//! Ctrl-C and other signals: the first asks the scan to stop, the second quits
//! at once. The catalog is valid either way.

use std::sync::Arc;

use anyhow::Context as _;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use indicatif::MultiProgress;

use crate::cli::progress;
use crate::cli::terminal::{Exit, unfinished};
use crate::pool::Shutdown;

/// Makes a write beyond the limit for file sizes an error, as it is on a full
/// disk, rather than the end of the process.
pub(crate) fn survive_file_size_limit() {
    let signal = rustix::process::Signal::XFSZ.as_raw();
    // Where that is refused, the signal does what it always does.
    signal_hook::flag::register(signal, Arc::default()).ok();
}

/// Stops `shutdown` on the first signal and ends the process on the second.
pub(crate) fn watch(shutdown: &Shutdown, display: &MultiProgress) -> anyhow::Result<()> {
    unfinished::leave_signals_to_the_command();
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot watch for signals")?;
    let (shutdown, display) = (shutdown.clone(), display.clone());
    std::thread::Builder::new()
        .name("dupescan-signals".to_owned())
        .spawn(move || {
            for signal in &mut signals {
                if shutdown.is_stopped() {
                    progress::clear(&display);
                    // SQLite undoes a half-written transaction when the
                    // catalog is opened next.
                    std::process::exit(Exit::Interrupted.code().into());
                }
                tracing::info!(
                    event = "shutdown.requested",
                    signal = signal_hook::low_level::signal_name(signal),
                    "stopping; send the signal again to quit at once"
                );
                shutdown.stop();
            }
        })
        .context("cannot start the signal thread")?;
    Ok(())
}
