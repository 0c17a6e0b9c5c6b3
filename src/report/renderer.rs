//! The renderer behind each output format of a report.

use std::io::{BufWriter, Write};

use super::format::Format;
use super::groups::{Render, csv, fdupes, json, jsonl, table};
use super::html;
use super::style::Style;

/// The renderer of one of [`Format::OF_REPORTS`]; it buffers, so `out` need not.
pub fn renderer<'w, W: Write + 'w>(format: Format, style: Style, out: W) -> Box<dyn Render + 'w> {
    match format {
        Format::Table => Box::new(table::Table::new(style, BufWriter::new(out))),
        Format::Json => Box::new(json::Json::new(BufWriter::new(out))),
        Format::Jsonl => Box::new(jsonl::Jsonl::new(BufWriter::new(out))),
        Format::Csv => Box::new(csv::Csv::new(style, out)),
        Format::Fdupes => Box::new(fdupes::Fdupes::new(style, BufWriter::new(out))),
        Format::Paths => Box::new(fdupes::Fdupes::flat(style, BufWriter::new(out))),
        Format::Html => Box::new(html::Html::new(BufWriter::new(out))),
        Format::Sums(_) => unreachable!("checksums are the format of an export"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use std::io;

    use super::*;
    use crate::model::{Group, is_hazardous};
    use crate::report::groups::{CountingWriter, Pipe, header, odd_group, photos, render, totals};

    #[test]
    fn a_closed_pipe_is_reported_wherever_it_closes() {
        let groups = [photos(), odd_group()];
        for format in Format::OF_REPORTS {
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
        for format in Format::OF_REPORTS {
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
        for format in Format::OF_REPORTS {
            let text = String::from_utf8(render(format, style, &[odd_group()])).unwrap();
            let raw = text
                .chars()
                .find(|&character| character != '\n' && is_hazardous(character));
            assert_eq!(raw, None, "{format}: {text}");
        }
    }

    #[test]
    fn output_ends_with_its_last_line() {
        for format in Format::OF_REPORTS {
            let bytes = render(format, Style::default(), &[photos()]);
            assert!(bytes.ends_with(b"\n"), "{format}");
            assert!(!bytes.ends_with(b"\n\n"), "{format}");
        }
    }

    #[test]
    fn groups_are_written_as_they_come() {
        let groups = vec![photos(); 1000];
        for format in Format::OF_REPORTS {
            let whole = render(format, Style::default(), &groups).len();
            let written = Cell::new(0);
            let mut report = renderer(format, Style::default(), CountingWriter(&written));
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
