//! Numbers, times and names as people read them, for the table and for the
//! commands that print their own lines. Formats for programs write theirs in
//! `encode`.

use std::time::Duration;

use jiff::tz::TimeZone;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::encode::instant;
use super::style::Header;
use crate::model::{Algorithm, Group, NotCompared, Reclaimable, SizeLimits, Timestamp, Totals};

const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// A range of bytes, as one size where it is certain.
pub fn range(bytes: Reclaimable, is_exact: bool) -> String {
    let words = |bytes| size(bytes, is_exact);
    match (bytes.at_least, bytes.at_most) {
        (least, most) if least == most => words(most),
        (0, most) => format!("at most {}", words(most)),
        (least, most) => format!("{} to {}", words(least), words(most)),
    }
}

/// A size in binary units with one decimal: `999 B`, `1.0 KiB`, `23.4 MiB`.
pub fn human_size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut unit = 0;
    let mut tenths = tenths_of(bytes, unit);
    // 1023.96 KiB would round to 1024.0 KiB, which is 1.0 MiB.
    while tenths >= 10 * 1024 {
        unit += 1;
        tenths = tenths_of(bytes, unit);
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// A size as the user wants it: rounded, or `1,234,567 B`.
pub fn size(bytes: u64, is_exact: bool) -> String {
    if is_exact {
        format!("{} B", grouped(bytes))
    } else {
        human_size(bytes)
    }
}

/// The space that duplicates waste: `59.0 MiB reclaimable`.
pub fn reclaimable(bytes: u64, is_exact: bool) -> String {
    format!("{} reclaimable", size(bytes, is_exact))
}

/// What duplicates add up to: `3 duplicate groups, 8 copies, 59.0 MiB
/// reclaimable`.
pub fn group_totals(totals: &Totals, is_exact: bool) -> String {
    format!(
        "{}, {}, {}",
        counted(totals.groups, "duplicate group", "duplicate groups"),
        counted(totals.copies, "copy", "copies"),
        reclaimable(totals.reclaimable, is_exact)
    )
}

/// Files that may or may not be duplicates: `2 files unchecked (could be
/// duplicates; not fully read yet)`.
pub fn unchecked(files: u64) -> String {
    let meaning = unchecked_meaning(files);
    format!("{} unchecked ({meaning})", counted(files, "file", "files"))
}

/// Why files are not compared: `not compared (smaller than 1 MiB)`.
pub fn not_compared(limits: Option<SizeLimits>) -> String {
    let Some(SizeLimits { min, max }) = limits else {
        return "not compared (see the size limits in `dupescan status`)".to_owned();
    };
    let smaller = min.map(|min| format!("smaller than {}", short_size(min)));
    let larger = max.map(|max| format!("larger than {}", short_size(max)));
    let why: Vec<String> = smaller.into_iter().chain(larger).collect();
    format!("not compared ({})", why.join(" or "))
}

/// The same with the number of files.
pub fn files_not_compared(found: &NotCompared) -> String {
    let files = counted(found.files, "file", "files");
    format!("{files} {}", not_compared(found.limits))
}

/// A size as it is typed, exactly: `1 MiB`, `1,500 B`.
fn short_size(bytes: u64) -> String {
    let units = UNITS.iter().enumerate().rev();
    let mut exact = units.filter_map(|(power, unit)| {
        let each = 1_u64 << (10 * (power + 1));
        (bytes > 0 && bytes.is_multiple_of(each)).then(|| format!("{} {unit}", bytes / each))
    });
    exact.next().unwrap_or_else(|| size(bytes, true))
}

/// What "unchecked" means for this many files or folders.
pub fn unchecked_meaning(number: u64) -> &'static str {
    match number {
        1 => "could be a duplicate; not fully read yet",
        _ => "could be duplicates; not fully read yet",
    }
}

