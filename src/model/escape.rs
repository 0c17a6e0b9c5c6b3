//! Makes file names safe to show: what a terminal would obey, or a reader
//! would not see, is escaped. The escaped text leads back to the name. Pure.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Escapes everything in a name that is not plain text.
///
/// Newline, tab and carriage return become `\n`, `\t` and `\r`; other C0
/// controls and DEL `\x1b`; C1, bidi controls, line separators and characters without
/// width `\u{202e}`;
/// bytes that are not UTF-8 `\xff`; and a backslash `\\`, so that two names
/// never escape to the same text. Everything else stays as it is.
pub fn escape<S: AsRef<OsStr> + ?Sized>(name: &S) -> String {
    let bytes = name.as_ref().as_bytes();
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character == '\\' {
                text.push_str(r"\\");
            } else {
                push_safe(&mut text, character);
            }
        }
        for &byte in chunk.invalid() {
            push_byte(&mut text, byte);
        }
    }
    text
}

/// The name that [`escape`] made this text of; `None` where a backslash begins
/// nothing that it writes.
pub fn unescape(text: &str) -> Option<OsString> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, code)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        rest = push_escaped(&mut bytes, code)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(OsString::from_vec(bytes))
}

/// Reads what follows a backslash; returns the text after it.
fn push_escaped<'t>(bytes: &mut Vec<u8>, code: &'t str) -> Option<&'t str> {
    let mut characters = code.chars();
    match characters.next()? {
        '\\' => bytes.push(b'\\'),
        'n' => bytes.push(b'\n'),
        't' => bytes.push(b'\t'),
        'r' => bytes.push(b'\r'),
        'x' => {
            bytes.push(hex(code.get(1..3)?).and_then(|code| code.try_into().ok())?);
            return code.get(3..);
        }
        'u' => {
            let (digits, rest) = code.strip_prefix("u{")?.split_once('}')?;
            let character = char::from_u32(hex(digits)?)?;
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            return Some(rest);
        }
        _ => return None,
    }
    Some(characters.as_str())
}

/// A number in hexadecimal digits and nothing else.
fn hex(digits: &str) -> Option<u32> {
    let is_plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_plain.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Escapes only hazardous characters, so that text which was
/// escaped before, or a message that quotes a name, keeps its backslashes.
pub(crate) fn disarm(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        push_safe(&mut safe, character);
    }
    safe
}

/// Whether a character could steer a terminal, break a line, or reorder or hide
/// what is read: C0, DEL, C1, the bidi controls, line and paragraph separators,
/// characters without width. Not the two joiners, which emoji and some scripts
/// need.
pub(crate) fn is_hazardous(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2064}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
        )
}

fn push_safe(text: &mut String, character: char) {
    match character {
        '\n' => text.push_str(r"\n"),
        '\t' => text.push_str(r"\t"),
        '\r' => text.push_str(r"\r"),
        // A C1 control is not a single byte in UTF-8: `\x9b` is kept for the
        // stray byte, `\u{9b}` for the character.
        '\0'..='\x1f' | '\x7f' => push_byte(text, character as u8),
        _ if is_hazardous(character) => {
            write!(text, "\\u{{{:x}}}", u32::from(character))
                .expect("writing to a String cannot fail");
        }
        _ => text.push(character),
    }
}

fn push_byte(text: &mut String, byte: u8) {
    write!(text, "\\x{byte:02x}").expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::testing::proptest_config;

    #[test]
    fn plain_names_stay_as_they_are() {
        for name in ["IMG_0001.CR2", "Grüße aus Köln.txt", "写真 👩‍👩‍👧.jpg", ""] {
            assert_eq!(escape(name), name);
        }
        assert_eq!(escape(Path::new("/a b/'c'")), "/a b/'c'");
    }

    #[test]
    fn each_kind_of_hazard_has_its_spelling() {
        assert_eq!(escape("a\nb\tc\rd"), r"a\nb\tc\rd");
        assert_eq!(escape("\x1b[2J\x7f"), r"\x1b[2J\x7f");
        assert_eq!(escape("\u{9b}1m"), r"\u{9b}1m");
        assert_eq!(escape("\u{202e}gpj"), r"\u{202e}gpj");
        assert_eq!(escape("\u{2028}"), r"\u{2028}");
        assert_eq!(escape(OsStr::from_bytes(b"\xff\x9b")), r"\xff\x9b");
        assert_eq!(escape(r"back\slash"), r"back\\slash");
    }

    #[test]
    fn what_escaping_never_writes_has_no_name() {
        for text in [
            r"\",
            r"a\q",
            r"\x",
            r"\x4",
            r"\xzz",
            r"\x+1",
            r"\u{",
            r"\u{d800}",
            r"\u41",
            r"\xé0",
        ] {
            assert_eq!(unescape(text), None, "{text}");
        }
    }

    #[test]
    fn every_control_character_is_escaped() {
        let c0 = 0..=0x1f;
        let del_and_c1 = 0x7f..=0x9f;
        let bidi = [0x61c, 0x200e, 0x200f]
            .into_iter()
            .chain(0x202a..=0x202e)
            .chain(0x2066..=0x2069);
        for code in c0.chain(del_and_c1).chain(bidi) {
            let raw = char::from_u32(code).unwrap();
            let text = escape(&raw.to_string());
            assert!(text.starts_with('\\') && text.is_ascii(), "{code:x}");
            assert!(!text.contains(raw), "{code:x}");
        }
    }

    #[test]
    fn disarming_leaves_escaped_text_alone() {
        let once = escape("a\\b\n\u{202e}");
        assert_eq!(disarm(&once), once);
        assert_eq!(disarm("a\\b\n"), r"a\b\n");
    }

    proptest! {
        #![proptest_config(proptest_config())]

        #[test]
        fn escaped_bytes_are_safe_and_lead_back_to_one_name(bytes: Vec<u8>) {
            let text = escape(OsStr::from_bytes(&bytes));
            prop_assert!(!text.chars().any(is_hazardous), "{text:?}");
            prop_assert_eq!(unescape(&text), Some(OsString::from_vec(bytes)));
        }

        #[test]
        fn escaped_text_is_safe_and_leads_back_to_one_name(
            name in r"([ -~]|\\|[\x00-\x1f\x7f-\u{9f}]|[\u{200e}\u{202a}-\u{202e}]|\PC){0,40}"
        ) {
            let text = escape(&name);
            prop_assert!(!text.chars().any(is_hazardous), "{text:?}");
            prop_assert_eq!(unescape(&text), Some(name.into()));
        }
    }
}
