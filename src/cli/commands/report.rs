//! `dupescan report`: lists the duplicate groups of the catalog.

use std::path::PathBuf;

use crate::answers::{Groups, Skipped, place_ever};
use crate::catalog::{GroupFilter, ReadOnly};
use crate::cli::args::{Keep, ReportArgs};
use crate::cli::session::{Context, Output, header};
use crate::cli::terminal::{Exit, exit};
use crate::report::{Format, Header, Layout, Render, Style, renderer, text};
use crate::scan::Notice;

pub(crate) fn run(context: &Context, args: &ReportArgs) -> anyhow::Result<Exit> {
    args.check()?;
    let format = args.format();
    if format == Format::Html && args.output.is_none() && context.terminal {
        return Err(exit::usage(
            "refusing to print HTML to a terminal: write it to a file, for instance with \
             --output dupes.html",
        ));
    }
    let catalog = context.catalog()?;
    let header = header(&catalog)?;
    let below = args.paths.iter();
    let below = below.map(|typed| place_ever(&catalog, typed));
    let below: Vec<_> = below.collect::<Result<_, _>>()?;
    for root in catalog.roots()? {
        for notice in Notice::of_whole_paths(&args.filter.exclude, &root.path) {
            context.note(&notice.to_string());
        }
    }
    let filter = filter(&catalog, args, below)?;
    let corrupted = catalog.corrupted()?.len() as u64;
    let groups = Groups::new(catalog, filter, args.check)?;
    let output = Output {
        context,
        layout: Layout {
            format,
            style: Style {
                links: args.links,
                nul: args.null,
                keeps_first: args.keep == Keep::First,
                exact_bytes: args.bytes,
                ..Style::default()
            },
            limit: args.limit,
        },
        file: args.output.as_deref(),
    };
    let skipped =
        output.write(|style, out| write(groups, &header, renderer(format, style, out)))?;
    if format.notes_limit() && skipped.groups > 0 {
        let shown = args.limit.unwrap_or(0);
        let all = text::counted(shown + skipped.groups, "group", "groups");
        context.note(&format!("showing {} of {all}", text::grouped(shown)));
    }
    if format.notes_scan() {
        context.note(&text::as_of(&header));
    }
    for sentence in sentences(skipped) {
        context.note(&sentence);
    }
    if corrupted > 0 {
        let files = text::counted(corrupted, "corrupted file", "corrupted files");
        let audit = context.command("audit");
        context.note(&format!("{files} skipped (bit rot, see `{audit}`)"));
    }
    Ok(Exit::Done)
}

fn filter(
    catalog: &ReadOnly,
    args: &ReportArgs,
    below: Vec<PathBuf>,
) -> anyhow::Result<GroupFilter> {
    let algorithm = catalog.algorithm()?;
    let files = args.filter.filter()?;
    Ok(GroupFilter {
        min_count: args.min_count,
        min_size: files.min_size,
        max_size: files.max_size,
        empty: args.empty.then(|| algorithm.digest_of_nothing()),
        across: args.across,
        below,
        extensions: files.extensions,
        exclude: files.exclude,
        order: args.sort,
        limit: args.limit,
        ..GroupFilter::default()
    })
}

fn write(
    mut groups: Groups,
    header: &Header,
    mut report: Box<dyn Render + '_>,
) -> anyhow::Result<Skipped> {
    report.begin(header)?;
    while let Some(group) = groups.next_group()? {
        report.group(&group)?;
    }
    let (totals, skipped) = groups.end();
    report.end(&totals)?;
    Ok(skipped)
}

fn sentences(skipped: Skipped) -> Vec<String> {
    let mut sentences = Vec::new();
    let reasons = [
        (skipped.offline, "offline"),
        (skipped.outdated, "missing or changed since the scan"),
    ];
    for (copies, why) in reasons.into_iter().filter(|(copies, _)| *copies > 0) {
        let copies = text::counted(copies, "copy", "copies");
        sentences.push(format!("--check skipped {copies}: {why}"));
    }
    if skipped.is_cut {
        let cut = "--limit reached: further groups were neither checked nor counted";
        sentences.push(cut.to_owned());
    }
    sentences
}
