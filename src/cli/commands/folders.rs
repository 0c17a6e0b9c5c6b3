//! `dupescan folders`: finds duplicate and similar folders.

use crate::answers::FolderQuestion;
use crate::cli::args::{FoldersArgs, excluded};
use crate::cli::session::{Context, Output, header};
use crate::cli::terminal::Exit;
use crate::folders::{FolderScope, Similarity, Tuning};
use crate::report::{FolderReport, Format, text, write_folders};

pub(crate) fn run(context: &Context, mut args: FoldersArgs) -> anyhow::Result<Exit> {
    let percent = args.check()?;
    let filter = args.filter;
    let scope = FolderScope {
        min_size: filter.min_size,
        max_size: filter.max_size,
        extensions: filter.ext,
        exclude: filter.exclude,
        as_scanned: args.as_scanned,
    };
    let question = FolderQuestion {
        paths: &args.paths,
        exclude: excluded(&scope.exclude)?,
        scope: &scope,
        same_names: args.same_names,
        similarity: percent.map(|percent| Similarity {
            percent,
            measure: args.by,
            tuning: Tuning::default(),
        }),
        detail: args.detail,
        limit: args.answer.output.limit,
    };
    let catalog = context.catalog()?;
    let (header, answer) =
        catalog.in_snapshot(|| anyhow::Ok((header(&catalog)?, question.answer(&catalog)?)))?;
    let report = FolderReport {
        header,
        scope,
        answer,
    };
    let output = Output::new(context, &args.answer);
    let format = output.layout.format;
    output.write(|style, out| Ok(write_folders(&report, format, style, out)?))?;
    if format == Format::Csv {
        context.note(&text::as_of(&report.header));
    }
    Ok(Exit::Done)
}
