//! Moments by the wall clock. Order never comes from them: clocks go
//! backwards.

#[cfg(debug_assertions)]
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment in whole seconds since 1970, as the catalog stores it. Used for
/// display only: order comes from scan numbers, since clocks go backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The present moment by the wall clock.
    pub fn now() -> Self {
        Self(now_ns() / 1_000_000_000)
    }
}

/// The wall clock in signed nanoseconds since 1970, comparable with file times.
pub fn now_ns() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

/// A file or folder changed less than this before it was read may change again
/// without its times moving: some filesystems keep them in steps of two
/// seconds.
pub const TOO_YOUNG: Duration = Duration::from_secs(3);

/// Whether something changed too short a time before `began_ns` for its times
/// to tell a later change.
pub fn is_too_young(changed_ns: i64, began_ns: i64) -> bool {
    is_within(too_young(), changed_ns, began_ns)
}

/// Whether something changed less than `span` before `now_ns`, or after it.
pub fn is_within(span: Duration, changed_ns: i64, now_ns: i64) -> bool {
    let span = i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    changed_ns > now_ns.saturating_sub(span)
}

#[cfg(not(debug_assertions))]
fn too_young() -> Duration {
    TOO_YOUNG
}

/// In debug builds only, `DUPESCAN_TEST_TOO_YOUNG_MS` replaces [`TOO_YOUNG`], so
/// that tests need not wait for it. It must stay well above the steps in which
/// the filesystem keeps times (4 ms on Linux, 10 ms at the slowest tick).
/// Release builds do not contain this function.
#[cfg(debug_assertions)]
fn too_young() -> Duration {
    static SPAN: LazyLock<Duration> = LazyLock::new(|| {
        let value = std::env::var("DUPESCAN_TEST_TOO_YOUNG_MS").ok();
        let millis = value.and_then(|text| text.parse().ok());
        millis.map_or(TOO_YOUNG, Duration::from_millis)
    });
    *SPAN
}
