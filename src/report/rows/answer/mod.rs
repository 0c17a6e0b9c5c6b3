//! Answers that are a list of files or scans: one set of columns, written as a
//! table, as one JSON document, as JSON lines or as CSV. Rows are written as they
//! come, totals at the end.

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::model::escape;
use crate::report::encode::{
    base64, begin_list, end_list, exact_bytes, io_error, path_cell, write_value,
};
use crate::report::filters::closing_lines;
use crate::report::format::Format;
use crate::report::rows::cell::{Cell, Column};
use crate::report::style::{Header, Style};
use crate::report::text::{counted, grouped, shorten_middle, size};

/// Least width of a path, however long the words beside it.
const LEAST_PATH: usize = 16;
/// Width of a size to the byte, up to 9 TB.
const EXACT_SIZE: usize = 17;

/// Writes one answer in one of [`Format::OF_ROWS`] or as JSON lines: `begin`,
/// then every row, then `end`. The caller buffers.
pub struct Answer<'a, W: Write> {
    layout: Layout,
    header: &'a Header,
    list: &'static str,
    columns: &'static [Column],
    rows: u64,
    out: W,
}

/// How the rows of an answer are written.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    /// The output format.
    pub format: Format,
    /// How it should look.
    pub style: Style,
    /// Rows at most.
    pub limit: Option<u64>,
}

impl<'a, W: Write> Answer<'a, W> {
    /// An answer whose rows are called `list`.
    pub fn new(
        layout: Layout,
        header: &'a Header,
        (list, columns): (&'static str, &'static [Column]),
        out: W,
    ) -> Self {
        Self {
            layout,
            header,
            list,
            columns,
            rows: 0,
            out,
        }
    }

    fn limit(&self) -> u64 {
        self.layout.limit.unwrap_or(u64::MAX)
    }

    /// Whether the limit leaves room for another row.
    pub fn has_room(&self) -> bool {
        self.rows < self.limit()
    }

    /// Writes what comes before the first row.
    pub fn begin(&mut self) -> io::Result<()> {
        match self.layout.format {
            Format::Json => begin_list(&mut self.out, self.header, self.list),
            Format::Csv => {
                let mut names = Vec::new();
                for column in self.columns {
                    names.push(column.key.to_owned());
                    if is_path(column) {
                        names.push(format!("{}_b64", column.key));
                    }
                }
                names.push("as_of_scan".to_owned());
                self.csv_line(&names)
            }
            _ => Ok(()),
        }
    }

