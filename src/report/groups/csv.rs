//! Comma-separated values, one row per copy; with `--links` the other names of
//! a copy are rows of their own, right below it, with its path in `same_file_as`
//! and the kind of link in `link`.
//!
//! A spreadsheet runs a cell that starts with `=`, `+`, `-`, `@`, TAB or CR as
//! a formula, so such text gets a leading `'`. Names that are not UTF-8 have
//! U+FFFD in them, and on a terminal control characters are escaped. Whenever
//! the `path` cell is not exactly the path, `path_b64` has its exact bytes.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use super::render::Render;
use crate::model::{CopyEntry, Group, Totals};
use crate::report::encode::{exact_bytes, io_error, path_cell, rfc3339_nanos};
use crate::report::style::{Header, Style};
use crate::report::text::comparison_word;

const COLUMNS: [&str; 16] = [
    "group",
    "digest",
    "algorithm",
    "size",
    "copies",
    "reclaimable",
    "comparison",
    "path",
    "path_b64",
    "root",
    "mtime",
    "volume",
    "inode",
    "same_file_as",
    "link",
    "as_of_scan",
];

/// The column of a report that marks the copy to keep, at the end.
const KEEP: &str = "keep";

/// A copy, and whether keep rules keep it, where a report asks.
type Marked<'a> = (&'a CopyEntry, Option<bool>);

/// The renderer of `--format csv`.
pub(crate) struct Csv<W: Write> {
    out: ::csv::Writer<W>,
    style: Style,
    as_of_scan: String,
    groups: u64,
}

impl<W: Write> Csv<W> {
    pub(crate) fn new(style: Style, out: W) -> Self {
        Self {
            out: ::csv::Writer::from_writer(out),
            style,
            as_of_scan: String::new(),
            groups: 0,
        }
    }

    fn copy(&mut self, shared: &[String], copy: Marked<'_>) -> io::Result<()> {
        self.row(shared, copy, &copy.0.path, "")?;
        if !self.style.links {
            return Ok(());
        }
        for (links, kind) in [(&copy.0.links, "hard"), (&copy.0.symlinks, "symbolic")] {
            for link in links {
                self.row(shared, copy, link, kind)?;
            }
        }
        Ok(())
    }

    fn row(
        &mut self,
        shared: &[String],
        (copy, is_kept): Marked<'_>,
        path: &Path,
        link: &str,
    ) -> io::Result<()> {
        let name = self.cell(path);
        // Another name may be in another root, which is not known here.
        let root = Some(&*copy.root).filter(|root| path.starts_with(root));
        let root = root.unwrap_or(Path::new(""));
        let same_file_as = match link {
            "" => Cow::default(),
            _ => self.cell(&copy.path),
        };
        let own = [
            name.as_ref(),
            &exact_bytes(path, &name),
            &self.cell(root),
            &rfc3339_nanos(copy.mtime_ns),
            &self.cell(Path::new(&copy.volume)),
            &copy
                .inode
                .map(|inode| inode.to_string())
                .unwrap_or_default(),
            same_file_as.as_ref(),
            link,
            &self.as_of_scan,
        ];
        let keep = is_kept.map(|is_kept| if is_kept { "yes" } else { "no" });
        let cells = shared.iter().map(String::as_str).chain(own).chain(keep);
        self.out.write_record(cells).map_err(io_error)
    }

    /// A path, or other foreign text, as it is written in a cell.
    fn cell<'a>(&self, path: &'a Path) -> Cow<'a, str> {
        path_cell(path, self.style)
    }
}

impl<W: Write> Render for Csv<W> {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        if let Some(as_of) = header.as_of {
            self.as_of_scan = as_of.scan.to_string();
        }
        let keep = (!header.keep.is_empty()).then_some(KEEP);
        let columns = COLUMNS.into_iter().chain(keep);
        self.out.write_record(columns).map_err(io_error)
    }

    fn group(&mut self, group: &Group) -> io::Result<()> {
        self.groups += 1;
        let shared = shared_cells(self.groups, group);
        let mut copies = group.marked();
        copies.try_for_each(|copy| self.copy(&shared, copy))
    }

    fn end(&mut self, _totals: &Totals) -> io::Result<()> {
        self.out.flush()
    }
}

