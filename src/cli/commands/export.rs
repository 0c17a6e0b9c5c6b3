//! `dupescan export`: writes every stored hash, for other programs.

use crate::catalog::{FileEntry, FileList};
use crate::cli::args::ExportArgs;
use crate::cli::session::{Context, Output, Question};
use crate::cli::terminal::{Exit, exit};
use crate::model::sampling::MOST_ZEROS;
use crate::model::{Algorithm, Digest};
use crate::report::text::{counted, grouped};
use crate::report::{Cell, Column, Format, Layout, Style, closing_lines, sum_line, text};

const COLUMNS: &[Column] = &[
    Column::hidden("digest"),
    Column::hidden("algorithm"),
    Column::hidden("size"),
    Column::hidden("mtime"),
    Column::hidden("path"),
];

/// The files that have a digest, and a count of those that have none.
struct Digested {
    list: FileList,
    files: u64,
    digested: u64,
    /// How sparse hashes are treated, which only dupescan makes.
    sparse: Sparse,
}

/// What becomes of files with a sparse hash.
enum Sparse {
    /// They are listed: there is a column that says what the hash is.
    Listed,
    /// They are not, and this many were met.
    Skipped(u64),
}

impl Digested {
    fn next(&mut self) -> anyhow::Result<Option<(Digest, FileEntry)>> {
        loop {
            let Some(file) = self.list.next_file()? else {
                return Ok(None);
            };
            self.files += 1;
            let Some(digest) = file.digest else {
                continue;
            };
            match &mut self.sparse {
                Sparse::Skipped(number) if digest.is_sparse() => *number += 1,
                _ => {
                    self.digested += 1;
                    return Ok(Some((digest, file)));
                }
            }
        }
    }
}

pub(crate) fn run(context: &Context, args: &ExportArgs) -> anyhow::Result<Exit> {
    let question = Question::about(context, args.path.as_deref(), &args.filter)?;
    let filter = question.excluding.filter(&args.filter);
    let algorithm = question.catalog.algorithm()?;
    let format = args.format.unwrap_or(Format::Sums(algorithm));
    check_format(format, algorithm)?;
    let list = FileList::digests(question.catalog, &question.tops, filter)?;
    let mut digested = Digested {
        list,
        files: 0,
        digested: 0,
        sparse: match format {
            Format::Sums(_) => Sparse::Skipped(0),
            _ => Sparse::Listed,
        },
    };
    let output = Output {
        context,
        layout: Layout {
            format,
            style: Style::default(),
            limit: args.output.limit,
        },
        file: args.output.output.as_deref(),
    };
    match format {
        Format::Csv | Format::Jsonl => {
            output.give(&question.header, ("files", COLUMNS), |answer| {
                while let Some((digest, file)) = digested.next()? {
                    answer.row(&row(algorithm, &digest, file))?;
                }
                answer.end(&(), &[])?;
                Ok((Vec::new(), ()))
            })?;
        }
        _ => output.write(|style, out| {
            let mut left = args.output.limit.unwrap_or(u64::MAX);
            while let Some((digest, file)) = digested.next()? {
                if left > 0 {
                    sum_line(out, style, algorithm, &digest, &file.path)?;
                    left -= 1;
                }
            }
            Ok(out.flush()?)
        })?,
    }
    if let Some(limit) = args.output.limit.filter(|limit| *limit < digested.digested) {
        let (shown, all) = (grouped(limit), grouped(digested.digested));
        context.note(&format!("showing {shown} of {all} hashes"));
    }
    let mut known = digested.digested;
    if let Sparse::Skipped(skipped @ 1..) = digested.sparse {
        known += skipped;
        context.note(&not_listed(skipped));
    }
    context.note(&coverage(context, known, digested.files));
    for line in closing_lines(&question.header, false) {
        context.note(&line);
    }
    question.excluding.note_unmatched();
    Ok(Exit::Done)
}

fn row(algorithm: Algorithm, digest: &Digest, file: FileEntry) -> [Cell; 5] {
    [
        Cell::digest(Some(*digest)),
        Cell::text(algorithm.name_of(digest)),
        Cell::Size(file.size),
        Cell::FileTime(file.mtime_ns),
        Cell::Path(file.path),
    ]
}

/// Why files that have a hash are not among the checksums.
fn not_listed(files: u64) -> String {
    format!(
        "not listed: {} with more than {} of zeros, whose hash is a sparse one, which no other \
         program computes; --format csv and jsonl list it",
        counted(files, "file", "files"),
        text::human_size(MOST_ZEROS)
    )
}

/// How many files have a hash, and how to compute the rest.
pub(crate) fn coverage(context: &Context, digested: u64, files: u64) -> String {
    let known = format!(
        "hashes for {} of {}",
        grouped(digested),
        counted(files, "file", "files")
    );
    match digested == files {
        true => known,
        false => format!(
            "{known}; `{}` computes the rest",
            context.command("audit --baseline")
        ),
    }
}

/// Checksums of one algorithm cannot be made from digests of another.
fn check_format(format: Format, algorithm: Algorithm) -> anyhow::Result<()> {
    match format {
        Format::Sums(wanted) if wanted != algorithm => Err(exit::usage(format_args!(
            "this catalog stores {algorithm} hashes: expected --format {}, csv or jsonl, not {format}",
            Format::Sums(algorithm)
        ))),
        _ => Ok(()),
    }
}
