//! The format that scripts written for fdupes read: one path per line, a blank
//! line between groups, nothing else; a copy that keep rules keep comes first. And
//! the flat list of paths, without the blank lines and without that copy.
//!
//! Paths are exact bytes, except on a terminal, where they are escaped. With
//! `-0` every path ends with NUL instead of a newline, with an extra NUL
//! between groups. Symbolic links are never printed: a script that deletes
//! all but one path of a group must not be left with a link.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::render::Render;
use crate::model::{Group, Totals, escape};
use crate::report::style::{Header, Style};

/// The renderer of `--format fdupes` and `--format paths`.
pub(crate) struct Fdupes<W> {
    out: W,
    style: Style,
    is_flat: bool,
    any: bool,
}

impl<W: Write> Fdupes<W> {
    pub(crate) fn new(style: Style, out: W) -> Self {
        Self {
            out,
            style,
            is_flat: false,
            any: false,
        }
    }

    /// Nothing but paths.
    pub(crate) fn flat(style: Style, out: W) -> Self {
        Self {
            is_flat: true,
            ..Self::new(style, out)
        }
    }

    fn name(&mut self, path: &Path) -> io::Result<()> {
        if self.style.terminal {
            self.out.write_all(escape(path).as_bytes())?;
        } else {
            self.out.write_all(path.as_os_str().as_bytes())?;
        }
        self.terminator()
    }

    fn terminator(&mut self) -> io::Result<()> {
        self.out
            .write_all(if self.style.nul { b"\0" } else { b"\n" })
    }
}

impl<W: Write> Render for Fdupes<W> {
    fn begin(&mut self, _header: &Header) -> io::Result<()> {
        Ok(())
    }

    fn group(&mut self, group: &Group) -> io::Result<()> {
        if self.any && !self.is_flat {
            self.terminator()?;
        }
        self.any = true;
        let kept = |wanted| {
            let copies = group.marked();
            copies.filter(move |(_, is_kept)| (*is_kept == Some(true)) == wanted)
        };
        let is_flat = self.is_flat;
        let first = kept(true).filter(|_| !is_flat);
        for (copy, _) in first.chain(kept(false)) {
            self.name(&copy.path)?;
            if self.style.links {
                copy.links.iter().try_for_each(|link| self.name(link))?;
            }
        }
        Ok(())
    }

    fn end(&mut self, _totals: &Totals) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::format::Format;
    use crate::report::groups::testing::{
        every_byte, group_named, marked_photos, odd_group, photos, render,
    };

    fn bytes(style: Style, groups: &[Group]) -> Vec<u8> {
        render(Format::Fdupes, style, groups)
    }

    #[test]
    fn a_blank_line_parts_the_groups() {
        let report = bytes(Style::default(), &[photos(), group_named(b"a", b"b")]);
        insta::assert_snapshot!(String::from_utf8(report).unwrap(), @"
        /backup/2024/IMG_0001.CR2
        /home/ann/photos/2024/IMG_0001.CR2

        /r/a
        /r/b
        ");
    }

    #[test]
    fn links_are_printed_when_asked_for() {
        let style = Style {
            links: true,
            ..Style::default()
        };
        let report = bytes(style, &[photos()]);
        insta::assert_snapshot!(String::from_utf8(report).unwrap(), @"
        /backup/2024/IMG_0001.CR2
        /backup/by-date/2024-05-01.CR2
        /home/ann/photos/2024/IMG_0001.CR2
        ");
    }

    #[test]
    fn the_copy_to_keep_comes_first_or_is_not_in_the_flat_list() {
        let report = String::from_utf8(bytes(Style::default(), &[marked_photos()]));
        let copies = [
            "/home/ann/photos/2024/IMG_0001.CR2\n",
            "/backup/2024/IMG_0001.CR2\n",
        ];
        assert_eq!(report.unwrap(), copies.concat());
        let flat = render(Format::Paths, Style::default(), &[marked_photos()]);
        assert_eq!(String::from_utf8(flat).unwrap(), copies[1]);
    }

    #[test]
    fn names_are_exact_bytes_off_a_terminal() {
        let all = every_byte();
        let report = bytes(Style::default(), &[group_named(&all, b"b")]);
        assert_eq!(report, [b"/r/", &all[..], b"\n/r/b\n"].concat());
    }

    #[test]
    fn names_are_escaped_on_a_terminal() {
        let style = Style {
            links: true,
            terminal: true,
            ..Style::default()
        };
        let report = bytes(style, &[odd_group()]);
        insta::assert_snapshot!(String::from_utf8(report).unwrap(), @r"
        /usb/two\nlines
        /usb/latin-\xe9
        /usb/\x1b[2J\u{9b}1m\u{202e}gpj.exe
        ");
    }

    #[test]
    fn nul_ends_paths_and_parts_groups() {
        let style = Style {
            nul: true,
            ..Style::default()
        };
        let report = bytes(style, &[group_named(b"a\n", b"b"), group_named(b"c", b"d")]);
        assert_eq!(report, b"/r/a\n\0/r/b\0\0/r/c\0/r/d\0");
    }

    #[test]
    fn no_groups_print_nothing() {
        assert_eq!(bytes(Style::default(), &[]), b"");
    }
}
