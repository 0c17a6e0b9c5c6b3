//! Comma-separated values: a row per folder of a group, per pair, or per
//! difference of a pair. Cells are written as in the report of duplicates.

use std::io::{self, Write};
use std::path::Path;

use super::answer::{FolderReport, per_mille};
use crate::folders::{FolderAnswer, Identical, Similar};
use crate::report::encode::{exact_bytes, io_error, path_cell, rfc3339_nanos};
use crate::report::style::Style;

const GROUP_COLUMNS: [&str; 9] = [
    "group",
    "folders",
    "files",
    "bytes",
    "reclaimable",
    "keep",
    "path",
    "path_b64",
    "as_of_scan",
];

const PAIR_COLUMNS: [&str; 21] = [
    "pair",
    "similarity",
    "distinct_files_in_both",
    "distinct_files_in_either",
    "bytes_in_both",
    "bytes_in_either",
    "left",
    "left_b64",
    "left_contained",
    "left_files",
    "left_only_files",
    "left_only_bytes",
    "left_unchecked_files",
    "right",
    "right_b64",
    "right_contained",
    "right_files",
    "right_only_files",
    "right_only_bytes",
    "right_unchecked_files",
    "as_of_scan",
];

const DIFFERENCE_COLUMNS: [&str; 14] = [
    "pair",
    "left",
    "left_b64",
    "right",
    "right_b64",
    "difference",
    "path",
    "path_b64",
    "left_size",
    "left_mtime",
    "right_size",
    "right_mtime",
    "unchecked",
    "as_of_scan",
];

pub(crate) fn write<W: Write>(report: &FolderReport, style: Style, out: W) -> io::Result<()> {
    let as_of = report.header.as_of;
    let mut rows = Rows {
        out: ::csv::Writer::from_writer(out),
        style,
        as_of_scan: as_of
            .map(|as_of| as_of.scan.to_string())
            .unwrap_or_default(),
    };
    match &report.answer {
        FolderAnswer::Identical(identical) => rows.groups(identical)?,
        FolderAnswer::Similar(similar) if similar.detail => rows.differences(similar)?,
        FolderAnswer::Similar(similar) => rows.pairs(similar)?,
    }
    rows.out.flush()
}

struct Rows<W: Write> {
    out: ::csv::Writer<W>,
    style: Style,
    as_of_scan: String,
}

impl<W: Write> Rows<W> {
    fn groups(&mut self, identical: &Identical) -> io::Result<()> {
        self.out.write_record(GROUP_COLUMNS).map_err(io_error)?;
        for (number, group) in (1_u64..).zip(&identical.groups) {
            // The very files of the one to keep stay with it.
            let paths = group.paths.iter().enumerate();
            let paths = paths.map(|(at, path)| (at == 0, path));
            let aliases = group.aliases.iter().map(|path| (true, path));
            for (is_kept, path) in paths.chain(aliases) {
                let [name, exact] = self.path(path);
                let cells = [
                    number.to_string(),
                    group.paths.len().to_string(),
                    group.files.to_string(),
                    group.bytes.to_string(),
                    group.reclaimable.to_string(),
                    is_kept.to_string(),
                    name,
                    exact,
                    self.as_of_scan.clone(),
                ];
                self.out.write_record(cells).map_err(io_error)?;
            }
        }
        Ok(())
    }

    fn pairs(&mut self, similar: &Similar) -> io::Result<()> {
        self.out.write_record(PAIR_COLUMNS).map_err(io_error)?;
        for (number, pair) in (1_u64..).zip(&similar.pairs) {
            let measure = similar.measure;
            let (both, either) = (pair.both, pair.either);
            let mut cells = vec![
                number.to_string(),
                percent(both.weight(measure), either.weight(measure)),
                both.contents.to_string(),
                either.contents.to_string(),
                both.bytes.to_string(),
                either.bytes.to_string(),
            ];
            for (path, side) in &pair.sides {
                let all = side.all.weight(measure);
                cells.extend(self.path(path));
                cells.push(percent(all - side.only.weight(measure), all));
                let counts = [side.files, side.only_files, side.only_bytes, side.unchecked];
                cells.extend(counts.map(|count| count.to_string()));
            }
            cells.push(self.as_of_scan.clone());
            self.out.write_record(cells).map_err(io_error)?;
        }
        Ok(())
    }

    fn differences(&mut self, similar: &Similar) -> io::Result<()> {
        let columns = DIFFERENCE_COLUMNS;
        self.out.write_record(columns).map_err(io_error)?;
        for (number, pair) in (1_u64..).zip(&similar.pairs) {
            let mut shared = vec![number.to_string()];
            for (path, _) in &pair.sides {
                shared.extend(self.path(path));
            }
            let Some(differences) = &pair.differences else {
                continue;
            };
            let [left, right] = &differences.only;
            for file in left {
                let states = [Some((file.size, file.mtime_ns)), None];
                self.difference(&shared, "only_left", &file.path, states, file.is_unresolved)?;
            }
            for file in right {
                let states = [None, Some((file.size, file.mtime_ns))];
                self.difference(
                    &shared,
                    "only_right",
                    &file.path,
                    states,
                    file.is_unresolved,
                )?;
            }
            for file in &differences.changed {
                let ([left, right], [then, now]) = (file.sizes, file.mtimes_ns);
                let states = [Some((left, then)), Some((right, now))];
                self.difference(&shared, "changed", &file.path, states, false)?;
            }
        }
        Ok(())
    }

    /// A row; `states` are size and mtime, left and right.
    fn difference(
        &mut self,
        shared: &[String],
        what: &str,
        path: &Path,
        states: [Option<(u64, i64)>; 2],
        is_unchecked: bool,
    ) -> io::Result<()> {
        let mut cells = shared.to_vec();
        cells.push(what.to_owned());
        cells.extend(self.path(path));
        for state in states {
            let (size, mtime) = state.unzip();
            cells.push(size.map(|size| size.to_string()).unwrap_or_default());
            cells.push(mtime.map(rfc3339_nanos).unwrap_or_default());
        }
        cells.push(is_unchecked.to_string());
        cells.push(self.as_of_scan.clone());
        self.out.write_record(cells).map_err(io_error)
    }

    /// A path as it is written in a cell, and its exact bytes if they differ.
    fn path(&self, path: &Path) -> [String; 2] {
        let cell = path_cell(path, self.style);
        let exact = exact_bytes(path, &cell);
        [cell.into_owned(), exact]
    }
}

fn percent(part: u64, whole: u64) -> String {
    let tenths = per_mille(part, whole);
    format!("{}.{}", tenths / 10, tenths % 10)
}
