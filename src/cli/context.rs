//! What every command gets: the configuration and what is known about the
//! terminal.

use std::io::{self, IsTerminal};

use anstream::{AutoStream, ColorChoice};
use indicatif::{MultiProgress, ProgressDrawTarget};

use super::exit;
use crate::catalog::{CatalogError, Exclusive, ReadOnly};
use crate::config::{ColorWhen, Config};

/// The surroundings of one command.
#[derive(Debug)]
#[allow(dead_code, reason = "most commands are not built yet")]
pub(crate) struct Context {
    /// The validated settings.
    pub(crate) config: Config,
    /// Whether `-q` was typed: nothing but results and errors.
    pub(crate) quiet: bool,
    /// Whether standard output is a terminal, where names must be escaped.
    pub(crate) terminal: bool,
    /// Whether standard output gets colour.
    pub(crate) color: bool,
    /// Columns of the terminal on standard output; `None` when it is none.
    pub(crate) width: Option<u16>,
    /// Where progress bars are drawn: standard error, and nowhere when that is
    /// no terminal or `-q` was typed. Log lines go around them.
    pub(crate) progress: MultiProgress,
}

impl Context {
    /// The catalog, for reading.
    pub(super) fn catalog(&self) -> Result<ReadOnly, CatalogError> {
        ReadOnly::open(&self.config.db)
    }

    /// The catalog, for `command` to change.
    pub(super) fn exclusive(&self, command: &str) -> Result<Exclusive, CatalogError> {
        Exclusive::open(&self.config.db, command)
    }

    /// Puts the catalog's path in front of an error that does not name it.
    pub(super) fn at_catalog(&self, error: CatalogError) -> CatalogError {
        error.at(&self.config.db)
    }

    /// Tells the user something beside the results, unless `-q` was typed.
    pub(super) fn note(&self, sentence: &str) {
        if !self.quiet {
            exit::print_line(sentence);
        }
    }

    pub(super) fn new(config: Config, quiet: bool) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        Self {
            quiet,
            terminal: io::stdout().is_terminal(),
            color: wants_color(config.color, AutoStream::choice(&io::stdout())),
            width: terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0),
            progress: MultiProgress::with_draw_target(target),
            config,
        }
    }
}

/// Whether a stream gets colour, given what its surroundings (a terminal or
/// not, `NO_COLOR`, `TERM`) speak for.
pub(super) fn wants_color(when: ColorWhen, surroundings: ColorChoice) -> bool {
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
    fn only_auto_asks_the_surroundings() {
        for surroundings in [ColorChoice::Always, ColorChoice::Never] {
            assert!(wants_color(ColorWhen::Always, surroundings));
            assert!(!wants_color(ColorWhen::Never, surroundings));
        }
        assert!(wants_color(ColorWhen::Auto, ColorChoice::Always));
        assert!(!wants_color(ColorWhen::Auto, ColorChoice::Never));
    }
}
