//! The metrics of a run in Prometheus' text format. Pure; `docs/EVENTS.md`
//! lists the names, which are stable.

use std::fmt::Write;

use crate::model::{KindDurations, MetricsSnapshot};

/// The whole file. `running` is false in the last one of a command.
pub(crate) fn render(now: &MetricsSnapshot, running: bool) -> String {
    let mut text = String::with_capacity(8 * 1024);
    let counters = now.counters().into_iter();
    let counters = counters.map(|counter| (counter.metric, counter.help, count(counter.value)));
    for (name, help, value) in singles(now, running).into_iter().chain(counters) {
        let is_counter = name.ends_with("_total");
        let kind = if is_counter { "counter" } else { "gauge" };
        head(&mut text, name, kind, help);
        line(&mut text, format_args!("dupescan_{name} {value}"));
    }
    durations(&mut text, now);
    text
}

/// What has one value and is not counted by the scan itself: name, help, value.
#[rustfmt::skip] // One line each, as a table.
fn singles(now: &MetricsSnapshot, running: bool) -> [(&'static str, &'static str, f64); 12] {
    let is_running = f64::from(u8::from(running));
    let elapsed = now.elapsed.as_secs_f64();
    [
        ("running", "1 while the command runs, 0 once it has ended.", is_running),
        ("elapsed_seconds", "Time since the command started.", elapsed),
        ("threads", "Threads that list and read files.", count(now.workers)),
        ("threads_active", "Threads that are busy right now.", count(now.active)),
        ("thread_utilisation_ratio", "Busy time of all threads over threads times elapsed time.", now.utilisation),
        ("queue_items", "Work items waiting in the queue.", count(waiting(now))),
        ("queue_peak_items", "Longest queue so far.", count(now.queue_peak)),
        ("items_queued_total", "Work items queued.", count(now.queued)),
        ("items_processed_total", "Work items finished.", count(now.processed)),
        ("items_failed_total", "Work items that panicked or were given up.", count(now.failed)),
        ("items_abandoned_total", "Work items abandoned together with their thread.", count(now.abandoned)),
        ("bytes_read_total", "Bytes read from files.", count(now.bytes_read)),
    ]
}

/// Exact up to 2^53: petabytes.
fn count(number: u64) -> f64 {
    number as f64
}

/// Counters are read one after the other, so the difference may be off by the
/// items that moved meanwhile; it is never below zero.
fn waiting(now: &MetricsSnapshot) -> u64 {
    let left = now.processed + now.failed + now.active;
    now.queued.saturating_sub(left)
}

fn durations(text: &mut String, now: &MetricsSnapshot) {
    const NAME: &str = "item_duration_seconds";
    let help = "Time to process a work item, without waiting in the queue.";
    head(text, NAME, "histogram", help);
    for of_kind in &now.durations {
        buckets(text, NAME, of_kind);
    }
}

fn buckets(text: &mut String, name: &str, durations: &KindDurations) {
    let kind = durations.kind.name();
    let last = durations.histogram.len() - 1;
    let mut below = 0;
    for (bucket, count) in durations.histogram.iter().enumerate() {
        below += count;
        let le = if bucket == last {
            "+Inf".to_owned()
        } else {
            upper_bound(bucket)
        };
        line(
            text,
            format_args!("dupescan_{name}_bucket{{kind=\"{kind}\",le=\"{le}\"}} {below}"),
        );
    }
    let sum = durations.total.as_secs_f64();
    let labels = format_args!("{{kind=\"{kind}\"}}");
    line(text, format_args!("dupescan_{name}_sum{labels} {sum}"));
    line(text, format_args!("dupescan_{name}_count{labels} {below}"));
}

/// Where a bucket of the histogram ends, in seconds.
fn upper_bound(bucket: usize) -> String {
    let micros = 1_u64 << bucket;
    (micros as f64 / 1e6).to_string()
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    line(text, format_args!("# HELP dupescan_{name} {help}"));
    line(text, format_args!("# TYPE dupescan_{name} {kind}"));
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::scan::Metrics;

    fn rendered() -> String {
        let metrics = Metrics::new();
        metrics.files_seen.add(7);
        metrics.faults.add(2);
        let mut now = metrics.snapshot();
        now.bytes_read = 1 << 40;
        render(&now, true)
    }

    #[test]
    fn every_sample_has_its_help_and_type_before_it() {
        let text = rendered();
        let mut announced = BTreeSet::new();
        let mut helped = "";
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                helped = rest.split(' ').next().unwrap();
                assert!(rest.ends_with('.'), "{line}");
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert_eq!(name, helped);
                assert!(["gauge", "counter", "histogram"].contains(&kind), "{line}");
                assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
                assert!(announced.insert(name), "{name} twice");
            } else {
                let (name, value) = line.rsplit_once(' ').unwrap();
                assert!(name.starts_with(helped), "{line}");
                assert!(value.parse::<f64>().is_ok(), "{line}");
            }
        }
        assert!(announced.len() > 20);
    }

    #[test]
    fn values_are_exact() {
        let text = rendered();
        for line in [
            "dupescan_running 1",
            "dupescan_files_seen_total 7",
            "dupescan_bytes_read_total 1099511627776",
            "dupescan_errors_total 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        assert!(render(&Metrics::new().snapshot(), false).contains("dupescan_running 0\n"));
    }

    #[test]
    fn the_histogram_adds_up() {
        let text = rendered();
        let buckets: Vec<_> = text
            .lines()
            .filter(|line| line.contains("_bucket{kind=\"hash\""))
            .collect();
        assert_eq!(buckets.len(), 28);
        assert!(buckets[0].contains("le=\"0.000001\""), "{}", buckets[0]);
        assert!(buckets[20].contains("le=\"1.048576\""), "{}", buckets[20]);
        assert!(buckets[27].contains("le=\"+Inf\""));
        assert!(text.contains("dupescan_item_duration_seconds_count{kind=\"hash\"} 0\n"));
    }

    #[test]
    fn every_name_is_documented() {
        let docs = include_str!("../../../docs/EVENTS.md");
        for line in rendered().lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                let row = format!("| `{name}` | {kind} |");
                assert!(docs.contains(&row), "{row}");
            }
        }
    }
}
