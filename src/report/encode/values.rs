//! How the machine-readable formats write exact paths and times.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::model::Timestamp;

/// The exact bytes of a path in base64 (RFC 4648, padded).
pub(crate) fn base64(path: &Path) -> String {
    STANDARD.encode(path.as_os_str().as_bytes())
}

/// The path that [`base64()`] made this text of.
pub(crate) fn from_base64(text: &str) -> Option<PathBuf> {
    let bytes = STANDARD.decode(text).ok()?;
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

/// A moment in RFC 3339, UTC, to the second.
pub(crate) fn rfc3339(moment: Timestamp) -> String {
    instant(moment).to_string()
}

/// A file time in RFC 3339, UTC, always with nine digits of a second.
pub(crate) fn rfc3339_nanos(ns: i64) -> String {
    let instant = jiff::Timestamp::from_nanosecond(i128::from(ns))
        .expect("64-bit nanoseconds span 1677 to 2262, well inside jiff's range");
    format!("{instant:.9}")
}

/// The file time that [`rfc3339_nanos`] made this text of.
pub(crate) fn from_rfc3339(text: &str) -> Option<i64> {
    let instant: jiff::Timestamp = text.parse().ok()?;
    i64::try_from(instant.as_nanosecond()).ok()
}

/// The moment as jiff knows it; a clock beyond the year 9999 stops there.
pub(crate) fn instant(moment: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_second(moment.0).unwrap_or(if moment.0 < 0 {
        jiff::Timestamp::MIN
    } else {
        jiff::Timestamp::MAX
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_and_complete() {
        assert_eq!(rfc3339(Timestamp(0)), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339_nanos(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(rfc3339_nanos(-1), "1969-12-31T23:59:59.999999999Z");
    }

    #[test]
    fn the_strangest_clocks_do_not_panic() {
        for extreme in [i64::MIN, i64::MAX] {
            assert!(rfc3339(Timestamp(extreme)).contains('T'));
            assert!(rfc3339_nanos(extreme).ends_with('Z'));
            assert_eq!(from_rfc3339(&rfc3339_nanos(extreme)), Some(extreme));
        }
    }
}
