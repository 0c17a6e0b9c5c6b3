//! The line that moves while a scan runs: pulled from the metrics ten times a
//! second, drawn on standard error, and only on a terminal.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::report::text::{counted, grouped, human_size};
use crate::scan::metrics::{Metrics, MetricsSnapshot};

const INTERVAL: Duration = Duration::from_millis(100);

/// Draws until it is dropped.
pub(super) struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts drawing where `display` draws at all.
    pub(super) fn start(display: &MultiProgress, metrics: &Arc<Metrics>) -> Self {
        if display.is_hidden() {
            return Self {
                stop: None,
                thread: None,
            };
        }
        let bar = display.add(ProgressBar::new_spinner());
        bar.set_style(ProgressStyle::default_spinner());
        let metrics = Arc::clone(metrics);
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                bar.set_message(line(&metrics.snapshot()));
                bar.tick();
            }
            bar.finish_and_clear();
        });
        Self {
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A display that panicked has nothing more to show.
            thread.join().ok();
        }
    }
}

fn line(now: &MetricsSnapshot) -> String {
    let mut line = format!(
        "{}, {}",
        counted(now.folders_listed, "folder", "folders"),
        counted(now.files_seen, "file", "files")
    );
    if now.candidates > 0 {
        line += &format!(
            " | probed {} of {}",
            grouped(now.files_probed),
            grouped(now.candidates)
        );
    }
    if now.bytes_to_hash > 0 {
        line += &format!(
            " | read {} of {}",
            human_size(now.bytes_hashed),
            human_size(now.bytes_to_hash)
        );
    }
    if now.faults > 0 {
        line += &format!(" | {}", counted(now.faults, "error", "errors"));
    }
    line
}