/// How the copies of a group were found to be equal: `byte-for-byte`, `same
/// SHA-256` or `same sparse SHA-256`.
pub fn comparison(group: &Group) -> String {
    let algorithm = match group.algorithm {
        _ if group.byte_for_byte => return BYTE_FOR_BYTE.to_owned(),
        Algorithm::Sha256 => "SHA-256",
        Algorithm::Sha512 => "SHA-512",
        Algorithm::Sha3_256 => "SHA3-256",
        Algorithm::Blake3 => "BLAKE3",
    };
    match group.digest.is_sparse() {
        true => format!("same sparse {algorithm}"),
        false => format!("same {algorithm}"),
    }
}

/// The same as one word for programs: `byte-for-byte`, `sha256` or `sparse-sha256`.
pub(crate) fn comparison_word(group: &Group) -> &'static str {
    match group.byte_for_byte {
        true => BYTE_FOR_BYTE,
        false => group.algorithm.name_of(&group.digest),
    }
}

const BYTE_FOR_BYTE: &str = "byte-for-byte";

/// `bytes` in tenths of a unit, rounded to the nearest.
fn tenths_of(bytes: u64, unit: usize) -> u128 {
    let unit_bytes = 1_u128 << (10 * (unit + 1));
    (u128::from(bytes) * 10 + unit_bytes / 2) / unit_bytes
}

/// A number with thousands separators: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and its noun: `1 copy`, `1,234 copies`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{} {noun}", grouped(number))
}

/// A moment in local time: `2026-11-16 09:30`.
pub fn timestamp(moment: Timestamp) -> String {
    timestamp_in(moment, &TimeZone::system())
}

/// A moment in the time of `zone`.
pub(crate) fn timestamp_in(moment: Timestamp, zone: &TimeZone) -> String {
    instant(moment)
        .to_zoned(zone.clone())
        .strftime("%Y-%m-%d %H:%M")
        .to_string()
}

/// A span of time in its two largest units: `340 ms`, `12.3 s`, `3 min 05 s`,
/// `2 h 03 min`, `3 d 04 h`.
pub fn duration(span: Duration) -> String {
    let ms = span.as_millis();
    let tenths = (ms + 50) / 100;
    let seconds = (ms + 500) / 1000;
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    if ms < 1000 {
        format!("{ms} ms")
    } else if tenths < 600 {
        format!("{}.{} s", tenths / 10, tenths % 10)
    } else if minutes < 60 {
        format!("{minutes} min {:02} s", seconds % 60)
    } else if hours < 24 {
        format!("{hours} h {:02} min", minutes % 60)
    } else {
        format!("{} d {:02} h", hours / 24, hours % 24)
    }
}

/// Which scan a report reflects, in one line without a newline. The table ends
/// with it; for formats that have no place for it, it belongs on stderr.
pub fn as_of(header: &Header) -> String {
    as_of_in(header, &TimeZone::system())
}

/// [`as_of`] in the time of `zone`.
pub(crate) fn as_of_in(header: &Header, zone: &TimeZone) -> String {
    let Some(as_of) = header.as_of else {
        return "nothing has been scanned yet: start with dupescan scan PATH".to_owned();
    };
    let finished = match as_of.finished {
        Some(moment) => timestamp_in(moment, zone),
        None => "not finished".to_owned(),
    };
    let mut line = format!("as of scan {}, {finished}", as_of.scan);
    if let Some(found) = &header.not_compared {
        line += &format!("; {}", files_not_compared(found));
    }
    if header.unfinished == 0 {
        return line;
    }
    let scans = counted(
        header.unfinished as u64,
        "unfinished scan",
        "unfinished scans",
    );
    format!("{line} ({scans}: groups may be missing)")
}

/// Cuts out the middle of a text, so that it takes at most `width` columns:
/// `/home/an…/IMG_1.CR2`. Escape names before shortening them.
pub fn shorten_middle(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let Some(room) = width.checked_sub(1) else {
        return String::new();
    };
    let head = head_within(text, room / 2);
    let tail = tail_within(&text[head.len()..], room - room / 2);
    format!("{head}…{tail}")
}

