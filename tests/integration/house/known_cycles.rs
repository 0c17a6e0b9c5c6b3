//! The import cycles that are still there.

/// This list only shrinks: a cycle that is gone has to leave it, and no new one
/// may join. When the test fails, it prints the list as it should be.
#[rustfmt::skip] // One line a cycle, as the test prints them.
pub(crate) const KNOWN_CYCLES: &[&str] = &[];
