//! Progress of commands that plan or act, in the formats that scans have.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::json::PathJson;
use super::lines::{clock, doing_line};
use super::rate::{Rate, rounded};
use super::view::percent;
use super::{Display, FRAME, Shown, screen};
use crate::act::{ActMoment, ActProgress};
use crate::cli::terminal::Repeating;
use crate::model::{Timestamp, escape};
use crate::pool::Shutdown;
use crate::report::rfc3339;
use crate::report::text::{grouped, human_size, shorten_middle};

/// How far back the time left looks.
const ETA_MEMORY: Duration = Duration::from_secs(30);
/// Time before the time left is estimated.
const ETA_AFTER: Duration = Duration::from_secs(2);
/// What a file costs beside its bytes, as bytes: opening, moving and journaling it.
const FILE: u64 = 64 << 10;

/// What a command does, for people and as a stage for programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Doing {
    pub(crate) words: &'static str,
    pub(crate) stage: &'static str,
    /// What is counted.
    pub(crate) unit: &'static str,
}

/// Shows progress until the result is dropped, if it is shown at all.
pub(crate) fn start_acting(
    display: &Display,
    doing: Doing,
    progress: &Arc<ActProgress>,
    shutdown: &Shutdown,
) -> Option<Repeating> {
    let mut watch = Watch {
        doing,
        progress: Arc::clone(progress),
        shutdown: shutdown.clone(),
        began: Instant::now(),
        rate: Rate::new(ETA_MEMORY),
    };
    let mut interval = display.interval;
    let show: Box<dyn FnMut(bool) + Send> = match display.shown {
        Shown::Nothing => return None,
        Shown::Bar => {
            interval = FRAME;
            let bar = display.bars.add(ProgressBar::new_spinner());
            let style = ProgressStyle::with_template("{msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            let color = display.color;
            Box::new(move |is_end| match is_end {
                false => bar.set_message(watch.look().lines(screen::width().into(), color)),
                true => bar.finish_and_clear(),
            })
        }
        Shown::Plain => Box::new(move |is_end| {
            if !is_end {
                print(&watch.look().plain());
            }
        }),
        Shown::Json => Box::new(move |is_end| print(&watch.look().json(is_end))),
    };
    Repeating::start("dupescan-progress", interval, show).ok()
}

/// Looks at what is done again and again.
struct Watch {
    doing: Doing,
    progress: Arc<ActProgress>,
    shutdown: Shutdown,
    began: Instant,
    rate: Rate,
}

/// One look.
struct Look {
    doing: Doing,
    now: ActMoment,
    elapsed: Duration,
    eta: Option<Duration>,
    is_stopping: bool,
}

impl Watch {
    fn look(&mut self) -> Look {
        let (now, elapsed) = (self.progress.moment(), self.began.elapsed());
        let (done, expected) = work(&now);
        self.rate.note(elapsed, done);
        let speed = self.rate.per_second().filter(|speed| *speed > 0.0);
        let left = expected.saturating_sub(done) as f64;
        let eta = speed.and_then(|speed| Duration::try_from_secs_f64(left / speed).ok());
        Look {
            doing: self.doing,
            now,
            elapsed,
            eta: eta
                .filter(|_| elapsed >= ETA_AFTER && done < expected)
                .map(rounded),
            is_stopping: self.shutdown.is_stopped(),
        }
    }
}

/// What is done, and all that is to be done.
fn work(now: &ActMoment) -> (u64, u64) {
    let cost = |files: u64, bytes: u64| files.saturating_mul(FILE).saturating_add(bytes);
    let expected = cost(now.files_expected, now.bytes_expected);
    (cost(now.files, now.bytes).min(expected), expected)
}

#[derive(Serialize)]
struct ActJson {
    timestamp: String,
    event: &'static str,
    stage: &'static str,
    stopping: bool,
    elapsed_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    eta_ms: Option<u64>,
    done: u64,
    expected: u64,
    bytes_done: u64,
    bytes_expected: u64,
    skipped: u64,
    #[serde(flatten)]
    path: PathJson,
}

impl Look {
    /// How many of how many.
    fn amount(&self) -> String {
        let (done, all) = (grouped(self.now.files), grouped(self.now.files_expected));
        format!("{done} of {all} {}", self.doing.unit)
    }

    fn bytes(&self) -> Option<String> {
        let (done, all) = (self.now.bytes, self.now.bytes_expected);
        (all > 0).then(|| format!("{} of {}", human_size(done.min(all)), human_size(all)))
    }

    fn words(&self) -> &'static str {
        match self.is_stopping {
            true => "Stopping",
            false if self.now.is_measuring => "Measuring",
            false => self.doing.words,
        }
    }

    /// The lines on a terminal.
    fn lines(&self, columns: usize, color: bool) -> String {
        let room = columns.saturating_sub(1);
        let mut after = Vec::from_iter(self.bytes());
        if self.now.skipped > 0 {
            after.push(format!("{} skipped", grouped(self.now.skipped)));
        }
        let eta = self.eta.map(|eta| format!("ETA {}", clock(eta)));
        let share = Some(work(&self.now)).filter(|(_, all)| *all > 0);
        let mut text = doing_line(
            (self.words(), &self.amount()),
            (eta, after),
            share,
            (room, color),
        );
        if !self.now.path.as_os_str().is_empty() {
            text.push('\n');
            text.push_str(&shorten_middle(&escape(&self.now.path), room));
        }
        text
    }

    /// One line for logs.
    fn plain(&self) -> String {
        let share = format!("{} ({} %)", self.amount(), percent(work(&self.now)));
        let mut parts = vec![format!(
            "{}: {}, {share}",
            clock(self.elapsed),
            self.words().to_lowercase()
        )];
        parts.extend(self.bytes());
        parts.extend(self.eta.map(|eta| format!("ETA {}", clock(eta))));
        parts.push(format!("{} skipped", grouped(self.now.skipped)));
        if !self.now.path.as_os_str().is_empty() {
            parts.push(escape(&self.now.path));
        }
        parts.join(", ")
    }

    /// One object for programs.
    fn json(&self, is_end: bool) -> String {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let event = ActJson {
            timestamp: rfc3339(Timestamp::now()),
            event: if is_end { "progress.end" } else { "progress" },
            stage: self.doing.stage,
            stopping: self.is_stopping,
            elapsed_ms: millis(self.elapsed),
            eta_ms: self.eta.filter(|_| !is_end).map(millis),
            done: self.now.files,
            expected: self.now.files_expected,
            bytes_done: self.now.bytes,
            bytes_expected: self.now.bytes_expected,
            skipped: self.now.skipped,
            path: PathJson::new(&self.now.path),
        };
        serde_json::to_string(&event).expect("numbers and strings always become JSON")
    }
}

