//! Exit codes, and the one place that turns an error into a line on standard
//! error and an exit code.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use super::output;
use crate::model::is_hazardous;
use crate::platform::Allocator;
use crate::settings::ConfigError;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator::new(out_of_memory);

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done,
    /// Completed with problems: unreadable paths, or a problem that `verify`
    /// found.
    Problems,
    /// Wrong usage or configuration.
    Usage,
    /// Failed: catalog unusable or locked, disk full, root offline, device
    /// failing.
    Failed,
    /// Interrupted, state saved.
    Interrupted,
}

impl Exit {
    /// The code that the process returns.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Problems => 1,
            Self::Usage => 2,
            Self::Failed => 3,
            Self::Interrupted => 130,
        }
    }

    /// The worse of two exits.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if other.code() > self.code() {
            other
        } else {
            self
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// A usage error that shows only while a command runs, for instance a path
/// that does not exist. Ends with [`Exit::Usage`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct UsageError(String);

/// An error that ends the program with [`Exit::Usage`] instead of
/// [`Exit::Failed`].
pub(crate) fn usage(sentence: impl fmt::Display) -> anyhow::Error {
    UsageError(sentence.to_string()).into()
}

/// Prints why a command failed, and returns the exit code. A closed pipe is
/// not a failure.
pub(crate) fn explain(error: &anyhow::Error) -> Exit {
    if output::reader_left() {
        return Exit::Done;
    }
    print_line(&sentence(error));
    exit_of(error)
}

fn exit_of(error: &anyhow::Error) -> Exit {
    if error.is::<UsageError>() || error.is::<ConfigError>() {
        Exit::Usage
    } else {
        Exit::Failed
    }
}

/// The chain of causes in one line. A cause that the error before it already
/// quotes is not repeated.
fn sentence(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |mut sentence, cause| {
        let cause = cause.to_string();
        if !sentence.ends_with(&cause) {
            if !sentence.is_empty() {
                sentence.push_str(": ");
            }
            sentence.push_str(&cause);
        }
        sentence
    })
}

/// Prints an error line on standard error.
pub(crate) fn print_line(sentence: &str) {
    // If standard error is closed too, the exit code has to do.
    writeln!(io::stderr(), "dupescan: {}", one_line(sentence)).unwrap_or_default();
}

/// Escapes control characters, so that names neither break the line nor reach
/// the terminal as commands.
fn one_line(sentence: &str) -> String {
    sentence.chars().fold(String::new(), |mut line, c| {
        if is_hazardous(c) {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
        line
    })
}

/// Ends the program with a message, without allocating and without taking any
/// lock. For the catalog it is like a kill: what was committed stays.
fn out_of_memory() -> ! {
    const SENTENCE: &[u8] = b"dupescan: out of memory; what was saved is kept, and `dupescan \
        resume` continues a scan (fewer --threads need less memory)\n";
    // If standard error is closed too, the exit code has to do.
    rustix::io::write(io::stderr(), SENTENCE).ok();
    signal_hook::low_level::exit(Exit::Failed.code().into())
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn codes_are_those_in_the_help() {
        let codes = [
            (Exit::Done, 0),
            (Exit::Problems, 1),
            (Exit::Usage, 2),
            (Exit::Failed, 3),
            (Exit::Interrupted, 130),
        ];
        for (exit, code) in codes {
            assert_eq!(exit.code(), code);
        }
    }

    #[test]
    fn usage_and_configuration_end_with_2_even_with_context() {
        let usage = || usage("no such path");
        assert_eq!(exit_of(&usage()), Exit::Usage);
        assert_eq!(exit_of(&usage().context("scan")), Exit::Usage);
        assert_eq!(exit_of(&ConfigError::NoDataDirectory.into()), Exit::Usage);
        assert_eq!(exit_of(&anyhow::anyhow!("disk full")), Exit::Failed);
    }

    #[test]
    fn the_chain_is_one_line_without_repeats() {
        let error = Err::<(), _>(io::Error::other("disk full"))
            .context("cannot write page 7: disk full")
            .context("catalog")
            .unwrap_err();
        assert_eq!(sentence(&error), "catalog: cannot write page 7: disk full");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(one_line("a\nb\u{1b}[2Jc é"), "a\\nb\\u{1b}[2Jc é");
    }
}
