//! What a command did: its output, its exit code, and what tests say about
//! them. Whatever else a test looks at, no command may panic.

use std::process::Output;
use std::time::Duration;

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Run {
    /// What was typed, for messages.
    pub(crate) line: String,
    /// Standard output, exact.
    pub(crate) stdout: Vec<u8>,
    /// The exit code; `None` when a signal ended it.
    pub(crate) exit: Option<i32>,
    /// From start to end.
    pub(crate) elapsed: Duration,
    stderr: Vec<u8>,
}

impl Run {
    #[track_caller]
    pub(crate) fn new(line: String, output: Output, elapsed: Duration) -> Self {
        let run = Self {
            line,
            stdout: output.stdout,
            stderr: output.stderr,
            exit: output.status.code(),
            elapsed,
        };
        assert!(!run.err().contains("panicked at"), "{}", run.describe());
        run
    }

    /// Standard output as text.
    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// It must have ended with this code.
    #[track_caller]
    pub(crate) fn code(self, expected: i32) -> Self {
        assert_eq!(self.exit, Some(expected), "{}", self.describe());
        self
    }

    /// It must have ended well.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.code(0)
    }

    /// Standard output must contain this.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(
            self.out().contains(text),
            "no '{text}' in the output of {}",
            self.describe()
        );
        self
    }

    /// Standard output must not contain this.
    #[track_caller]
    pub(crate) fn keeps_quiet_about(self, text: &str) -> Self {
        assert!(
            !self.out().contains(text),
            "'{text}' in the output of {}",
            self.describe()
        );
        self
    }

    /// Standard error must contain this.
    #[track_caller]
    pub(crate) fn complains(self, text: &str) -> Self {
        assert!(
            self.err().contains(text),
            "no '{text}' in the errors of {}",
            self.describe()
        );
        self
    }

    /// Output or errors must contain this, whichever is the place for it.
    #[track_caller]
    pub(crate) fn mentions(self, text: &str) -> Self {
        let both = self.out() + &self.err();
        assert!(both.contains(text), "no '{text}' from {}", self.describe());
        self
    }

    /// Nothing on standard error.
    #[track_caller]
    pub(crate) fn without_complaint(self) -> Self {
        assert_eq!(self.err(), "", "{}", self.describe());
        self
    }

    /// Refused with this code and exactly one line, which is returned without
    /// the program's name.
    #[track_caller]
    pub(crate) fn refused(self, code: i32) -> String {
        let run = self.code(code);
        let errors = run.err();
        let line = errors.strip_suffix('\n').unwrap_or(&errors);
        assert!(
            !line.contains('\n'),
            "more than one line from {}",
            run.describe()
        );
        assert_eq!(
            run.out(),
            "",
            "output beside an error from {}",
            run.describe()
        );
        line.strip_prefix("dupescan: ")
            .unwrap_or_else(|| panic!("no one-line error from {}", run.describe()))
            .to_owned()
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.describe()))
    }

    /// Everything, for messages.
    pub(crate) fn describe(&self) -> String {
        format!(
            "`{}`: exit {:?} after {:?}\n--- stdout\n{}--- stderr\n{}",
            self.line,
            self.exit,
            self.elapsed,
            self.out(),
            self.err()
        )
    }
}