    /// Writes a line into a table; other formats have no place for it.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        match self.layout.format {
            Format::Table => writeln!(self.out, "{text}"),
            _ => Ok(()),
        }
    }

    /// Writes a line with a path into a table; the middle of the path is cut out
    /// if the terminal is too narrow.
    pub fn path_line(&mut self, before: &str, path: &Path, after: &str) -> io::Result<()> {
        let mut path = escape(path);
        if let Some(width) = self.layout.style.width {
            let room = usize::from(width).saturating_sub(before.width() + after.width());
            path = shorten_middle(&path, room.max(LEAST_PATH));
        }
        self.line(&format!("{before}{path}{after}"))
    }

    /// Writes the next row, one cell a column, unless the limit is reached.
    pub fn row(&mut self, cells: &[Cell]) -> io::Result<()> {
        self.rows += 1;
        if self.rows > self.limit() {
            return Ok(());
        }
        match self.layout.format {
            // Without columns for tables, the lines say it all.
            Format::Table if self.columns.iter().all(|column| column.table.is_none()) => Ok(()),
            Format::Table => {
                if self.rows == 1 {
                    self.headings(cells)?;
                }
                self.table_row(cells)
            }
            Format::Json => {
                let separator: &[u8] = if self.rows > 1 { b",\n" } else { b"\n" };
                self.out.write_all(separator)?;
                let object = self.object(Vec::new(), cells);
                write_value(&mut self.out, &object)
            }
            Format::Jsonl => {
                let scan = self.header.as_of.map(|as_of| as_of.scan.0);
                let object = self.object(vec![("as_of_scan".to_owned(), scan.into())], cells);
                write_value(&mut self.out, &object)?;
                self.out.write_all(b"\n")
            }
            Format::Csv => self.csv_row(cells),
            _ => Ok(()),
        }
    }

    /// Counts rows for which the limit leaves no room.
    pub fn skip(&mut self, rows: u64) {
        self.rows += rows;
    }

    /// Writes the totals: `sentences` for people, `totals` for programs. Returns
    /// what has no place in the format and belongs on standard error.
    pub fn end(
        &mut self,
        totals: &impl Serialize,
        sentences: &[String],
    ) -> io::Result<Vec<String>> {
        let mut sentences = sentences.to_vec();
        if self.rows > self.limit() {
            let (shown, all) = (grouped(self.limit()), grouped(self.rows));
            sentences.insert(0, format!("showing {shown} of {all} {}", self.list));
        }
        let is_exact = self.layout.style.exact_bytes;
        sentences.extend(closing_lines(self.header, is_exact));
        match self.layout.format {
            Format::Table => {
                if self.rows > 0 {
                    writeln!(self.out)?;
                }
                for sentence in &sentences {
                    writeln!(self.out, "{sentence}")?;
                }
                sentences.clear();
            }
            Format::Json => {
                end_list(&mut self.out, self.rows == 0, totals)?;
                sentences.clear();
            }
            _ => {}
        }
        self.out.flush()?;
        Ok(sentences)
    }

    fn headings(&mut self, cells: &[Cell]) -> io::Result<()> {
        let mut line = String::new();
        let shown = self.columns.iter().zip(cells);
        for (column, cell) in shown {
            if let Some((heading, width)) = self.shown(column) {
                push_cell(
                    &mut line,
                    heading,
                    width,
                    cell.is_number() || is_size(column),
                );
            }
        }
        let line = line.trim_end().to_owned();
        writeln!(self.out, "{line}")?;
        let width = self.layout.style.width.unwrap_or(60).min(60);
        writeln!(self.out, "{}", "─".repeat(width.into()))
    }

    /// A column's heading and width in this table.
    fn shown(&self, column: &Column) -> Option<(&'static str, usize)> {
        let (heading, width) = column.table?;
        Some(match self.layout.style.exact_bytes && is_size(column) {
            true => (heading, width.max(EXACT_SIZE)),
            false => (heading, width),
        })
    }

    fn table_row(&mut self, cells: &[Cell]) -> io::Result<()> {
        let mut line = String::new();
        for (column, cell) in self.columns.iter().zip(cells) {
            if let Some((_, width)) = self.shown(column) {
                let text = cell.shown(self.layout.style, line.len());
                push_cell(&mut line, &text, width, cell.is_number());
            }
        }
        writeln!(self.out, "{}", line.trim_end())
    }

    fn object(&self, mut fields: Vec<(String, Value)>, cells: &[Cell]) -> Object {
        for (column, cell) in self.columns.iter().zip(cells) {
            fields.push((column.key.to_owned(), cell.json()));
            if let Cell::Path(path) = cell
                && path.to_str().is_none()
            {
                fields.push((format!("{}_b64", column.key), base64(path).into()));
            }
        }
        Object(fields)
    }

    fn csv_row(&mut self, cells: &[Cell]) -> io::Result<()> {
        let mut line = Vec::new();
        for (column, cell) in self.columns.iter().zip(cells) {
            match cell {
                Cell::Path(path) => {
                    let text = path_cell(path, self.layout.style);
                    let exact = exact_bytes(path, &text);
                    line.extend([text.into_owned(), exact]);
                }
                _ => {
                    line.push(cell.csv());
                    if is_path(column) {
                        line.push(String::new());
                    }
                }
            }
        }
        let scan = self.header.as_of.map(|as_of| as_of.scan.to_string());
        line.push(scan.unwrap_or_default());
        self.csv_line(&line)
    }

    fn csv_line(&mut self, cells: &[String]) -> io::Result<()> {
        let mut line = ::csv::Writer::from_writer(Vec::new());
        line.write_record(cells).map_err(io_error)?;
        let line = line.into_inner().map_err(|error| error.into_error())?;
        self.out.write_all(&line)
    }
}

/// A JSON object with its fields in the order of the columns.
struct Object(Vec<(String, Value)>);

impl Serialize for Object {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// Columns of paths are known by their keys.
fn is_path(column: &Column) -> bool {
    matches!(column.key, "path" | "file" | "root")
}

fn push_cell(line: &mut String, text: &str, width: usize, is_number: bool) {
    use std::fmt::Write;
    let written = match is_number {
        true => write!(line, "{text:>width$}  "),
        false => write!(line, "{text:<width$}  "),
    };
    written.expect("writing to a String cannot fail");
}

/// Columns of sizes are known by their keys.
fn is_size(column: &Column) -> bool {
    matches!(column.key, "size" | "reclaimable")
}

/// A number of files and their bytes: `3 files, 1.2 MiB`, or to the byte.
pub fn files_and_bytes(files: u64, bytes: u64, is_exact: bool) -> String {
    let files = counted(files, "file", "files");
    format!("{files}, {}", size(bytes, is_exact))
}
