//! One JSON document, schema 1, a group a line. The frame is written by hand
//! so that groups stream; serde_json writes each of them.
//!
//! `path` is text. A name that is not UTF-8 has its text with U+FFFD in it and
//! `path_b64`, the exact bytes in base64. An entry of `links` and `symlinks` is a
//! string, or an object `{"path", "path_b64"}` where the name is not UTF-8. `root`
//! is text only: its exact bytes are the start of `path`, up to as many `/`.
//! Controls that JSON lets through (DEL, C1, bidi) are written as `\u…`.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::render::Render;
use crate::model::{CopyEntry, Group, Totals};
use crate::report::encode::{PathJson, begin_list, end_list, rfc3339_nanos, write_value};
use crate::report::style::Header;
use crate::report::text::comparison_word;

/// The renderer of `--format json`.
pub(crate) struct Json<W> {
    out: W,
    any: bool,
}

impl<W: Write> Json<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, any: false }
    }
}

impl<W: Write> Render for Json<W> {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        begin_list(&mut self.out, header, "groups")
    }

    fn group(&mut self, group: &Group) -> io::Result<()> {
        let separator: &[u8] = if self.any { b",\n" } else { b"\n" };
        self.any = true;
        self.out.write_all(separator)?;
        write_value(&mut self.out, &GroupJson::new(group))
    }

    fn end(&mut self, totals: &Totals) -> io::Result<()> {
        end_list(&mut self.out, !self.any, totals)?;
        self.out.flush()
    }
}

/// A group as JSON and JSONL write it.
#[derive(Serialize)]
pub(crate) struct GroupJson<'a> {
    digest: String,
    algorithm: &'static str,
    size: u64,
    copies: usize,
    reclaimable: u64,
    comparison: &'static str,
    files: Vec<FileJson<'a>>,
}