fn print(line: &str) {
    // In one write, so that lines of other threads are not mixed in. A closed
    // standard error cannot be reported anywhere.
    io::stderr().write_all(format!("{line}\n").as_bytes()).ok();
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use serde_json::Value;

    use super::*;

    fn look(path: &str) -> Look {
        look_at(Path::new(path))
    }

    fn look_at(path: &Path) -> Look {
        Look {
            doing: Doing {
                words: "Moving to the trash",
                stage: "apply",
                unit: "files",
            },
            now: ActMoment {
                files: 1_234,
                files_expected: 5_000,
                bytes: 3 << 30,
                bytes_expected: 12 << 30,
                skipped: 3,
                is_measuring: false,
                path: path.into(),
            },
            elapsed: Duration::from_secs(83),
            eta: Some(Duration::from_secs(135)),
            is_stopping: false,
        }
    }

    #[test]
    fn lines_fit_the_terminal_and_drop_what_matters_least() {
        let wide = look("/home/you/Pictures/a.jpg").lines(120, false);
        assert_eq!(
            wide,
            "Moving to the trash  ━━━━━━──────────────────────  1,234 of 5,000 files  24 %  ETA 2:15  3.0 GiB of 12.0 GiB  3 skipped\n\
             /home/you/Pictures/a.jpg"
        );
        for columns in 20..140 {
            let lines = look("/home/you/Pictures/a\nb.jpg").lines(columns, false);
            assert_eq!(lines.lines().count(), 2);
            assert!(
                lines.lines().all(|line| line.chars().count() < columns),
                "{lines}"
            );
        }
    }

    #[test]
    fn a_line_for_logs_has_it_all() {
        assert_eq!(
            look("/two\nlines").plain(),
            "1:23: moving to the trash, 1,234 of 5,000 files (24 %), 3.0 GiB of 12.0 GiB, \
             ETA 2:15, 3 skipped, /two\\nlines"
        );
    }

    #[test]
    fn every_documented_field_is_there_and_no_other() {
        let event: Value =
            serde_json::from_str(&look_at(Path::new(OsStr::from_bytes(b"/caf\xe9"))).json(false))
                .unwrap();
        let docs = include_str!("../../../docs/EVENTS.md");
        let table = docs.split("\n## Progress of plans\n").nth(1).unwrap();
        let table = table.split("\n## ").next().unwrap();
        let mut listed: Vec<_> = table
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
            .collect();
        let mut names: Vec<_> = event.as_object().unwrap().keys().collect();
        listed.sort_unstable();
        names.sort_unstable();
        assert_eq!(names, listed);
        assert_eq!(
            (&event["done"], &event["eta_ms"]),
            (&1_234.into(), &135_000.into())
        );
    }
}
