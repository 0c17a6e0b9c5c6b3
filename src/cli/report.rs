//! `dupescan report`: prints the duplicate groups of the catalog.

use std::io::Write;
use std::path::PathBuf;

use super::args::answer::exclusion;
use super::args::{ReportArgs, ReportFormat};
use super::check::Checker;
use super::context::Context;
use super::exit::{self, Exit};
use super::{outfile, output, paths};
use crate::catalog::{GroupFilter, GroupList, ReadOnly};
use crate::model::{Group, Timestamp, Totals};
use crate::report::{Format, Header, Render, Style, renderer, text};

pub(super) fn run(context: &Context, args: &ReportArgs) -> anyhow::Result<Exit> {
    args.check()?;
    if args.format == ReportFormat::Html && args.output.is_none() && context.terminal {
        return Err(exit::usage(
            "an HTML report is a page for a browser, not for a terminal: name a file, \
             for instance --output dupes.html",
        ));
    }
    let catalog = context.catalog()?;
    let at_catalog = |error| context.at_catalog(error);
    let header = header(&catalog).map_err(at_catalog)?;
    let check = match args.check {
        true => Some(Checker::new(catalog.roots().map_err(at_catalog)?)),
        false => None,
    };
    let below = below(context, &catalog, args)?;
    let filter = filter(context, &catalog, args, below.clone())?;
    let rotten = catalog.rotten().map_err(at_catalog)?.len() as u64;
    let source = Source {
        groups: GroupList::build(catalog, filter).map_err(at_catalog)?,
        check,
        below,
        args,
        context,
    };
    write(context, args, &header, source)?;
    let format = Format::from(args.format);
    if matches!(format, Format::Jsonl | Format::Csv | Format::Fdupes) {
        context.note(&text::as_of(&header));
    }
    if rotten > 0 {
        let files = text::counted(rotten, "file is", "files are");
        let audit = context.command("audit");
        context.note(&format!("{files} left out as no copy: rotten (`{audit}`)"));
    }
    Ok(Exit::Done)
}

/// When a question is asked, and up to which scan the answer holds.
pub(super) fn header(catalog: &ReadOnly) -> Result<Header, crate::catalog::CatalogError> {
    Ok(Header {
        generated_at: Timestamp::now(),
        as_of: catalog.as_of()?,
        unfinished: catalog.unfinished_scans()?.len(),
    })
}

fn below(context: &Context, catalog: &ReadOnly, args: &ReportArgs) -> anyhow::Result<Vec<PathBuf>> {
    let roots = catalog.roots().map_err(|error| context.at_catalog(error))?;
    args.paths
        .iter()
        .map(|path| paths::place_named(&roots, path))
        .collect()
}

fn filter(
    context: &Context,
    catalog: &ReadOnly,
    args: &ReportArgs,
    below: Vec<PathBuf>,
) -> anyhow::Result<GroupFilter> {
    let algorithm = catalog
        .algorithm()
        .map_err(|error| context.at_catalog(error))?;
    Ok(GroupFilter {
        min_count: args.min_count,
        min_size: args.min_size,
        max_size: args.max_size,
        empty: args.empty.then(|| algorithm.digest_of_nothing()),
        across: args.across,
        below,
        extensions: args.ext.clone(),
        exclude: exclusion(&args.exclude)?,
        order: args.sort.into(),
        // With --check the limit is on groups that pass it.
        limit: args.limit.filter(|_| !args.check),
        ..GroupFilter::default()
    })
}

fn write(
    context: &Context,
    args: &ReportArgs,
    header: &Header,
    source: Source<'_>,
) -> anyhow::Result<()> {
    let format = Format::from(args.format);
    let style = Style {
        links: args.links,
        nul: args.null,
        exact_bytes: args.bytes,
        ..Style::default()
    };
    match &args.output {
        Some(file) => outfile::fill(file, &context.config.db, |out| {
            source.render(header, renderer(format, style, out))
        }),
        None => {
            let style = context.on_stdout(style);
            let mut stdout = output::stdout();
            source.render(header, renderer(format, style, &mut stdout))?;
            Ok(stdout.flush()?)
        }
    }
}

/// The groups to print, checked on the way when that was asked for.
struct Source<'a> {
    groups: GroupList,
    check: Option<Checker>,
    below: Vec<PathBuf>,
    args: &'a ReportArgs,
    context: &'a Context,
}

impl Source<'_> {
    fn render(mut self, header: &Header, mut report: Box<dyn Render + '_>) -> anyhow::Result<()> {
        let mut printed = Totals {
            undetermined: self.groups.totals().undetermined,
            ..Totals::default()
        };
        report.begin(header)?;
        while let Some(group) = self.next()? {
            printed.groups += 1;
            printed.copies += group.copies.len() as u64;
            printed.reclaimable = printed.reclaimable.saturating_add(group.reclaimable());
            report.group(&group)?;
            if self.args.limit == Some(printed.groups) {
                break;
            }
        }
        let totals = match self.check {
            Some(_) => printed,
            None => self.groups.totals(),
        };
        Ok(report.end(&totals)?)
    }

    fn next(&mut self) -> anyhow::Result<Option<Group>> {
        loop {
            let next = self.groups.next_group();
            let Some(group) = next.map_err(|error| self.context.at_catalog(error))? else {
                return Ok(None);
            };
            let Some(check) = &self.check else {
                return Ok(Some(group));
            };
            let group = check.current(group);
            if self.is_wanted(&group) {
                return Ok(Some(group));
            }
        }
    }

    /// What the catalog's filter found true must be true of what is left.
    fn is_wanted(&self, group: &Group) -> bool {
        let names = || {
            let copies = group.copies.iter();
            copies.flat_map(|copy| std::iter::once(&copy.path).chain(&copy.links))
        };
        let is_below = |path: &PathBuf| self.below.iter().any(|top| path.starts_with(top));
        let first_root = group.copies.first().map(|copy| &copy.root);
        let is_across = |path: &PathBuf| first_root.is_some_and(|root| !path.starts_with(root));
        group.copies.len() as u64 >= self.args.min_count
            && (self.below.is_empty() || names().any(is_below))
            && (!self.args.across || names().any(is_across))
    }
}
