//! Parses the values that people type: sizes, rates, durations, dates, numbers,
//! globs. Pure; every error says what is allowed, and the caller adds the value
//! and its source.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::model::Timestamp;

const NANOS: u128 = 1_000_000_000;

const DURATION_UNITS: [(&str, u128); 7] = [
    ("", NANOS),
    ("ms", 1_000_000),
    ("s", NANOS),
    ("m", 60 * NANOS),
    ("min", 60 * NANOS),
    ("h", 3_600 * NANOS),
    ("d", 86_400 * NANOS),
];

/// The largest size the catalog can hold: SQLite's integers are signed.
const MAX_SIZE: u64 = i64::MAX.unsigned_abs();

/// A number of bytes: `512`, `1k`, `10M`, `1.5G`, `2GiB`, `500MB`.
///
/// A single letter and `…iB` count in 1024s, `kB`, `MB`, `GB`, … in 1000s;
/// upper and lower case mean the same. Fractions of a byte are dropped.
pub fn size(text: &str) -> Result<u64, String> {
    bytes(text).ok_or_else(|| {
        "expected a size such as 512, 1k, 10M, 1.5G or 2GiB (powers of 1024) or 500MB (of 1000), \
         less than 8 EiB"
            .to_owned()
    })
}

/// Bytes per second: a size, with or without `/s`; 0 means no limit.
pub fn rate(text: &str) -> Result<Option<u64>, String> {
    bytes(text.strip_suffix("/s").unwrap_or(text))
        .map(|rate| (rate > 0).then_some(rate))
        .ok_or_else(|| {
            "expected bytes per second such as 500k, 50M or 50M/s, or 0 for no limit".to_owned()
        })
}

/// A duration inside `range`: `250ms`, `5s`, `2m`, `1h`, `1d`; a plain number
/// is seconds.
pub fn duration(range: RangeInclusive<Duration>) -> impl Fn(&str) -> Result<Duration, String> {
    move |text| {
        span(text)
            .filter(|span| range.contains(span))
            .ok_or_else(|| {
                format!(
                    "expected a duration from {} to {}, such as 250ms, 5s, 2m or 1h",
                    brief(*range.start()),
                    brief(*range.end())
                )
            })
    }
}

/// A whole number inside `range`.
pub fn whole<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Clone,
{
    move |text| {
        text.parse()
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (least, most) = (range.start(), range.end().to_string());
                match [u64::MAX, i64::MAX.unsigned_abs(), u32::MAX.into()]
                    .iter()
                    .any(|end| most == end.to_string())
                {
                    true => format!("expected a whole number, {least} or more"),
                    false => format!("expected a whole number from {least} to {most}"),
                }
            })
    }
}

/// `true` or `false`.
pub fn boolean(text: &str) -> Result<bool, String> {
    text.parse()
        .map_err(|_| "expected true or false".to_owned())
}

/// A glob that compiles, returned as it was typed.
pub fn glob(text: &str) -> Result<String, String> {
    match globset::Glob::new(text) {
        Ok(glob) => Ok(glob.glob().to_owned()),
        Err(error) => Err(format!(
            "expected a glob such as '*.iso' or 'cache/**', but {}",
            error.kind()
        )),
    }
}

/// One of `choices` by its name.
pub fn choice<T: Copy>(choices: &[(&'static str, T)]) -> impl Fn(&str) -> Result<T, String> {
    move |text| {
        choices
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, choice)| *choice)
            .ok_or_else(|| {
                let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
                format!("expected {}", alternatives(&names))
            })
    }
}

/// A moment: a day (its start in local time), an RFC 3339 time, or an age
/// (`30d`, `12h`).
pub fn moment(text: &str) -> Result<Timestamp, String> {
    moment_at(text, jiff::Timestamp::now(), TimeZone::system())
}

