//! `--metrics-file`: a thread that writes the metrics to a file at intervals,
//! atomically.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;

use crate::catalog::belongs_to;
use crate::cli::terminal::{Repeating, atomic_file, exit};
use crate::report::run::prometheus;
use crate::scan::Metrics;
use crate::settings::MetricsConfig;

/// Writes until the result is dropped, and once more then, if a file is
/// configured. One that cannot be written is a usage error.
pub(crate) fn start(
    config: &MetricsConfig,
    catalog: &Path,
    metrics: &Arc<Metrics>,
) -> anyhow::Result<Option<Repeating>> {
    let Some(path) = config.file.clone() else {
        return Ok(None);
    };
    if belongs_to(catalog, &path) {
        return Err(exit::usage(format_args!(
            "the metrics file {} belongs to the catalog: choose another file",
            path.display()
        )));
    }
    write(&path, &prometheus::render(&metrics.snapshot(), true)).map_err(|error| {
        exit::usage(format_args!(
            "cannot write the metrics file {}: {error}",
            path.display()
        ))
    })?;
    let metrics = Arc::clone(metrics);
    let mut file = Target::new(path);
    let update = move |end: bool| file.update(&metrics, !end);
    let writing = Repeating::start("dupescan-metrics", config.interval, update);
    Ok(Some(writing.context("cannot start the metrics thread")?))
}

/// The file, and whether writing it failed last time.
struct Target {
    path: PathBuf,
    is_failing: bool,
}

impl Target {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            is_failing: false,
        }
    }

    /// Replaces the file. A failure is logged once, until it works again.
    fn update(&mut self, metrics: &Metrics, running: bool) {
        let text = prometheus::render(&metrics.snapshot(), running);
        match write(&self.path, &text) {
            Ok(()) => self.is_failing = false,
            Err(error) => {
                if !self.is_failing {
                    tracing::warn!(
                        event = "metrics.failed",
                        fault = %error,
                        "cannot write the metrics file"
                    );
                }
                self.is_failing = true;
            }
        }
    }
}

/// Replaces the old file with a new one. Not synced: after a power cut the
/// metrics are old anyway.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let path = &atomic_file::target_of(path)?;
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::other("not a regular file"));
    }
    // Readable for others too: they collect it, and it contains no names.
    let mut file = atomic_file::beside(path)?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const CATALOG: &str = "/no/catalog.db";

    fn config(file: PathBuf) -> MetricsConfig {
        MetricsConfig {
            file: Some(file),
            interval: Duration::from_millis(5),
        }
    }

    #[test]
    fn the_file_follows_the_counters_and_ends_with_the_last_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dupescan.prom");
        let metrics = Arc::new(Metrics::new());
        let writing = start(&config(path.clone()), Path::new(CATALOG), &metrics).unwrap();
        let has = |line: &str| fs::read_to_string(&path).unwrap().contains(line);
        assert!(has("dupescan_running 1\n") && has("dupescan_files_seen_total 0\n"));
        metrics.files_seen.add(3);
        while !has("dupescan_files_seen_total 3\n") {
            std::thread::sleep(Duration::from_millis(1));
        }
        metrics.files_seen.add(1);
        drop(writing);
        assert!(has("dupescan_running 0\n") && has("dupescan_files_seen_total 4\n"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let metrics = Arc::new(Metrics::new());
        for path in [folder.path().join("no/such/file"), folder.path().to_owned()] {
            let error = start(&config(path.clone()), Path::new(CATALOG), &metrics).unwrap_err();
            let text = error.to_string();
            let start = format!("cannot write the metrics file {}: ", path.display());
            assert!(text.starts_with(&start) && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn without_a_file_nothing_is_started() {
        let config = MetricsConfig {
            file: None,
            interval: Duration::from_secs(10),
        };
        let none = start(&config, Path::new(CATALOG), &Arc::new(Metrics::new())).unwrap();
        assert!(none.is_none());
    }
}
