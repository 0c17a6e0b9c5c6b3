//! What a scan tells the log, under names that programs may rely on:
//! `docs/EVENTS.md` describes each, and a test compares the two. Events of the
//! pool, the catalog and the command line are raised where they happen.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::catalog::ScanRow;
use crate::model::{Fault, Findings, ScanId, Stage, VolumeId, escape};
use crate::pool::{Abandoned, Stalled, WorkItem};
use crate::scan::error::ScanError;

/// A path in an event: text that no terminal obeys, and the exact bytes where
/// the text is not the path itself.
pub(crate) struct LogPath {
    /// The escaped text.
    pub(crate) text: String,
    /// The bytes in base64.
    pub(crate) base64: Option<String>,
}

impl LogPath {
    pub(crate) fn new(path: &Path) -> Self {
        let text = escape(path);
        let bytes = path.as_os_str().as_bytes();
        let base64 = (text.as_bytes() != bytes).then(|| STANDARD.encode(bytes));
        Self { text, base64 }
    }
}

/// Work on a root begins or is resumed.
pub(crate) fn scan_begin(scan: ScanId, root: &Path, mode: &str, resumed: bool) {
    let path = LogPath::new(root);
    tracing::info!(
        event = "scan.begin",
        scan = scan.0,
        path = path.text,
        path_b64 = path.base64,
        mode,
        resumed,
        "scan started"
    );
}

/// Work on a root ended, successfully or not.
pub(crate) fn scan_end(scan: &ScanRow, elapsed: Duration, error: Option<&ScanError>) {
    let counters = &scan.counters;
    tracing::info!(
        event = "scan.end",
        scan = scan.id.0,
        state = scan.state.name(),
        stage = scan.stage.name(),
        folders = counters.folders,
        files = counters.files,
        bytes = counters.bytes,
        added = counters.added,
        changed = counters.changed,
        deleted = counters.removed,
        hashed = counters.hashed,
        bytes_read = counters.bytes_read,
        failed = counters.faults,
        elapsed_ms = millis(elapsed),
        error = error.map(ToString::to_string),
        "scan ended"
    );
}

/// A stage begins; listing, for each root by itself.
pub(crate) fn stage_begin(scan: ScanId, stage: Stage, files: Option<u64>, bytes: Option<u64>) {
    tracing::info!(
        event = "stage.begin",
        scan = scan.0,
        stage = stage.name(),
        files,
        bytes,
        "stage started"
    );
}

/// A stage ended.
pub(crate) fn stage_end(scan: ScanId, stage: Stage, elapsed: Duration, is_finished: bool) {
    tracing::info!(
        event = "stage.end",
        scan = scan.0,
        stage = stage.name(),
        finished = is_finished,
        elapsed_ms = millis(elapsed),
        "stage ended"
    );
}

/// A path failed with an error that may pass, and is retried.
pub(crate) fn item_retry(path: &Path, fault: &Fault, attempts: u32) {
    let path = LogPath::new(path);
    tracing::info!(
        event = "item.retry",
        path = path.text,
        path_b64 = path.base64,
        step = fault.step.name(),
        class = fault.class.name(),
        errno = fault.errno,
        fault = fault.message,
        attempts,
        "will retry"
    );
}

/// A path became a dead letter.
pub(crate) fn item_failed(path: &Path, fault: &Fault, attempts: u32) {
    let path = LogPath::new(path);
    tracing::warn!(
        event = "item.failed",
        path = path.text,
        path_b64 = path.base64,
        step = fault.step.name(),
        class = fault.class.name(),
        errno = fault.errno,
        fault = fault.message,
        attempts,
        "cannot read"
    );
}

/// An item makes no progress.
pub(crate) fn item_stall(stalled: &Stalled) {
    let path = LogPath::new(&stalled.path);
    tracing::warn!(
        event = "item.stall",
        path = path.text,
        path_b64 = path.base64,
        kind = stalled.label,
        worker = stalled.worker,
        seconds = stalled.idle.as_secs(),
        "no progress"
    );
}

/// An item made no progress for too long; this many paths became dead letters.
pub(crate) fn item_given_up<T: WorkItem>(abandoned: &Abandoned<T>, paths: usize) {
    let path = LogPath::new(&abandoned.path);
    tracing::warn!(
        event = "item.given_up",
        path = path.text,
        path_b64 = path.base64,
        kind = abandoned.job.item.label(),
        worker = abandoned.worker,
        seconds = abandoned.idle.as_secs(),
        paths,
        "gave up"
    );
}

/// The workers have ended after a request to stop.
pub(crate) fn shutdown_done(findings: &Findings, elapsed: Duration) {
    tracing::info!(
        event = "shutdown.done",
        abandoned = findings.abandoned,
        elapsed_ms = millis(elapsed),
        "stopped"
    );
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A device keeps failing.
pub(crate) fn breaker_open(volume: VolumeId, path: &Path, fault: &Fault) {
    let path = LogPath::new(path);
    tracing::warn!(
        event = "breaker.open",
        volume = volume.0,
        path = path.text,
        path_b64 = path.base64,
        step = fault.step.name(),
        reason = fault.message,
        "the device keeps failing: pausing, then trying once more"
    );
}

/// The device check worked.
pub(crate) fn breaker_close(volume: VolumeId) {
    tracing::info!(
        event = "breaker.close",
        volume = volume.0,
        "the device is back"
    );
}

/// The device check failed.
pub(crate) fn breaker_give_up(volume: VolumeId, path: &Path, fault: &Fault) {
    let path = LogPath::new(path);
    tracing::error!(
        event = "breaker.give_up",
        volume = volume.0,
        path = path.text,
        path_b64 = path.base64,
        step = fault.step.name(),
        reason = fault.message,
        "the device keeps failing: not used again in this run"
    );
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn bytes_are_given_only_where_the_text_is_not_the_path() {
        let plain = LogPath::new(Path::new("/a b/Grüße"));
        assert_eq!(plain.text, "/a b/Grüße");
        assert_eq!(plain.base64, None);
        for odd in [&b"/a\\b"[..], b"/a\n", b"/\xff", b"/\x1b[2J"] {
            let path = LogPath::new(Path::new(OsStr::from_bytes(odd)));
            assert_eq!(STANDARD.decode(path.base64.unwrap()).unwrap(), odd);
            assert!(!path.text.contains(['\n', '\x1b']), "{}", path.text);
        }
    }
}
