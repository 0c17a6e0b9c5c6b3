//! `scan --stats`: timing statistics of a scan.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use crate::model::{MetricsSnapshot, Outcome, Stage};
use crate::report::encode::write_value;
use crate::report::format::Format;
use crate::report::rows::{Align, table};
use crate::report::text::{counted, grouped, human_size};

/// The statistics of one run.
#[derive(Debug, Serialize)]
struct Stats {
    schema: u32,
    seconds: f64,
    stages: Vec<StageStats>,
    files: u64,
    files_unchanged: u64,
    bytes_on_disk: u64,
    bytes_read: u64,
    query_seconds: f64,
    writer_seconds: f64,
    writer_utilisation: f64,
    thread_utilisation: f64,
    threads_started: u64,
    threads_most: u64,
}

#[derive(Debug, Serialize)]
struct StageStats {
    stage: &'static str,
    seconds: f64,
    /// Files listed, probed or read whole in this stage.
    files: u64,
    files_per_second: f64,
    /// Bytes compared or hashed; of the hash stage only.
    bytes: u64,
    megabytes_per_second: f64,
}

/// Writes the statistics of a run.
pub(crate) fn write(
    format: Format,
    outcome: &Outcome,
    metrics: &MetricsSnapshot,
    out: &mut impl Write,
) -> io::Result<()> {
    let stats = Stats::new(outcome, metrics);
    match format {
        Format::Json => {
            write_value(out, &stats)?;
            writeln!(out)
        }
        _ => stats.write_table(out),
    }
}

impl Stats {
    fn new(outcome: &Outcome, metrics: &MetricsSnapshot) -> Self {
        let Outcome {
            elapsed,
            counters,
            timing,
            ..
        } = outcome;
        let touched = counters.added + counters.changed + counters.restored;
        let stages = timing.stages.iter();
        Self {
            schema: 1,
            seconds: elapsed.as_secs_f64(),
            stages: stages
                .map(|(stage, time)| StageStats::new(*stage, *time, outcome, metrics))
                .collect(),
            files: counters.files,
            files_unchanged: counters.files.saturating_sub(touched),
            bytes_on_disk: counters.bytes,
            bytes_read: counters.bytes_read,
            query_seconds: timing.queries.as_secs_f64(),
            writer_seconds: timing.writer.as_secs_f64(),
            writer_utilisation: share(timing.writer, *elapsed),
            thread_utilisation: metrics.utilisation,
            threads_started: metrics.threads,
            threads_most: metrics.workers_peak,
        }
    }

    fn write_table(&self, out: &mut impl Write) -> io::Result<()> {
        let columns = [
            ("STAGE", Align::Left),
            ("SECONDS", Align::Right),
            ("FILES", Align::Right),
            ("FILES/S", Align::Right),
            ("MB/S", Align::Right),
        ];
        let rows = self.stages.iter().map(StageStats::row);
        writeln!(out)?;
        write!(out, "{}", table(&columns, rows, None))?;
        writeln!(
            out,
            "Read {} of {} on disk; {} unchanged",
            human_size(self.bytes_read),
            human_size(self.bytes_on_disk),
            counted(self.files_unchanged, "file", "files"),
        )?;
        writeln!(
            out,
            "SQLite: writer {:.2} s ({:.0} % of the time), queries {:.2} s; threads busy {:.0} %; \
             {} threads, at most {} at work",
            self.writer_seconds,
            self.writer_utilisation * 100.0,
            self.query_seconds,
            self.thread_utilisation * 100.0,
            self.threads_started,
            self.threads_most,
        )
    }
}

impl StageStats {
    fn new(stage: Stage, time: Duration, outcome: &Outcome, metrics: &MetricsSnapshot) -> Self {
        let (files, bytes) = match stage {
            Stage::List => (outcome.counters.files, 0),
            Stage::Probe => (metrics.files_probed, 0),
            Stage::Hash => (metrics.files_hashed, metrics.bytes_hashed),
            Stage::Settle => (0, 0),
        };
        Self {
            stage: stage.name(),
            seconds: time.as_secs_f64(),
            files,
            files_per_second: rate(files, time),
            bytes,
            megabytes_per_second: rate(bytes, time) / 1e6,
        }
    }

    fn row(&self) -> Vec<String> {
        let unless_zero = |number: f64| match number {
            0.0 => String::new(),
            _ => format!("{number:.0}"),
        };
        vec![
            self.stage.to_owned(),
            format!("{:.2}", self.seconds),
            if self.files == 0 {
                String::new()
            } else {
                grouped(self.files)
            },
            unless_zero(self.files_per_second),
            unless_zero(self.megabytes_per_second),
        ]
    }
}

#[allow(clippy::cast_precision_loss, reason = "shown in three digits")]
fn rate(amount: u64, time: Duration) -> f64 {
    if time.is_zero() {
        return 0.0;
    }
    amount as f64 / time.as_secs_f64()
}

fn share(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() {
        return 0.0;
    }
    part.as_secs_f64() / whole.as_secs_f64()
}
