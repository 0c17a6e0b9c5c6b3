//! JSON lines: one group a line and nothing else, so that `head`, `split` and
//! `jq` work on it. Each line is a group as in [`super::json`] and carries the
//! scan it is as of; the totals follow from the lines.

use std::io::{self, Write};

use serde::Serialize;

use super::json::GroupJson;
use super::render::Render;
use crate::model::{Group, Totals};
use crate::report::encode::write_value;
use crate::report::style::Header;

/// The renderer of `--format jsonl`.
pub(crate) struct Jsonl<W> {
    out: W,
    as_of_scan: Option<i64>,
}

impl<W: Write> Jsonl<W> {
    pub(crate) fn new(out: W) -> Self {
        Self {
            out,
            as_of_scan: None,
        }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    as_of_scan: Option<i64>,
    #[serde(flatten)]
    group: GroupJson<'a>,
}

impl<W: Write> Render for Jsonl<W> {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        self.as_of_scan = header.as_of.map(|as_of| as_of.scan.0);
        Ok(())
    }

    fn group(&mut self, group: &Group) -> io::Result<()> {
        let line = Line {
            as_of_scan: self.as_of_scan,
            group: GroupJson::new(group),
        };
        write_value(&mut self.out, &line)?;
        self.out.write_all(b"\n")
    }

    fn end(&mut self, _totals: &Totals) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::report::format::Format;
    use crate::report::groups::testing::{odd_group, photos, render};
    use crate::report::style::Style;

    fn text(groups: &[Group]) -> String {
        String::from_utf8(render(Format::Jsonl, Style::default(), groups)).unwrap()
    }

    #[test]
    fn a_line_is_a_group() {
        insta::assert_snapshot!(text(&[photos()]), @r#"{"as_of_scan":12,"digest":"a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7","algorithm":"sha256","size":25270682,"copies":2,"reclaimable":25270682,"comparison":"byte-for-byte","files":[{"path":"/backup/2024/IMG_0001.CR2","root":"/backup","mtime":"2024-05-01T12:00:00.000000042Z","volume":"uuid:5e1f","inode":4711,"links":["/backup/by-date/2024-05-01.CR2"],"symlinks":[]},{"path":"/home/ann/photos/2024/IMG_0001.CR2","root":"/home/ann","mtime":"2024-05-01T12:00:00.000000042Z","volume":"uuid:5e1f","inode":4711,"links":[],"symlinks":[]}]}"#);
    }

    #[test]
    fn every_line_parses_and_names_its_scan() {
        let report = text(&[photos(), odd_group()]);
        let lines: Vec<Value> = report
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line["as_of_scan"] == 12));
        assert_eq!(lines[1]["files"][0]["path"], "/usb/two\nlines");
    }

    #[test]
    fn no_groups_make_no_lines() {
        assert_eq!(text(&[]), "");
    }
}
