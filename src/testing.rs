//! What the unit tests of several rooms share.

use proptest::test_runner::{Config, FileFailurePersistence};

/// The configuration of every property test: cases that failed once are kept
/// in `tests/regressions`, and not in a folder beside `src`.
pub(crate) fn proptest_config() -> Config {
    let regressions = FileFailurePersistence::SourceParallel("tests/regressions");
    Config {
        failure_persistence: Some(Box::new(regressions)),
        ..Config::default()
    }
}
