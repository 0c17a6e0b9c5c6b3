//! Progress on standard error while a scan runs: redrawn lines on a terminal, a
//! line or a JSON object every interval elsewhere. A separate thread reads the
//! metrics, so that no worker waits for a terminal.

mod act;
mod json;
mod lines;
mod plain;
mod rate;
mod screen;
mod view;

pub(crate) use act::{Doing, start_acting};

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::terminal::Repeating;
use crate::model::escape;
use crate::pool::Shutdown;
use crate::report::text::{counted, human_size, timestamp};
use crate::scan::{Metrics, Notice};
use crate::settings::{ProgressConfig, ProgressFormat};
use lines::lines;
use screen::Screen;
use view::Watch;

/// Time between two drawings.
const FRAME: Duration = Duration::from_millis(100);
/// Longest time that clearing the terminal may delay quitting.
const CLEARING: Duration = Duration::from_millis(200);

/// How progress is shown here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Bar,
    Plain,
    Json,
    Nothing,
}

impl Shown {
    /// Resolves the setting. What was asked for by name is shown with `-q` too;
    /// a bar needs a terminal and becomes lines elsewhere.
    pub(crate) fn here(config: ProgressConfig, quiet: bool) -> Self {
        let term = std::env::var_os("TERM").filter(|term| !term.is_empty() && term != "dumb");
        Self::of(
            config.format,
            quiet,
            io::stderr().is_terminal() && term.is_some(),
        )
    }

    fn of(format: ProgressFormat, quiet: bool, can_draw: bool) -> Self {
        match format {
            ProgressFormat::Auto if can_draw && !quiet => Self::Bar,
            ProgressFormat::Bar if can_draw => Self::Bar,
            ProgressFormat::Plain | ProgressFormat::Bar => Self::Plain,
            ProgressFormat::Json => Self::Json,
            ProgressFormat::Auto | ProgressFormat::None => Self::Nothing,
        }
    }

    /// Where bars are drawn.
    pub(crate) fn bars(self) -> MultiProgress {
        MultiProgress::with_draw_target(match self {
            Self::Bar => ProgressDrawTarget::term_like(Box::new(Screen::default())),
            _ => ProgressDrawTarget::hidden(),
        })
    }
}

/// How and where progress is shown.
#[derive(Debug, Clone)]
pub(crate) struct Display {
    pub(crate) shown: Shown,
    /// Where bars are drawn: standard error, or nowhere if progress is shown in
    /// another way. Log lines go around them.
    pub(crate) bars: MultiProgress,
    /// Whether standard error gets colour.
    pub(crate) color: bool,
    /// Time between two lines.
    pub(crate) interval: Duration,
    /// Whether `-q` was typed.
    pub(crate) quiet: bool,
}

/// Shows progress until the result is dropped, if it is shown at all.
pub(crate) fn start(
    display: &Display,
    metrics: &Arc<Metrics>,
    shutdown: &Shutdown,
) -> Option<Repeating> {
    let mut watch = Watch::new(Arc::clone(metrics), shutdown.clone());
    let mut interval = display.interval;
    let show: Box<dyn FnMut(bool) + Send> = match display.shown {
        Shown::Nothing => return None,
        Shown::Bar => {
            interval = FRAME;
            let mut bar = Bar::new(&display.bars, display.color);
            Box::new(move |end| match end {
                false => bar.draw(&watch.look()),
                true => bar.0.finish_and_clear(),
            })
        }
        Shown::Plain => Box::new(move |end| {
            if !end {
                print(&plain::line(&watch.look()));
            }
        }),
        Shown::Json => Box::new(move |end| print(&json::progress(&watch.look(), end))),
    };
    Repeating::start("dupescan-progress", interval, show).ok()
}

/// The lines on a terminal. The bar and the colour.
struct Bar(ProgressBar, bool);

impl Bar {
    fn new(display: &MultiProgress, color: bool) -> Self {
        let bar = display.add(ProgressBar::new_spinner());
        let style = ProgressStyle::with_template("{msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self(bar, color)
    }

    fn draw(&mut self, view: &view::View) {
        let lines = lines(view, screen::width().into(), self.1);
        self.0.set_message(lines.join("\n"));
    }
}

/// Shows a notice in the same format as progress.
pub(crate) fn notify(display: &Display, notice: &Notice) {
    let line = match (display.shown, notice) {
        (Shown::Json, notice) => json::notice(notice),
        _ if display.quiet => return,
        // It announces the progress, which is not shown.
        (Shown::Nothing, Notice::ToRead(..)) => return,
        (_, Notice::ToRead(files, bytes)) => {
            let files = counted(*files, "file", "files");
            format!("{files} to read: {}", human_size(*bytes))
        }
        (_, Notice::AuditResumed(started)) => {
            format!("resuming the audit of {}", timestamp(*started))
        }
        (_, other) => escape(&other.to_string()),
    };
    display.bars.suspend(|| print(&line));
}

/// Clears the lines before another thread ends the process. Waits only briefly,
/// since the terminal may be what hangs.
pub(crate) fn clear(display: &MultiProgress) {
    let display = display.clone();
    let (done, cleared) = channel();
    std::thread::spawn(move || {
        display.clear().ok();
        done.send(()).ok();
    });
    cleared.recv_timeout(CLEARING).ok();
}

fn print(line: &str) {
    // In one write, so that lines of other threads are not mixed in. A closed
    // standard error cannot be reported anywhere.
    io::stderr().write_all(format!("{line}\n").as_bytes()).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_shown_off_a_terminal_unless_asked_for() {
        use ProgressFormat::{Auto, Bar, Json, None, Plain};
        for (format, quiet, can_draw, shown) in [
            (Auto, false, true, Shown::Bar),
            (Auto, true, true, Shown::Nothing),
            (Auto, false, false, Shown::Nothing),
            (Bar, true, true, Shown::Bar),
            (Bar, false, false, Shown::Plain),
            (Plain, true, true, Shown::Plain),
            (Json, true, false, Shown::Json),
            (None, false, true, Shown::Nothing),
        ] {
            assert_eq!(Shown::of(format, quiet, can_draw), shown, "{format:?}");
        }
    }
}