fn moment_at(text: &str, now: jiff::Timestamp, zone: TimeZone) -> Result<Timestamp, String> {
    day(text, zone)
        .or_else(|| text.parse().ok())
        .or_else(|| ago(text, now))
        .map(|moment| Timestamp(moment.as_second()))
        .ok_or_else(|| {
            "expected a day (2026-01-31), a time (2026-01-31T12:00:00Z) or an age (30d, 12h)"
                .to_owned()
        })
}

fn day(text: &str, zone: TimeZone) -> Option<jiff::Timestamp> {
    // jiff would also take the day from a longer text with a time in it.
    if text.len() != "2026-01-31".len() {
        return None;
    }
    let date: jiff::civil::Date = text.parse().ok()?;
    Some(date.to_zoned(zone).ok()?.timestamp())
}

fn ago(text: &str, now: jiff::Timestamp) -> Option<jiff::Timestamp> {
    // A bare number would more likely be a mistyped year than seconds.
    if text.ends_with(|last: char| last.is_ascii_digit()) {
        return None;
    }
    now.checked_sub(span(text)?).ok()
}

/// Joins names as a sentence does: `a, b or c`.
pub fn alternatives<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = split_unit(text);
    let unit = unit.to_ascii_lowercase();
    let (prefix, base) = match unit.strip_suffix("ib") {
        Some(prefix) if !prefix.is_empty() => (prefix, 1024),
        _ => match unit.strip_suffix('b') {
            Some(prefix) => (prefix, 1000),
            None => (unit.as_str(), 1024),
        },
    };
    let power = ["", "k", "m", "g", "t", "p", "e"]
        .iter()
        .position(|known| *known == prefix)?;
    let scale = u128::pow(base, u32::try_from(power).ok()?);
    let bytes = u64::try_from(scaled(number, scale)?).ok()?;
    (bytes <= MAX_SIZE).then_some(bytes)
}

