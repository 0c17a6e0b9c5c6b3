//! What tests of this layer share.

use std::io::Write;

/// Says that this machine does not permit a test, in a line that shows even
/// though the test passes: the harness would swallow `eprintln!`.
pub(crate) fn skipped(why: &str) {
    writeln!(std::io::stderr(), "SKIPPED: {why}").ok();
}
