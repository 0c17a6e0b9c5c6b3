//! The output formats of a report, and the renderer behind each.

use std::fmt;
use std::io::{BufWriter, Write};
use std::str::FromStr;

use super::groups::{Render, csv, fdupes, json, jsonl, table};
use super::html;
use super::style::Style;

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// A listing for people.
    Table,
    /// One JSON document.
    Json,
    /// One JSON object a line, each a group.
    Jsonl,
    /// One row a name, for spreadsheets.
    Csv,
    /// One path a line and a blank line between groups, as fdupes prints them.
    Fdupes,
    /// One self-contained page for a browser.
    Html,
}

impl Format {
    /// Every format, in the order in which help and messages list them.
    pub const ALL: [Self; 6] = [
        Self::Table,
        Self::Json,
        Self::Jsonl,
        Self::Csv,
        Self::Fdupes,
        Self::Html,
    ];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Fdupes => "fdupes",
            Self::Html => "html",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| "expected table, json, jsonl, csv, fdupes or html".to_owned())
    }
}

/// The renderer of a format; it buffers, so `out` need not.
pub fn renderer<'w, W: Write + 'w>(format: Format, style: Style, out: W) -> Box<dyn Render + 'w> {
    match format {
        Format::Table => Box::new(table::Table::new(style, BufWriter::new(out))),
        Format::Json => Box::new(json::Json::new(BufWriter::new(out))),
        Format::Jsonl => Box::new(jsonl::Jsonl::new(BufWriter::new(out))),
        Format::Csv => Box::new(csv::Csv::new(style, out)),
        Format::Fdupes => Box::new(fdupes::Fdupes::new(style, BufWriter::new(out))),
        Format::Html => Box::new(html::Html::new(BufWriter::new(out))),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::model::{Group, is_hazardous};
    use crate::report::groups::{Counter, Pipe, header, odd_group, photos, render, totals};
    use std::io;

    #[test]
    fn format_names_round_trip() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        let error = "xml".parse::<Format>().unwrap_err();
        assert!(error.contains("jsonl"), "{error}");
        assert_eq!(format!("[{:>6}]", Format::Csv), "[   csv]");
    }

    #[test]
    fn a_closed_pipe_is_reported_wherever_it_closes() {
        let groups = [photos(), odd_group()];
        for format in Format::ALL {
            let whole = render(format, Style::default(), &groups).len();
            // A page is long, and most of it is the same in every report.
            for room in (0..whole).step_by(1 + whole / 5000) {
                let mut pipe = Pipe::with_room(room);
                let error = write_report(format, &mut pipe, &groups).unwrap_err();
                assert_eq!(
                    error.kind(),
                    io::ErrorKind::BrokenPipe,
                    "{format} after {room} bytes"
                );
            }
            write_report(format, &mut Pipe::with_room(whole), &groups).unwrap();
        }
    }

    #[test]
    fn a_failing_flush_is_reported() {
        for format in Format::ALL {
            let error = write_report(format, &mut Pipe::that_cannot_flush(), &[]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{format}");
        }
    }

    #[test]
    fn a_terminal_never_sees_a_control_character_from_a_name() {
        let style = Style {
            links: true,
            terminal: true,
            ..Style::default()
        };
        for format in Format::ALL {
            let text = String::from_utf8(render(format, style, &[odd_group()])).unwrap();
            let raw = text
                .chars()
                .find(|&character| character != '\n' && is_hazardous(character));
            assert_eq!(raw, None, "{format}: {text}");
        }
    }

    #[test]
    fn output_ends_with_its_last_line() {
        for format in Format::ALL {
            let bytes = render(format, Style::default(), &[photos()]);
            assert!(bytes.ends_with(b"\n"), "{format}");
            assert!(!bytes.ends_with(b"\n\n"), "{format}");
        }
    }

    #[test]
    fn groups_are_written_as_they_come() {
        let groups = vec![photos(); 1000];
        for format in Format::ALL {
            let whole = render(format, Style::default(), &groups).len();
            let written = Cell::new(0);
            let mut report = renderer(format, Style::default(), Counter(&written));
            report.begin(&header()).unwrap();
            groups.iter().for_each(|group| report.group(group).unwrap());
            let held_back = whole - written.get();
            assert!(held_back < 16 * 1024, "{format} holds {held_back} bytes");
        }
    }

    fn write_report(format: Format, pipe: &mut Pipe, groups: &[Group]) -> io::Result<()> {
        let mut report = renderer(format, Style::default(), pipe);
        report.begin(&header())?;
        for group in groups {
            report.group(group)?;
        }
        report.end(&totals(groups))
    }
}