fn span(text: &str) -> Option<Duration> {
    let (number, unit) = split_unit(text);
    let (_, scale) = DURATION_UNITS.iter().find(|(known, _)| *known == unit)?;
    let nanos = u64::try_from(scaled(number, *scale)?).ok()?;
    Some(Duration::from_nanos(nanos))
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// `number × scale` without the rounding of floats: `1.1G` is exact to the
/// byte it names.
fn scaled(number: &str, scale: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if fraction.len() > 9 {
        return None;
    }
    let tenths = u128::pow(10, u32::try_from(fraction.len()).ok()?);
    let whole: u128 = whole.parse().ok()?;
    let fraction: u128 = fraction.parse().ok()?;
    whole
        .checked_mul(tenths)?
        .checked_add(fraction)?
        .checked_mul(scale)
        .map(|product| product / tenths)
}

/// A duration in its largest whole unit, as `duration` reads it.
fn brief(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    ["d", "h", "m", "s"]
        .iter()
        .filter_map(|unit| DURATION_UNITS.iter().find(|(known, _)| known == unit))
        .find(|(_, scale)| nanos.is_multiple_of(*scale) && nanos > 0)
        .map_or_else(
            || format!("{}ms", duration.as_millis()),
            |(unit, scale)| format!("{}{unit}", nanos / scale),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_rule_of_1024_and_1000() {
        let cases = [
            ("0", 0),
            ("512", 512),
            ("512B", 512),
            ("1k", 1024),
            ("1K", 1024),
            ("1kB", 1000),
            ("1KB", 1000),
            ("1KiB", 1024),
            ("10M", 10 << 20),
            ("10MB", 10_000_000),
            ("2GiB", 2 << 30),
            ("2 GiB", 2 << 30),
            ("1.5G", 3 << 29),
            ("0.1k", 102),
            ("1T", 1 << 40),
            ("1P", 1 << 50),
            ("7E", 7 << 60),
        ];
        for (text, expected) in cases {
            assert_eq!(size(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn bad_sizes_are_refused_with_examples() {
        let bad = [
            "", "k", "-1", "1x", "1kk", "iB", "1iB", "1..5", ".5k", "1.", "8E", "1e3", "1 0", "१k",
        ];
        for text in bad {
            let allowed = size(text).expect_err(text);
            assert!(allowed.starts_with("expected a size such as"), "{allowed}");
        }
    }

    #[test]
    fn a_rate_may_say_per_second_and_zero_lifts_the_limit() {
        assert_eq!(rate("50M"), Ok(Some(50 << 20)));
        assert_eq!(rate("50M/s"), Ok(Some(50 << 20)));
        assert_eq!(rate("50MB/s"), Ok(Some(50_000_000)));
        assert_eq!(rate("0"), Ok(None));
        assert!(rate("fast").unwrap_err().contains("50M/s"));
        assert!(rate("50M/h").is_err());
    }

    #[test]
    fn durations_have_units_and_default_to_seconds() {
        let parse = duration(Duration::ZERO..=Duration::from_secs(86_400));
        let cases = [
            ("0", 0),
            ("250ms", 250),
            ("5s", 5_000),
            ("5", 5_000),
            ("1.5s", 1_500),
            ("2m", 120_000),
            ("2min", 120_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000),
        ];
        for (text, millis) in cases {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in [
            "",
            "s",
            "-5s",
            "5 parsecs",
            "2d",
            "5S",
            "99999999999999999999h",
        ] {
            let allowed = parse(text).expect_err(text);
            assert_eq!(
                allowed, "expected a duration from 0ms to 1d, such as 250ms, 5s, 2m or 1h",
                "{text}"
            );
        }
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let workers = whole(1_usize..=256);
        assert_eq!(workers("1"), Ok(1));
        assert_eq!(workers("256"), Ok(256));
        for text in [
            "0",
            "257",
            "-1",
            "1.5",
            "",
            "many",
            "99999999999999999999999",
        ] {
            let allowed = workers(text).expect_err(text);
            assert_eq!(allowed, "expected a whole number from 1 to 256");
        }
    }

    #[test]
    fn choices_list_their_names() {
        let parse = choice(&[("one", 1), ("two", 2), ("three", 3)]);
        assert_eq!(parse("two"), Ok(2));
        assert_eq!(parse("four"), Err("expected one, two or three".to_owned()));
    }

    #[test]
    fn globs_must_compile() {
        assert_eq!(glob("*.{iso,img}"), Ok("*.{iso,img}".to_owned()));
        let allowed = glob("a[").unwrap_err();
        assert!(allowed.starts_with("expected a glob"), "{allowed}");
    }

    #[test]
    fn moments_are_days_times_or_ages() {
        let now: jiff::Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
        let parse = |text: &str| moment_at(text, now, TimeZone::UTC).map(|moment| moment.0);
        let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_second();
        assert_eq!(parse("2026-01-31"), Ok(at("2026-01-31T00:00:00Z")));
        assert_eq!(
            parse("2026-01-31T12:00:00+02:00"),
            Ok(at("2026-01-31T10:00:00Z"))
        );
        assert_eq!(parse("30d"), Ok(at("2026-01-30T00:00:00Z")));
        assert_eq!(parse("12h"), Ok(at("2026-02-28T12:00:00Z")));
        for text in [
            "",
            "2026",
            "2026-02-30",
            "yesterday",
            "31.01.2026",
            "d",
            "99999999d",
        ] {
            let allowed = parse(text).expect_err(text);
            assert!(allowed.contains("2026-01-31"), "{allowed}");
        }
    }

    #[test]
    fn a_day_begins_where_the_user_is() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let start = moment_at("2026-01-31", jiff::Timestamp::UNIX_EPOCH, zone).unwrap();
        let expected: jiff::Timestamp = "2026-01-30T22:00:00Z".parse().unwrap();
        assert_eq!(start.0, expected.as_second());
    }
}
