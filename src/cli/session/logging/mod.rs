//! Sets up the log: text or JSON lines, to standard error (around progress
//! bars) or appended to a file; plain sentences on a terminal.

mod sentences;

use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Mutex;

use indicatif::MultiProgress;
use sentences::Sentences;
use tracing::{Level, Subscriber};
use tracing_subscriber::fmt::MakeWriter;

use super::context::Context;
use crate::catalog::belongs_to;
use crate::cli::terminal::exit;
use crate::settings::{LogConfig, LogFormat};

/// Starts the log as configured. A second start in one process changes
/// nothing.
pub(crate) fn start(context: &Context) -> anyhow::Result<()> {
    let log = &context.config.log;
    // Fails only if a log was started before; that one stays in use.
    match &log.file {
        Some(path) => {
            if belongs_to(&context.config.db, path) {
                return Err(exit::usage(format_args!(
                    "the log file {} belongs to the catalog: choose another file",
                    path.display()
                )));
            }
            let file = open(path)?;
            let surroundings = Surroundings::default();
            tracing::subscriber::set_global_default(subscriber(log, surroundings, Mutex::new(file)))
        }
        None => {
            let surroundings = Surroundings {
                terminal: io::stderr().is_terminal(),
                color: context.progress.color,
            };
            let progress = context.progress.bars.clone();
            let writer = move || AroundProgress(progress.clone());
            tracing::subscriber::set_global_default(subscriber(log, surroundings, writer))
        }
    }
    .unwrap_or_default();
    Ok(())
}

/// What the log is written to.
#[derive(Clone, Copy, Default)]
struct Surroundings {
    terminal: bool,
    color: bool,
}

fn subscriber<W>(
    log: &LogConfig,
    surroundings: Surroundings,
    writer: W,
) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let Surroundings { terminal, color } = surroundings;
    let builder = tracing_subscriber::fmt()
        .with_max_level(log.level)
        .with_ansi(color)
        // It would report a log that cannot be written with eprintln!, which
        // panics when standard error is what is closed.
        .log_internal_errors(false)
        .with_writer(writer);
    let is_for_people = log.file.is_none() && log.level <= Level::INFO;
    match log.format {
        LogFormat::Text if is_for_people && terminal => {
            Box::new(builder.event_format(Sentences { color }).finish())
        }
        LogFormat::Text if is_for_people => {
            Box::new(builder.without_time().with_target(false).finish())
        }
        LogFormat::Text => Box::new(builder.finish()),
        LogFormat::Json => Box::new(
            builder
                .json()
                .flatten_event(true)
                .with_current_span(false)
                .with_span_list(false)
                .finish(),
        ),
    }
}

/// Opens a log file for appending. A new one is private to its owner, since it
/// will contain file names. A pipe is refused: nobody may be reading it.
fn open(path: &Path) -> anyhow::Result<File> {
    let refused = |problem: &dyn Display| {
        exit::usage(format_args!(
            "cannot write the log file {}: {problem}",
            path.display()
        ))
    };
    if fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
        return Err(refused(&"it is a pipe, not a regular file"));
    }
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| refused(&error))
}

/// Standard error with the progress bars out of the way.
struct AroundProgress(MultiProgress);

impl Write for AroundProgress {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.suspend(|| io::stderr().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    use super::*;

    fn logged(level: Level, format: LogFormat, color: bool) -> String {
        let surroundings = Surroundings {
            terminal: false,
            color,
        };
        written(level, format, surroundings, || {
            tracing::error!(path = "/a", "broken");
            tracing::warn!("odd");
            tracing::info!("news");
        })
    }

    fn written(
        level: Level,
        format: LogFormat,
        surroundings: Surroundings,
        log_something: impl FnOnce(),
    ) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = LogConfig {
            level,
            format,
            file: None,
        };
        let file = Arc::new(open(&path).unwrap());
        tracing::subscriber::with_default(subscriber(&log, surroundings, file), log_something);
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn the_level_decides_which_lines_there_are() {
        let lines = |level| logged(level, LogFormat::Text, false).lines().count();
        assert_eq!(lines(Level::ERROR), 1);
        assert_eq!(lines(Level::WARN), 2);
        assert_eq!(lines(Level::TRACE), 3);
    }

    #[test]
    fn people_at_a_terminal_read_sentences() {
        let log = |format, terminal, color| {
            written(
                Level::INFO,
                format,
                Surroundings { terminal, color },
                || {
                    tracing::warn!(
                        event = "item.failed",
                        path = r"/a\nb",
                        path_b64 = "L2EKYg==",
                        step = "open",
                        errno = 13,
                        fault = "Permission denied",
                        "cannot read"
                    );
                    tracing::warn!(
                        event = "item.stall",
                        path = "/a",
                        seconds = 30,
                        "no progress"
                    );
                    tracing::error!(bytes = 7, nothing = None::<u64>, "odd\x1b[2J");
                    tracing::info!(event = "shutdown.done", "stopped");
                },
            )
        };
        insta::assert_snapshot!(log(LogFormat::Text, true, false), @r"
        warning: cannot read /a\nb: Permission denied
        warning: no progress for 30 s on /a
        error: odd\x1b[2J (bytes 7)
        note: stopped
        ");
        let colored = log(LogFormat::Text, true, true);
        assert!(
            colored.starts_with("\x1b[1m\x1b[33mwarning:\x1b[0m cannot"),
            "{colored}"
        );
        let piped = log(LogFormat::Text, false, false);
        assert!(piped.contains(r#"event="item.failed""#), "{piped}");
        let json = log(LogFormat::Json, true, true);
        assert!(json.contains(r#""event":"item.failed""#), "{json}");
    }

    #[test]
    fn json_is_an_object_a_line() {
        let log = logged(Level::ERROR, LogFormat::Json, false);
        let line: serde_json::Value = serde_json::from_str(&log).unwrap();
        assert_eq!(line["level"], "ERROR");
        assert_eq!(line["message"], "broken");
        assert_eq!(line["path"], "/a");
    }

    #[test]
    fn colour_is_there_only_when_wanted() {
        assert!(logged(Level::ERROR, LogFormat::Text, true).contains('\u{1b}'));
        assert!(!logged(Level::ERROR, LogFormat::Text, false).contains('\u{1b}'));
    }

    #[test]
    fn a_log_file_is_private_and_appended_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        open(&path).unwrap().write_all(b"one\n").unwrap();
        open(&path).unwrap().write_all(b"two\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_log_file_that_cannot_be_opened_is_named() {
        let error = open(Path::new("/nowhere/at/all.log")).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("cannot write the log file /nowhere/at/all.log: "));
    }
}
