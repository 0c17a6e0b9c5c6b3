//! The listing for people: a line about each group, its paths below, and at
//! the end the totals and the scan they reflect.
//!
//! Paths stay whole at any width, since people copy them, and always have
//! their control characters escaped.

use std::io::{self, Write};

use anstyle::Style as Paint;
use jiff::tz::TimeZone;

use super::render::Render;
use crate::model::{CopyEntry, Group, Totals, escape};
use crate::report::filters::{filters_line, keep_line};
use crate::report::style::{FAINT, GAIN, Header, STRONG, Style};
use crate::report::text;
use crate::report::text::{as_of_in, counted, grouped};

/// The renderer of `--format table`.
pub(crate) struct Table<W> {
    out: W,
    style: Style,
    zone: TimeZone,
    header: Option<Header>,
    shown: u64,
}

impl<W: Write> Table<W> {
    pub(crate) fn new(style: Style, out: W) -> Self {
        Self::in_zone(TimeZone::system(), style, out)
    }

    fn in_zone(zone: TimeZone, style: Style, out: W) -> Self {
        Self {
            out,
            style,
            zone,
            header: None,
            shown: 0,
        }
    }

    /// The line above the paths; its fields are padded so that they line up from
    /// group to group.
    fn headline(&mut self, group: &Group) -> io::Result<()> {
        let size = text::size(group.size, self.style.exact_bytes);
        let gain = text::reclaimable(group.reclaimable(), self.style.exact_bytes);
        let copies = counted(group.copies.len() as u64, "copy", "copies");
        let fields = [
            (STRONG, format!("{:<22}", format!("{copies} of {size}"))),
            (GAIN, format!("{gain:<22}")),
            (Paint::new(), format!("{:<13}", text::comparison(group))),
            (FAINT, group.digest.short()),
        ];
        let line = self.joined(&fields);
        writeln!(self.out, "{line}")
    }

    /// The fields with two spaces between them. The last, the digest, is
    /// omitted if the line would be wider than the terminal.
    fn joined(&self, fields: &[(Paint, String)]) -> String {
        let whole = fields.iter().map(|(_, text)| text.len() + 2).sum::<usize>() - 2;
        let fits = self
            .style
            .width
            .is_none_or(|width| whole <= usize::from(width));
        let shown = if fits {
            fields
        } else {
            &fields[..fields.len() - 1]
        };
        let painted: Vec<_> = shown
            .iter()
            .map(|(paint, text)| self.style.painted(*paint, text))
            .collect();
        painted.join("  ").trim_end().to_owned()
    }

    fn copy(&mut self, copy: &CopyEntry, is_kept: Option<bool>) -> io::Result<()> {
        let margin = match is_kept {
            None => "    ".to_owned(),
            Some(false) => "        ".to_owned(),
            Some(true) => format!("  {}  ", self.style.painted(STRONG, "keep")),
        };
        writeln!(self.out, "{margin}{}", escape(&copy.path))?;
        if self.style.links {
            let margin = if is_kept.is_some() { 10 } else { 6 };
            for (links, mark) in [(&copy.links, "also at"), (&copy.symlinks, "symbolic link")] {
                let mark = self.style.painted(FAINT, mark);
                for link in links {
                    writeln!(self.out, "{:margin$}{mark} {}", "", escape(link))?;
                }
            }
        }
        Ok(())
    }

    fn sums(&mut self, totals: &Totals) -> io::Result<()> {
        if totals.groups == 0 {
            writeln!(self.out, "no duplicates found")?;
        } else {
            let line = text::group_totals(totals, self.style.exact_bytes);
            writeln!(self.out, "{}", self.style.painted(STRONG, &line))?;
        }
        if self.shown < totals.groups {
            let (shown, all) = (grouped(self.shown), grouped(totals.groups));
            writeln!(self.out, "showing {shown} of {all} groups")?;
        }
        if totals.unchecked > 0 {
            writeln!(self.out, "{}", text::unchecked(totals.unchecked))?;
        }
        Ok(())
    }
}

