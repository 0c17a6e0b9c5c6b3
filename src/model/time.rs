//! Moments by the wall clock. Order never comes from them: clocks go
//! backwards.

use std::time::{SystemTime, UNIX_EPOCH};

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
