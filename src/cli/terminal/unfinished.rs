//! Temporary files that a signal must not leave behind. Commands that save their
//! state when they are asked to stop handle signals themselves; all others are
//! ended by a signal, after what they had not finished is removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, mpsc};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static WATCHING: Once = Once::new();
static IS_HANDLED: AtomicBool = AtomicBool::new(false);

/// A temporary file is about to be made: until its path is known, a signal has
/// to wait.
pub(crate) struct Pending(MutexGuard<'static, Vec<PathBuf>>);

/// Removes its file if a signal ends the program before it is dropped.
pub(crate) struct Unfinished(PathBuf);

/// To be called before a temporary file is made.
pub(crate) fn pending() -> Pending {
    WATCHING.call_once(watch);
    Pending(files())
}

impl Pending {
    /// The temporary file is at `path`.
    pub(crate) fn file(mut self, path: &Path) -> Unfinished {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.0.push(path.clone());
        Unfinished(path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        files().retain(|file| *file != self.0);
    }
}

/// The command handles signals from now on, and stops by itself.
pub(crate) fn leave_signals_to_the_command() {
    IS_HANDLED.store(true, Ordering::Relaxed);
}

/// Only a thread that runs may take the signals over.
fn watch() {
    let (send, receive) = mpsc::channel::<Signals>();
    let started = thread::Builder::new()
        .name("dupescan-unfinished".to_owned())
        .spawn(move || receive.recv().map(end_on_signal));
    if started.is_ok()
        && let Ok(signals) = Signals::new([SIGINT, SIGTERM, SIGHUP])
    {
        send.send(signals).unwrap_or_default();
    }
}

fn end_on_signal(mut signals: Signals) {
    for signal in &mut signals {
        if !IS_HANDLED.load(Ordering::Relaxed) {
            // Held to the end: no other file is begun.
            let files = files();
            for file in &*files {
                fs::remove_file(file).unwrap_or_default();
            }
            emulate_default_handler(signal).unwrap_or_default();
        }
    }
}

fn files() -> MutexGuard<'static, Vec<PathBuf>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}
