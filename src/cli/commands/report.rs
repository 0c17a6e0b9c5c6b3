//! `dupescan report`: lists the duplicate groups of the catalog.

use std::path::PathBuf;

use crate::answers::{Groups, Skipped, place_ever};
use crate::catalog::{GroupFilter, ReadOnly};
use crate::cli::args::ReportArgs;
use crate::cli::session::{Context, Excluding, Output, header, keep_rules};
use crate::cli::terminal::{Exit, exit};
use crate::model::{Algorithm, Filters, KeepOrder};
use crate::report::{Format, Header, Layout, Render, Style, closing_lines, renderer, text};

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
    let below = args.paths.iter();
    let below = below.map(|typed| place_ever(&catalog, typed));
    let below: Vec<_> = below.collect::<Result<_, _>>()?;
    let excluding = Excluding::by(context, &catalog, &args.filter)?;
    let filters = Filters {
        min_count: (args.min_count > 2).then_some(args.min_count),
        across: args.across,
        check: args.check,
        ..args.filter.named(below.clone())
    };
    let header = Header {
        keep: args
            .keep
            .iter()
            .map(|rule| rule.to_string_lossy().into_owned())
            .collect(),
        ..header(&catalog, filters)?
    };
    let algorithm = catalog.algorithm()?;
    let filter = || filter(algorithm, args, (below.clone(), &excluding));
    let order = keep_order(&catalog, args, filter)?;
    let corrupted = catalog.corrupted()?.len() as u64;
    let for_marks = catalog.sibling()?;
    let mut groups = Groups::new(catalog, filter(), args.check)?;
    if let Some(order) = order {
        groups = groups.marking(for_marks, order);
    }
    let output = Output {
        context,
        layout: Layout {
            format,
            style: Style {
                links: args.links,
                nul: args.null,
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
        for line in closing_lines(&header, args.bytes) {
            context.note(&line);
        }
    }
    for sentence in sentences(skipped) {
        context.note(&sentence);
    }
    excluding.note_unmatched();
    if corrupted > 0 {
        let files = text::counted(corrupted, "corrupted file", "corrupted files");
        let audit = context.command("audit");
        context.note(&format!("{files} skipped (bit rot, see `{audit}`)"));
    }
    Ok(Exit::Done)
}

/// The order that marks the copy to keep, where one is asked for.
fn keep_order(
    catalog: &ReadOnly,
    args: &ReportArgs,
    filter: impl FnOnce() -> GroupFilter,
) -> anyhow::Result<Option<KeepOrder>> {
    let rules = match args.keep.as_slice() {
        [] => return Ok(None),
        // Without a rule, paths decide.
        [one] if one == "first" => Vec::new(),
        rules => keep_rules(catalog, rules)?,
    };
    let mut order = KeepOrder::of(rules);
    let all = || GroupFilter {
        limit: None,
        ..filter()
    };
    catalog.count_for(&mut order, all)?;
    Ok(Some(order))
}

fn filter(
    algorithm: Algorithm,
    args: &ReportArgs,
    (below, excluding): (Vec<PathBuf>, &Excluding<'_>),
) -> GroupFilter {
    let files = excluding.filter(&args.filter);
    GroupFilter {
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
    }
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
