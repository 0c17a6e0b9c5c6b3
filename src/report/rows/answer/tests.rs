use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::model::is_hazardous;
use crate::report::groups::{Pipe, header};

const COLUMNS: &[Column] = &[
    Column::new("answer", "ANSWER", 8),
    Column::new("size", "SIZE", 9),
    Column::hidden("growth"),
    Column::new("path", "PATH", 0),
];

fn layout(format: Format, style: Style, limit: Option<u64>) -> Layout {
    Layout {
        format,
        style,
        limit,
    }
}

fn rows() -> Vec<[Cell; 4]> {
    let name = |bytes: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
    vec![
        [
            Cell::text("unique"),
            Cell::Size(1_234_567),
            Cell::Growth(-3),
            Cell::Path(name(b"/a/plain")),
        ],
        [
            Cell::text("=sum"),
            Cell::Size(0),
            Cell::Nothing,
            Cell::Path(name(b"/\x1b[31m\n\xff\xe2\x80\xae,\"")),
        ],
        [
            Cell::text("long"),
            Cell::Size(1),
            Cell::Growth(0),
            Cell::Path(name("/写真".repeat(60).as_bytes())),
        ],
    ]
}

fn written(format: Format, style: Style, limit: Option<u64>) -> (String, Vec<String>) {
    let header = header();
    let mut out = Vec::new();
    let mut answer = Answer::new(
        layout(format, style, limit),
        &header,
        ("rows", COLUMNS),
        &mut out,
    );
    answer.begin().unwrap();
    for row in rows() {
        answer.row(&row).unwrap();
    }
    let left = answer
        .end(&json!({"rows": 3}), &["three rows".to_owned()])
        .unwrap();
    (String::from_utf8(out).unwrap(), left)
}

const FORMATS: [Format; 4] = [Format::Table, Format::Json, Format::Jsonl, Format::Csv];

#[test]
fn json_keeps_the_order_of_the_columns_and_the_exact_bytes() {
    let (text, left) = written(Format::Json, Style::default(), Some(2));
    let document: Value = serde_json::from_str(&text).unwrap();
    assert!(text.contains(r#"{"answer":"unique","size":1234567,"growth":-3,"path":"/a/plain"}"#));
    assert_eq!(document["rows"].as_array().unwrap().len(), 2);
    assert_eq!(document["rows"][1]["path_b64"], "LxtbMzFtCv/igK4sIg==");
    assert_eq!(document["rows"][1]["growth"], Value::Null);
    assert_eq!(document["totals"]["rows"], 3);
    assert_eq!(document["as_of"]["scan"], 12);
    assert_eq!(left, [""; 0]);
    let (text, _) = written(Format::Jsonl, Style::default(), None);
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["as_of_scan"], 12);
}

#[test]
fn csv_neutralises_formulas_and_leaves_the_sums_to_standard_error() {
    let (text, left) = written(Format::Csv, Style::default(), None);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let keys = ["answer", "size", "growth", "path", "path_b64", "as_of_scan"];
    assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), keys);
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(&rows[0][2], "-3");
    assert_eq!(
        (&rows[1][0], &rows[1][4]),
        ("'=sum", "LxtbMzFtCv/igK4sIg==")
    );
    assert_eq!((&rows[0][4], &rows[0][5]), ("", "12"));
    assert_eq!(left[0], "three rows");
    assert!(left[1].starts_with("as of scan 12"));
}

#[test]
fn a_terminal_sees_no_control_character_and_no_line_that_is_too_long() {
    for width in [40, 80, 200] {
        let style = Style {
            terminal: true,
            width: Some(width),
            ..Style::default()
        };
        for format in FORMATS {
            let (text, _) = written(format, style, None);
            let raw = text.chars().find(|&c| c != '\n' && is_hazardous(c));
            assert_eq!(raw, None, "{text}");
        }
        let (table, _) = written(Format::Table, style, None);
        for line in table.lines() {
            assert!(line.width() <= usize::from(width), "{width}: {line}");
        }
    }
}

#[test]
fn a_table_rounds_unless_told_otherwise() {
    let (table, left) = written(Format::Table, Style::default(), Some(1));
    assert!(table.contains("unique      1.2 MiB  /a/plain\n"), "{table}");
    assert!(
        table.contains("showing 1 of 3 rows\nthree rows\nas of scan 12"),
        "{table}"
    );
    assert_eq!(left, [""; 0]);
    let exact = Style {
        exact_bytes: true,
        ..Style::default()
    };
    let (table, _) = written(Format::Table, exact, None);
    assert!(
        table.contains("unique            1,234,567  /a/plain\n"),
        "{table}"
    );
}

#[test]
fn a_closed_pipe_is_reported_wherever_it_closes() {
    let header = header();
    for format in FORMATS {
        let whole = written(format, Style::default(), None).0.len();
        for room in 0..whole {
            let mut pipe = Pipe::with_room(room);
            let mut write = || -> io::Result<()> {
                let shape = ("rows", COLUMNS);
                let style = Style::default();
                let mut answer =
                    Answer::new(layout(format, style, None), &header, shape, &mut pipe);
                answer.begin()?;
                for row in rows() {
                    answer.row(&row)?;
                }
                answer.end(&json!({"rows": 3}), &["three rows".to_owned()])?;
                Ok(())
            };
            let error = write().unwrap_err();
            assert_eq!(
                error.kind(),
                io::ErrorKind::BrokenPipe,
                "{format:?} after {room}"
            );
        }
    }
}

#[test]
fn paths_in_lines_lose_their_middle_on_a_terminal_only() {
    let path = PathBuf::from("/写真".repeat(30)).join("last\n");
    let line = |format, width| {
        let (header, mut out) = (header(), Vec::new());
        let style = Style {
            width,
            ..Style::default()
        };
        let mut answer = Answer::new(
            layout(format, style, None),
            &header,
            ("rows", COLUMNS),
            &mut out,
        );
        answer.path_line("    ", &path, " (offline)").unwrap();
        String::from_utf8(out).unwrap()
    };
    let narrow = line(Format::Table, Some(80));
    assert!(narrow.trim_end().width() <= 80, "{narrow}");
    assert!(
        narrow.ends_with("last\\n (offline)\n") && narrow.contains('…'),
        "{narrow}"
    );
    assert!(line(Format::Table, Some(5)).contains('…'));
    let whole = format!("    {} (offline)\n", escape(&path));
    assert_eq!(line(Format::Table, None), whole);
    assert_eq!(line(Format::Json, Some(80)), "");
}