/// The cells that all rows of a group have in common, up to `comparison`.
fn shared_cells(number: u64, group: &Group) -> [String; 7] {
    [
        number.to_string(),
        group.digest.to_hex(),
        group.algorithm.name_of(&group.digest).to_owned(),
        group.size.to_string(),
        group.copies.len().to_string(),
        group.reclaimable().to_string(),
        comparison_word(group).to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::report::format::Format;
    use crate::report::groups::testing::{
        every_byte, group_named, marked_photos, marking, nothing_scanned, odd_group, path, photos,
        render, render_under,
    };

    const LINKS: Style = Style {
        links: true,
        nul: false,
        terminal: false,
        width: None,
        color: false,
        exact_bytes: false,
    };

    type Row = HashMap<String, String>;

    fn text(style: Style, groups: &[Group]) -> String {
        String::from_utf8(render(Format::Csv, style, groups)).unwrap()
    }

    fn rows(style: Style, groups: &[Group]) -> Vec<Row> {
        ::csv::Reader::from_reader(text(style, groups).as_bytes())
            .deserialize()
            .map(Result::unwrap)
            .collect()
    }

    /// The exact bytes of a row's path.
    fn exact(row: &Row) -> Vec<u8> {
        match row["path_b64"].as_str() {
            "" => row["path"].clone().into(),
            code => STANDARD.decode(code).unwrap(),
        }
    }

    #[test]
    fn a_row_is_a_copy() {
        insta::assert_snapshot!(text(Style::default(), &[photos()]), @"
        group,digest,algorithm,size,copies,reclaimable,comparison,path,path_b64,root,mtime,volume,inode,same_file_as,link,as_of_scan
        1,a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7,sha256,25270682,2,25270682,byte-for-byte,/backup/2024/IMG_0001.CR2,,/backup,2024-05-01T12:00:00.000000042Z,uuid:5e1f,4711,,,12
        1,a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7,sha256,25270682,2,25270682,byte-for-byte,/home/ann/photos/2024/IMG_0001.CR2,,/home/ann,2024-05-01T12:00:00.000000042Z,uuid:5e1f,4711,,,12
        ");
    }

    #[test]
    fn the_copy_to_keep_is_marked_under_all_its_names() {
        let mut group = marked_photos();
        group.kept = Some(0);
        let report = render_under(&marking(), Format::Csv, LINKS, &[group]);
        let report = String::from_utf8(report).unwrap();
        let last: Vec<_> = report.lines().map(|line| line.rsplit(',').next()).collect();
        assert_eq!(last, ["keep", "yes", "yes", "no"].map(Some));
    }

    #[test]
    fn odd_names_are_escaped_on_a_terminal() {
        let style = Style {
            terminal: true,
            ..LINKS
        };
        insta::assert_snapshot!(text(style, &[odd_group()]), @r"
        group,digest,algorithm,size,copies,reclaimable,comparison,path,path_b64,root,mtime,volume,inode,same_file_as,link,as_of_scan
        1,0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b,blake3,9,2,9,blake3,/usb/two\nlines,L3VzYi90d28KbGluZXM=,/usb,2024-05-01T12:00:00.000000042Z,uuid:5e1f,,,,12
        1,0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b,blake3,9,2,9,blake3,/usb/latin-\xe9,L3VzYi9sYXRpbi3p,/usb,2024-05-01T12:00:00.000000042Z,uuid:5e1f,,/usb/two\nlines,hard,12
        1,0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b,blake3,9,2,9,blake3,/usb/\x1b[2J\u{9b}1m\u{202e}gpj.exe,L3VzYi8bWzJKwpsxbeKArmdwai5leGU=,/usb,2024-05-01T12:00:00.000000042Z,uuid:5e1f,4711,,,12
        ");
    }

    #[test]
    fn other_names_are_rows_below_their_copy() {
        let rows = rows(LINKS, &[photos()]);
        let names: Vec<_> = rows
            .iter()
            .map(|row| [&row["path"], &row["root"], &row["same_file_as"]].map(String::as_str))
            .collect();
        let first = "/backup/2024/IMG_0001.CR2";
        assert_eq!(
            names,
            [
                [first, "/backup", ""],
                ["/backup/by-date/2024-05-01.CR2", "/backup", first],
                ["/home/ann/photos/2024/IMG_0001.CR2", "/home/ann", ""],
            ]
        );
    }

    #[test]
    fn a_name_in_another_root_claims_no_root() {
        let mut group = photos();
        group.copies[0].links = vec!["/elsewhere/x".into()];
        assert_eq!(rows(LINKS, &[group])[1]["root"], "");
    }

    #[test]
    fn formulas_are_neutralised_and_their_bytes_kept() {
        for name in ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"] {
            let mut group = photos();
            group.copies[0].path = name.into();
            group.copies[0].volume = name.into();
            let row = &rows(Style::default(), &[group])[0];
            assert_eq!(row["path"], format!("'{name}"));
            assert_eq!(row["volume"], format!("'{name}"));
            assert_eq!(exact(row), name.as_bytes());
        }
    }

    #[test]
    fn an_apostrophe_of_the_name_itself_is_no_neutralised_cell() {
        let mut group = photos();
        group.copies[0].path = "'=1".into();
        let row = &rows(Style::default(), &[group])[0];
        assert_eq!(row["path"], "'=1");
        assert_eq!(row["path_b64"], "");
    }

    #[test]
    fn every_byte_of_a_name_comes_back() {
        for terminal in [false, true] {
            let style = Style { terminal, ..LINKS };
            let mut group = group_named(&every_byte(), b"other");
            group.copies[1].links = every_byte().iter().map(|&b| path(&[b'/', b])).collect();
            let rows = rows(style, &[group]);
            assert_eq!(exact(&rows[0]), [b"/r/", &every_byte()[..]].concat());
            let bytes: Vec<u8> = rows[2..].iter().map(|row| exact(row)[1]).collect();
            assert_eq!(bytes, every_byte());
        }
    }

    #[test]
    fn groups_are_numbered() {
        let rows = rows(Style::default(), &[photos(), odd_group()]);
        let numbers: Vec<_> = rows.iter().map(|row| row["group"].as_str()).collect();
        assert_eq!(numbers, ["1", "1", "2", "2"]);
    }

    #[test]
    fn no_groups_leave_the_column_names() {
        assert_eq!(text(Style::default(), &[]), COLUMNS.join(",") + "\n");
    }

    #[test]
    fn an_empty_catalog_names_no_scan() {
        let report = render_under(
            &nothing_scanned(),
            Format::Csv,
            Style::default(),
            &[photos()],
        );
        assert!(String::from_utf8(report).unwrap().ends_with(",\n"));
    }
}