impl<W: Write> Render for Table<W> {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        self.header = Some(header.clone());
        Ok(())
    }

    fn group(&mut self, group: &Group) -> io::Result<()> {
        self.shown += 1;
        self.headline(group)?;
        for (copy, is_kept) in group.marked() {
            self.copy(copy, is_kept)?;
        }
        writeln!(self.out)
    }

    fn end(&mut self, totals: &Totals) -> io::Result<()> {
        let header = self.header.take();
        // An empty catalog knows of no duplicates, which is not the same as
        // having found none.
        if header.as_ref().is_none_or(|header| header.as_of.is_some()) {
            self.sums(totals)?;
        }
        if let Some(header) = header {
            if let Some(filters) = filters_line(&header.filters, self.style.exact_bytes) {
                writeln!(self.out, "{filters}")?;
            }
            if let Some(keep) = keep_line(&header.keep) {
                writeln!(self.out, "{keep}")?;
            }
            writeln!(self.out, "{}", as_of_in(&header, &self.zone))?;
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::groups::testing::{
        header, marked_photos, marking, nothing_scanned, odd_group, photos, totals,
    };

    const PLAIN: Style = Style {
        links: false,
        nul: false,
        terminal: false,
        width: Some(80),
        color: false,
        exact_bytes: false,
    };

    fn rendered(style: Style, groups: &[Group]) -> String {
        text_of(style, &header(), groups, &totals(groups))
    }

    fn text_of(style: Style, header: &Header, groups: &[Group], totals: &Totals) -> String {
        let mut out = Vec::new();
        let mut report = Table::in_zone(TimeZone::UTC, style, &mut out);
        report.begin(header).unwrap();
        for group in groups {
            report.group(group).unwrap();
        }
        report.end(totals).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn groups_are_listed_with_their_sums() {
        insta::assert_snapshot!(rendered(PLAIN, &[photos(), odd_group()]), @r"
        2 copies of 24.1 MiB    24.1 MiB reclaimable    byte-for-byte  a7a7a7a7a7a7
            /backup/2024/IMG_0001.CR2
            /home/ann/photos/2024/IMG_0001.CR2

        2 copies of 9 B         9 B reclaimable         same BLAKE3    0b0b0b0b0b0b
            /usb/two\nlines
            /usb/\x1b[2J\u{9b}1m\u{202e}gpj.exe

        2 duplicate groups, 4 copies, 24.1 MiB reclaimable
        as of scan 12, 2026-11-16 09:30
        ");
    }

    #[test]
    fn other_names_are_marked() {
        let style = Style {
            links: true,
            ..PLAIN
        };
        insta::assert_snapshot!(rendered(style, &[photos(), odd_group()]), @r"
        2 copies of 24.1 MiB    24.1 MiB reclaimable    byte-for-byte  a7a7a7a7a7a7
            /backup/2024/IMG_0001.CR2
              also at /backup/by-date/2024-05-01.CR2
            /home/ann/photos/2024/IMG_0001.CR2

        2 copies of 9 B         9 B reclaimable         same BLAKE3    0b0b0b0b0b0b
            /usb/two\nlines
              also at /usb/latin-\xe9
            /usb/\x1b[2J\u{9b}1m\u{202e}gpj.exe

        2 duplicate groups, 4 copies, 24.1 MiB reclaimable
        as of scan 12, 2026-11-16 09:30
        ");
    }

    #[test]
    fn the_copy_to_keep_is_marked() {
        let style = Style {
            links: true,
            ..PLAIN
        };
        let groups = [marked_photos()];
        insta::assert_snapshot!(text_of(style, &marking(), &groups, &totals(&groups)), @"
        2 copies of 24.1 MiB    24.1 MiB reclaimable    byte-for-byte  a7a7a7a7a7a7
                /backup/2024/IMG_0001.CR2
                  also at /backup/by-date/2024-05-01.CR2
          keep  /home/ann/photos/2024/IMG_0001.CR2

        1 duplicate group, 2 copies, 24.1 MiB reclaimable
        keep: under:/home/ann, oldest
        as of scan 12, 2026-11-16 09:30
        ");
    }

    #[test]
    fn exact_bytes_replace_rounded_sizes() {
        let style = Style {
            exact_bytes: true,
            ..PLAIN
        };
        let report = rendered(style, &[photos()]);
        assert!(report.contains("2 copies of 25,270,682 B"), "{report}");
        assert!(
            report.contains("copies, 25,270,682 B reclaimable"),
            "{report}"
        );
    }

    #[test]
    fn a_narrow_terminal_loses_the_digest_and_no_path() {
        let style = Style {
            width: Some(60),
            ..PLAIN
        };
        let report = rendered(style, &[photos()]);
        assert!(!report.contains("a7a7"), "{report}");
        assert!(report.contains("byte-for-byte"), "{report}");
        let style = Style {
            width: Some(20),
            ..PLAIN
        };
        assert!(rendered(style, &[photos()]).contains("/home/ann/photos/2024/IMG_0001.CR2"));
    }

    #[test]
    fn the_widest_headline_fits_80_columns() {
        let mut group = photos();
        group.size = 1023 * 1024 * 1024 + 900 * 1024;
        group.algorithm = crate::model::Algorithm::Sha3_256;
        group.byte_for_byte = false;
        let copy = group.copies[0].clone();
        group.copies = vec![copy; 12_345];
        let report = rendered(PLAIN, &[group]);
        let headline = report.lines().next().unwrap();
        assert!(headline.contains("a7a7"), "{headline}");
        assert!(headline.len() <= 80, "{headline}");
    }

    #[test]
    fn colour_adds_nothing_but_colour() {
        let style = Style {
            color: true,
            links: true,
            ..PLAIN
        };
        let coloured = rendered(style, &[photos(), odd_group()]);
        assert!(coloured.contains('\x1b'));
        let stripped = anstream::adapter::strip_str(&coloured).to_string();
        let plain = Style {
            color: false,
            ..style
        };
        assert_eq!(stripped, rendered(plain, &[photos(), odd_group()]));
    }

    #[test]
    fn no_duplicates_is_an_answer() {
        insta::assert_snapshot!(rendered(PLAIN, &[]), @"
        no duplicates found
        as of scan 12, 2026-11-16 09:30
        ");
    }

    #[test]
    fn an_empty_catalog_says_so() {
        let report = text_of(PLAIN, &nothing_scanned(), &[], &Totals::default());
        insta::assert_snapshot!(report, @"nothing has been scanned yet: start with dupescan scan PATH");
    }

    #[test]
    fn what_is_skipped_or_unknown_is_mentioned() {
        let sums = Totals {
            groups: 1234,
            copies: 5678,
            reclaimable: 99 << 30,
            unchecked: 1,
        };
        let mut unfinished = header();
        unfinished.unfinished = 1;
        insta::assert_snapshot!(text_of(PLAIN, &unfinished, &[photos()], &sums), @"
        2 copies of 24.1 MiB    24.1 MiB reclaimable    byte-for-byte  a7a7a7a7a7a7
            /backup/2024/IMG_0001.CR2
            /home/ann/photos/2024/IMG_0001.CR2

        1,234 duplicate groups, 5,678 copies, 99.0 GiB reclaimable
        showing 1 of 1,234 groups
        1 file unchecked (could be a duplicate; not fully read yet)
        as of scan 12, 2026-11-16 09:30 (1 unfinished scan: groups may be missing)
        ");
    }
}
