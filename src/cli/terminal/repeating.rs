//! A thread that does something at intervals, until it is dropped.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Ends its thread when it is dropped, and waits for that.
#[derive(Debug)]
pub(crate) struct Repeating {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Repeating {
    /// Calls `work` with `false` every interval and with `true` at the end.
    pub(crate) fn start(
        name: &str,
        interval: Duration,
        mut work: impl FnMut(bool) + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let thread = Builder::new().name(name.to_owned()).spawn(move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                work(false);
            }
            work(true);
        })?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Repeating {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // What is shown or measured beside a scan is no reason to fail it.
            thread.join().ok();
        }
    }
}
