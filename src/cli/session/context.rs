//! What every command gets: the configuration, and what is known about the
//! terminal.

use std::io::{self, IsTerminal};
use std::path::Path;

use anstream::{AutoStream, ColorChoice};

use crate::answers::PlaceError;
use crate::catalog::{CatalogError, Exclusive, ReadOnly};
use crate::cli::progress::{Display, Shown};
use crate::cli::terminal::exit;
use crate::platform::share_work_with_those_there_are;
use crate::report::Style;
use crate::scan::ScanError;
use crate::settings::{ColorWhen, Config, DefaultPaths};

/// Columns assumed if the terminal does not say.
const DEFAULT_WIDTH: u16 = 80;

/// The environment of one command.
#[derive(Debug)]
pub(crate) struct Context {
    /// The validated settings.
    pub(crate) config: Config,
    /// Whether `-q` was typed: only results and errors.
    pub(crate) quiet: bool,
    /// Whether standard output is a terminal, where names must be escaped.
    pub(crate) terminal: bool,
    /// Whether standard output gets colour.
    pub(crate) color: bool,
    /// How and where progress is shown.
    pub(crate) progress: Display,
}

impl Context {
    pub(crate) fn new(mut config: Config, quiet: bool) -> Self {
        // Whole, so that messages and temporary files name the right folder.
        if let Ok(absolute) = std::path::absolute(&config.db) {
            config.db = absolute;
        }
        let shown = Shown::here(config.progress, quiet);
        Self {
            quiet,
            terminal: io::stdout().is_terminal(),
            color: wants_color(config.color, AutoStream::choice(&io::stdout())),
            progress: Display {
                shown,
                bars: shown.bars(),
                color: wants_color(config.color, AutoStream::choice(&io::stderr())),
                interval: config.progress.interval,
                quiet,
            },
            config,
        }
    }

    /// A style for standard output: escaped, coloured and as wide as that is.
    pub(crate) fn on_stdout(&self, style: Style) -> Style {
        Style {
            terminal: self.terminal,
            width: self.width(),
            color: self.color,
            ..style
        }
    }

    /// The catalog, for reading.
    pub(crate) fn catalog(&self) -> Result<ReadOnly, CatalogError> {
        share_work_with_those_there_are();
        ReadOnly::open(&self.config.db)
    }

    /// The catalog, for `command` to change.
    pub(crate) fn exclusive(&self, command: &str) -> Result<Exclusive, CatalogError> {
        Exclusive::open(&self.config.db, command)
    }

    /// Completes the error that ended a command: one of the catalog names its
    /// path, and a path that was not found in it is a usage error.
    pub(crate) fn complete(&self, error: anyhow::Error) -> anyhow::Error {
        let named = |error: CatalogError| error.at(&self.config.db).into();
        let error = match error.downcast::<CatalogError>() {
            Ok(error) => return named(error),
            Err(other) => other,
        };
        let error = match error.downcast::<ScanError>() {
            Ok(ScanError::Catalog(error)) => return named(error),
            Ok(other) => return other.into(),
            Err(other) => other,
        };
        match error.downcast::<PlaceError>() {
            Ok(PlaceError::Catalog(error)) => named(error),
            Ok(PlaceError::NotScanned(path)) => {
                let scan = self.command(&format!("scan {}", shell_word(&path)));
                let error = PlaceError::NotScanned(path);
                exit::usage(format_args!("{error}: scan it with `{scan}`"))
            }
            Ok(other) => exit::usage(other),
            Err(other) => other,
        }
    }

    /// Prints a note beside the results, unless `-q` was typed.
    pub(crate) fn note(&self, sentence: &str) {
        if !self.quiet {
            exit::print_line(sentence);
        }
    }

    /// Columns of the terminal that standard output is; `None` elsewhere.
    pub(crate) fn width(&self) -> Option<u16> {
        self.terminal
            .then(|| console_width().unwrap_or(DEFAULT_WIDTH))
    }

    /// A command line that the user can type to do `command` on this catalog.
    pub(crate) fn command(&self, command: &str) -> String {
        let db = &self.config.db;
        // Where the environment names a catalog, it does so next time, too.
        let usual = match std::env::var_os("DUPESCAN_DB").filter(|path| !path.is_empty()) {
            Some(path) => std::path::absolute(path).ok(),
            None => DefaultPaths::of_platform().db,
        };
        if usual.as_ref() == Some(db) {
            format!("dupescan {command}")
        } else {
            format!("dupescan --db {} {command}", shell_word(db))
        }
    }
}

/// Quotes a path for a shell, only where it is needed.
pub(crate) fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

fn console_width() -> Option<u16> {
    rustix::termios::tcgetwinsize(io::stdout())
        .ok()
        .map(|size| size.ws_col)
        .filter(|columns| *columns > 0)
}

/// Whether a stream gets colour, given what its surroundings (a terminal or
/// not, `NO_COLOR`, `TERM`) speak for.
pub(crate) fn wants_color(when: ColorWhen, surroundings: ColorChoice) -> bool {
    match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => surroundings != ColorChoice::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_need_it_are_quoted() {
        assert_eq!(shell_word(Path::new("/a/b-c.db")), "/a/b-c.db");
        assert_eq!(shell_word(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }

    #[test]
    fn only_auto_asks_the_surroundings() {
        for surroundings in [ColorChoice::Always, ColorChoice::Never] {
            assert!(wants_color(ColorWhen::Always, surroundings));
            assert!(!wants_color(ColorWhen::Never, surroundings));
        }
        assert!(wants_color(ColorWhen::Auto, ColorChoice::Always));
        assert!(!wants_color(ColorWhen::Auto, ColorChoice::Never));
    }
}
