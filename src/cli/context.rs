//! What every command gets: the configuration and what is known about the
//! terminal.

use std::io::{self, IsTerminal};

use anstream::{AutoStream, ColorChoice};
use indicatif::{MultiProgress, ProgressDrawTarget};

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
    /// Where progress bars are drawn: standard error, and nowhere when that is
    /// no terminal or `-q` was typed. Log lines go around them.
    pub(crate) progress: MultiProgress,
}

impl Context {
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