impl<'a> GroupJson<'a> {
    pub(crate) fn new(group: &'a Group) -> Self {
        Self {
            digest: group.digest.to_hex(),
            algorithm: group.algorithm.name_of(&group.digest),
            size: group.size,
            copies: group.copies.len(),
            reclaimable: group.reclaimable(),
            comparison: comparison_word(group),
            files: group.marked().map(FileJson::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct FileJson<'a> {
    #[serde(flatten)]
    name: PathJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep: Option<bool>,
    root: Cow<'a, str>,
    mtime: String,
    volume: &'a str,
    inode: Option<u64>,
    links: Vec<LinkJson<'a>>,
    symlinks: Vec<LinkJson<'a>>,
}

impl<'a> FileJson<'a> {
    fn new((copy, keep): (&'a CopyEntry, Option<bool>)) -> Self {
        Self {
            name: PathJson::new(&copy.path),
            keep,
            root: copy.root.to_string_lossy(),
            mtime: rfc3339_nanos(copy.mtime_ns),
            volume: &copy.volume,
            inode: copy.inode,
            links: LinkJson::all(&copy.links),
            symlinks: LinkJson::all(&copy.symlinks),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum LinkJson<'a> {
    Text(&'a str),
    Bytes(PathJson<'a>),
}

impl<'a> LinkJson<'a> {
    fn all(paths: &'a [PathBuf]) -> Vec<Self> {
        paths.iter().map(|path| Self::new(path)).collect()
    }

    fn new(path: &'a Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text),
            None => Self::Bytes(PathJson::new(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::{Value, json};

    use super::*;
    use crate::report::format::Format;
    use crate::report::groups::testing::{
        every_byte, group_named, header, marked_photos, marking, nothing_scanned, odd_group, path,
        photos, render, render_under,
    };
    use crate::report::style::Style;

    fn text(groups: &[Group]) -> String {
        String::from_utf8(render(Format::Json, Style::default(), groups)).unwrap()
    }

    fn parsed(groups: &[Group]) -> Value {
        serde_json::from_str(&text(groups)).unwrap()
    }

    /// The exact bytes behind an entry of `files` or `links`.
    fn exact(entry: &Value) -> Vec<u8> {
        match (entry.as_str(), entry["path_b64"].as_str()) {
            (Some(text), _) => text.into(),
            (None, Some(code)) => STANDARD.decode(code).unwrap(),
            (None, None) => entry["path"].as_str().unwrap().into(),
        }
    }

    #[test]
    fn a_report_follows_the_schema() {
        insta::assert_snapshot!(text(&[photos(), odd_group()]), @r#"
        {"schema":1,"generated_at":"2026-11-16T09:31:07Z","as_of":{"scan":12,"finished_at":"2026-11-16T09:30:00Z"},"filters":{"paths":[],"min_size":null,"max_size":null,"extensions":[],"exclude":[]},"groups":[
        {"digest":"a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7","algorithm":"sha256","size":25270682,"copies":2,"reclaimable":25270682,"comparison":"byte-for-byte","files":[{"path":"/backup/2024/IMG_0001.CR2","root":"/backup","mtime":"2024-05-01T12:00:00.000000042Z","volume":"uuid:5e1f","inode":4711,"links":["/backup/by-date/2024-05-01.CR2"],"symlinks":[]},{"path":"/home/ann/photos/2024/IMG_0001.CR2","root":"/home/ann","mtime":"2024-05-01T12:00:00.000000042Z","volume":"uuid:5e1f","inode":4711,"links":[],"symlinks":[]}]},
        {"digest":"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b","algorithm":"blake3","size":9,"copies":2,"reclaimable":9,"comparison":"blake3","files":[{"path":"/usb/two\nlines","root":"/usb","mtime":"2024-05-01T12:00:00.000000042Z","volume":"uuid:5e1f","inode":null,"links":[{"path":"/usb/latin-�","path_b64":"L3VzYi9sYXRpbi3p"}],"symlinks":[]},{"path":"/usb/\u001b[2J\u009b1m\u202egpj.exe","root":"/usb","mtime":"2024-05-01T12:00:00.000000042Z","volume":"uuid:5e1f","inode":4711,"links":[],"symlinks":[]}]}
        ],"totals":{"groups":2,"copies":4,"reclaimable":25270691,"unchecked":0}}
        "#);
    }

    #[test]
    fn the_copy_to_keep_is_marked() {
        let report = render_under(
            &marking(),
            Format::Json,
            Style::default(),
            &[marked_photos()],
        );
        let report: Value = serde_json::from_slice(&report).unwrap();
        assert_eq!(report["keep"], json!(["under:/home/ann", "oldest"]));
        let files = report["groups"][0]["files"].as_array().unwrap();
        let marks: Vec<_> = files.iter().map(|file| &file["keep"]).collect();
        assert_eq!(marks, [&json!(false), &json!(true)]);
    }

    #[test]
    fn no_groups_make_a_valid_document() {
        insta::assert_snapshot!(text(&[]), @r#"{"schema":1,"generated_at":"2026-11-16T09:31:07Z","as_of":{"scan":12,"finished_at":"2026-11-16T09:30:00Z"},"filters":{"paths":[],"min_size":null,"max_size":null,"extensions":[],"exclude":[]},"groups":[],"totals":{"groups":0,"copies":0,"reclaimable":0,"unchecked":0}}"#);
        assert_eq!(parsed(&[])["groups"], json!([]));
    }

    #[test]
    fn as_of_is_null_before_the_first_scan_and_open_during_one() {
        let as_of = |header: &Header| {
            let bytes = render_under(header, Format::Json, Style::default(), &[]);
            serde_json::from_slice::<Value>(&bytes).unwrap()["as_of"].clone()
        };
        assert_eq!(as_of(&nothing_scanned()), json!(null));
        let mut running = header();
        running.as_of.as_mut().unwrap().finished = None;
        assert_eq!(as_of(&running), json!({"scan": 12, "finished_at": null}));
    }

    #[test]
    fn every_byte_of_a_name_comes_back() {
        for byte in every_byte() {
            let name = [b'a', byte, b'z'];
            let report = parsed(&[group_named(&name, b"other")]);
            let file = &report["groups"][0]["files"][0];
            assert_eq!(exact(file), [b"/r/", &name[..]].concat(), "{byte:#x}");
            assert_eq!(
                file.get("path_b64").is_some(),
                !byte.is_ascii(),
                "{byte:#x}"
            );
        }
        let all = every_byte();
        let report = parsed(&[group_named(&all, b"other")]);
        let file = &report["groups"][0]["files"][0];
        assert_eq!(exact(file), [b"/r/", &all[..]].concat());
    }

    #[test]
    fn every_byte_of_another_name_comes_back() {
        let mut group = photos();
        group.copies[0].links = every_byte().iter().map(|&b| path(&[b'/', b])).collect();
        let report = parsed(&[group]);
        let links = report["groups"][0]["files"][0]["links"].as_array().unwrap();
        let bytes: Vec<u8> = links.iter().map(|link| exact(link)[1]).collect();
        assert_eq!(bytes, every_byte());
    }

    #[test]
    fn hazards_are_escaped_and_read_back() {
        let name = "a\u{7f}\u{9b}\u{202e}\u{2028}\"\\é";
        let group = group_named(name.as_bytes(), b"other");
        assert!(text(std::slice::from_ref(&group)).contains(r#"a\u007f\u009b\u202e\u2028\"\\é"#));
        let path = &parsed(&[group])["groups"][0]["files"][0]["path"];
        assert_eq!(path, &json!(format!("/r/{name}")));
    }

    #[test]
    fn a_group_takes_one_line() {
        let report = text(&[photos(), odd_group()]);
        assert_eq!(report.lines().count(), 4);
    }
}
