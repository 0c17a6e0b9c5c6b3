//! `dupescan unique [PATH]`: lists files without a copy, or with too few.

use serde::Serialize;

use crate::catalog::{FewTotals, FileList};
use crate::cli::args::UniqueArgs;
use crate::cli::session::{Context, Output, Question};
use crate::cli::terminal::Exit;
use crate::report::{Cell, Column, files_and_bytes};

const COLUMNS: [Column; 7] = columns(Column::hidden("copies"));
/// With more than one copy, their number is worth a column.
const COPIES_TOO: [Column; 7] = columns(Column::new("copies", "COPIES", 6));

const fn columns(copies: Column) -> [Column; 7] {
    [
        Column::new("status", "STATUS", 9),
        copies,
        Column::new("size", "SIZE", 10),
        Column::hidden("mtime"),
        Column::new("path", "PATH", 0),
        Column::hidden("names"),
        Column::hidden("digest"),
    ]
}

#[derive(Debug, Serialize)]
struct Totals {
    copies_under: u64,
    files: u64,
    bytes: u64,
    unchecked_files: u64,
    unchecked_bytes: u64,
}

impl Totals {
    fn new(found: FewTotals, copies_under: u64) -> Self {
        Self {
            copies_under,
            files: found.files,
            bytes: found.bytes,
            unchecked_files: found.unchecked_files,
            unchecked_bytes: found.unchecked_bytes,
        }
    }

    fn sentences(&self, is_exact: bool) -> Vec<String> {
        let found = files_and_bytes(self.files, self.bytes, is_exact);
        let mut lines = vec![match self.copies_under {
            2 => format!("{found} without a copy"),
            under => format!("{found} with fewer than {under} copies"),
        }];
        if self.unchecked_files > 0 {
            let (files, bytes) = (self.unchecked_files, self.unchecked_bytes);
            let files = files_and_bytes(files, bytes, is_exact);
            lines.push(format!(
                "{files} unchecked: a possible copy was not fully read, or is corrupted"
            ));
        }
        lines
    }
}

pub(crate) fn run(context: &Context, args: &UniqueArgs) -> anyhow::Result<Exit> {
    let question = Question::about(context, args.path.as_deref(), &args.filter)?;
    let filter = question.excluding.filter(&args.filter);
    let tops = &question.tops;
    let wanted = (args.copies_under, args.answer.output.limit);
    let (mut list, found) = FileList::of_few_copies(question.catalog, tops, filter, wanted)?;
    let columns = match args.copies_under {
        ..=2 => &COLUMNS,
        _ => &COPIES_TOO,
    };
    let output = Output::new(context, &args.answer);
    output.give(&question.header, ("files", columns), |answer| {
        let totals = Totals::new(found, args.copies_under);
        let mut left = found.files + found.unchecked_files;
        while answer.has_room()
            && let Some(file) = list.next_file()?
        {
            left = left.saturating_sub(1);
            answer.row(&[
                Cell::text(file.verdict.name()),
                Cell::Count(file.copies),
                Cell::Size(file.size),
                Cell::FileTime(file.mtime_ns),
                Cell::Path(file.path),
                Cell::Count(file.links.len() as u64 + 1),
                Cell::digest(file.digest),
            ])?;
        }
        answer.skip(left);
        let left = answer.end(&totals, &totals.sentences(output.is_exact()))?;
        Ok((left, ()))
    })?;
    question.excluding.note_unmatched();
    Ok(Exit::Done)
}