/// The longest beginning of at most `room` columns.
fn head_within(text: &str, room: usize) -> &str {
    let ends = text.char_indices().map(|(start, c)| start + c.len_utf8());
    ends.map(|end| &text[..end])
        .take_while(|head| head.width() <= room)
        .last()
        .unwrap_or("")
}

/// The longest end of at most `room` columns that does not begin with a mark
/// belonging to the character before it.
fn tail_within(text: &str, room: usize) -> &str {
    let starts = text.char_indices().rev().map(|(start, _)| start);
    let tail = starts
        .map(|start| &text[start..])
        .take_while(|tail| tail.width() <= room)
        .last()
        .unwrap_or("");
    tail.trim_start_matches(|mark: char| UnicodeWidthChar::width(mark) == Some(0))
}

#[cfg(test)]
mod tests {
    use jiff::tz::Offset;
    use proptest::prelude::*;

    use super::*;
    use crate::report::groups::{header, nothing_scanned};
    use crate::testing::proptest_config;

    #[test]
    fn sizes_have_binary_units() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (24_536_678, "23.4 MiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            ((1 << 20) - 52, "1023.9 KiB"),
            (1 << 40, "1.0 TiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(human_size(bytes), text);
        }
    }

    #[test]
    fn thousands_are_parted() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(counted(1, "copy", "copies"), "1 copy");
        assert_eq!(counted(1000, "copy", "copies"), "1,000 copies");
    }

    #[test]
    fn spans_have_their_two_largest_units() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1000, "1.0 s"),
            (12_345, "12.3 s"),
            (59_949, "59.9 s"),
            (59_950, "1 min 00 s"),
            (185_000, "3 min 05 s"),
            (3_599_600, "1 h 00 min"),
            (7_380_000, "2 h 03 min"),
            (273_600_000, "3 d 04 h"),
        ] {
            assert_eq!(duration(Duration::from_millis(ms)), text, "{ms} ms");
        }
    }

    #[test]
    fn moments_are_shown_in_the_zone() {
        let east = TimeZone::fixed(Offset::constant(2));
        let moment = header().generated_at;
        assert_eq!(timestamp_in(moment, &TimeZone::UTC), "2026-11-16 09:31");
        assert_eq!(timestamp_in(moment, &east), "2026-11-16 11:31");
        for extreme in [i64::MIN, i64::MAX] {
            assert!(!timestamp(Timestamp(extreme)).is_empty());
        }
    }

    #[test]
    fn as_of_names_the_scan_and_what_is_unfinished() {
        let line = |header: &Header| as_of_in(header, &TimeZone::UTC);
        assert_eq!(line(&header()), "as of scan 12, 2026-11-16 09:30");
        let mut open = header();
        open.unfinished = 2;
        open.as_of.as_mut().unwrap().finished = None;
        assert_eq!(
            line(&open),
            "as of scan 12, not finished (2 unfinished scans: groups may be missing)"
        );
        assert!(line(&nothing_scanned()).starts_with("nothing has been scanned yet"));
    }

    #[test]
    fn the_middle_goes_first() {
        assert_eq!(
            shorten_middle("/home/ann/IMG_1.CR2", 19),
            "/home/ann/IMG_1.CR2"
        );
        assert_eq!(shorten_middle("/home/ann/IMG_1.CR2", 12), "/home…_1.CR2");
        assert_eq!(shorten_middle("写真写真写真", 7), "写…真");
        assert_eq!(shorten_middle("abcdef\u{301}", 3), "a…f\u{301}");
        assert_eq!(shorten_middle("abc", 1), "…");
        assert_eq!(shorten_middle("abc", 0), "");
    }

    proptest! {
        #![proptest_config(proptest_config())]

        #[test]
        fn shortened_text_fits(text in r"\PC{0,60}", width in 0_usize..70) {
            let short = shorten_middle(&text, width);
            prop_assert!(short.width() <= width, "{short:?}");
            if text.width() <= width {
                prop_assert_eq!(short, text);
            }
        }
    }
}
