//! Checksums as `sha256sum` and similar programs print them, and check them
//! with `-c`.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::model::{Algorithm, Digest, escape};
use crate::report::style::Style;

/// Writes one line. A name with a newline, a backslash or, in coreutils, a
/// carriage return has them escaped, and a backslash in front of the line
/// says so. On a terminal, hazardous characters are escaped instead.
pub fn sum_line<W: Write + ?Sized>(
    out: &mut W,
    style: Style,
    algorithm: Algorithm,
    digest: &Digest,
    path: &Path,
) -> io::Result<()> {
    if style.terminal {
        return writeln!(out, "{}  {}", digest.to_hex(), escape(path));
    }
    let is_special = |byte: u8| match byte {
        b'\\' | b'\n' => true,
        // b3sum does not escape a carriage return.
        b'\r' => algorithm != Algorithm::Blake3,
        _ => false,
    };
    let name = path.as_os_str().as_bytes();
    if !name.iter().copied().any(is_special) {
        write!(out, "{}  ", digest.to_hex())?;
        out.write_all(name)?;
        return out.write_all(b"\n");
    }
    write!(out, "\\{}  ", digest.to_hex())?;
    for &byte in name {
        match byte {
            _ if !is_special(byte) => out.write_all(&[byte])?,
            b'\n' => out.write_all(b"\\n")?,
            b'\r' => out.write_all(b"\\r")?,
            _ => out.write_all(b"\\\\")?,
        }
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn line(style: Style, algorithm: Algorithm, name: &[u8]) -> Vec<u8> {
        let digest = Digest::from_bytes(&[0xab; 2]).unwrap();
        let mut out = Vec::new();
        sum_line(
            &mut out,
            style,
            algorithm,
            &digest,
            Path::new(OsStr::from_bytes(name)),
        )
        .unwrap();
        out
    }

    #[test]
    fn only_names_that_need_it_are_escaped() {
        let sha = |name| line(Style::default(), Algorithm::Sha256, name);
        assert_eq!(sha(b"/a b"), b"abab  /a b\n");
        assert_eq!(sha(b"/\xff"), b"abab  /\xff\n");
        assert_eq!(sha(b"/a\nb\\c\r"), b"\\abab  /a\\nb\\\\c\\r\n");
        assert_eq!(
            line(Style::default(), Algorithm::Blake3, b"/a\r"),
            b"abab  /a\r\n"
        );
    }

    #[test]
    fn a_terminal_sees_no_control_character() {
        let style = Style {
            terminal: true,
            ..Style::default()
        };
        assert_eq!(line(style, Algorithm::Sha256, b"/\x1b"), b"abab  /\\x1b\n");
    }
}
