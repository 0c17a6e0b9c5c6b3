//! `dupescan folders`: finds duplicate and similar folders.

use crate::answers::{FolderQuestion, path_named};
use crate::cli::args::FoldersArgs;
use crate::cli::session::{Context, Excluding, Output, header};
use crate::cli::terminal::Exit;
use crate::folders::{Similarity, Tuning};
use crate::model::Filters;
use crate::report::{FolderReport, Format, closing_lines, write_folders};

pub(crate) fn run(context: &Context, mut args: FoldersArgs) -> anyhow::Result<Exit> {
    let percent = args.check()?;
    let catalog = context.catalog()?;
    let excluding = Excluding::by(context, &catalog, &args.filter)?;
    let roots = catalog.roots()?;
    let paths = args.paths.iter().map(|typed| path_named(&roots, typed));
    let filters = Filters {
        as_scanned: args.as_scanned,
        ..args.filter.named(paths.collect::<Result<Vec<_>, _>>()?)
    };
    let question = FolderQuestion {
        paths: &args.paths,
        exclude: excluding.globs.clone(),
        filters: &filters,
        same_names: args.same_names,
        similarity: percent.map(|percent| Similarity {
            percent,
            measure: args.by,
            tuning: Tuning::default(),
        }),
        detail: args.detail,
        limit: args.answer.output.limit,
    };
    let (header, answer) = catalog.in_snapshot(|| {
        let answer = question.answer(&catalog)?;
        anyhow::Ok((header(&catalog, filters.clone())?, answer))
    })?;
    let report = FolderReport { header, answer };
    let output = Output::new(context, &args.answer);
    let format = output.layout.format;
    output.write(|style, out| Ok(write_folders(&report, format, style, out)?))?;
    if format == Format::Csv {
        for line in closing_lines(&report.header, output.is_exact()) {
            context.note(&line);
        }
    }
    excluding.note_unmatched();
    Ok(Exit::Done)
}
