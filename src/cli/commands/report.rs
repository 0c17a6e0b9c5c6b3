//! `dupescan report`: lists the duplicate groups of the catalog.

use std::io::Write;
use std::path::PathBuf;

use crate::access::Checker;
use crate::answers::place_ever;
use crate::catalog::{GroupFilter, GroupList, ReadOnly};
use crate::cli::args::{ReportArgs, exclusion};
use crate::cli::session::{Context, header};
use crate::cli::terminal::{Exit, atomic_file, exit, output};
use crate::model::{CopyEntry, Group, Totals};
use crate::report::{Format, Header, Render, Style, renderer, text};
use crate::scan::Notice;

pub(crate) fn run(context: &Context, args: &ReportArgs) -> anyhow::Result<Exit> {
    args.check()?;
    let format = args.format.format();
    if format == Format::Html && args.output.is_none() && context.terminal {
        return Err(exit::usage(
            "refusing to print HTML to a terminal: write it to a file, for instance with \
             --output dupes.html",
        ));
    }
    let catalog = context.catalog()?;
    let header = header(&catalog)?;
    let check = match args.check {
        true => Some(Checker::new(catalog.roots()?)),
        false => None,
    };
    let below = args.paths.iter();
    let below = below.map(|typed| place_ever(&catalog, typed));
    let below: Vec<_> = below.collect::<Result<_, _>>()?;
    for root in catalog.roots()? {
        for notice in Notice::of_whole_paths(&args.exclude, &root.path) {
            context.note(&notice.to_string());
        }
    }
    let filter = filter(&catalog, args, below.clone())?;
    let rotten = catalog.corrupted()?.len() as u64;
    let source = Source {
        groups: GroupList::build(catalog, filter)?,
        check,
        left_out: LeftOut::default(),
        below,
        args,
    };
    let left_out = write(context, args, &header, source)?;
    if matches!(format, Format::Csv | Format::Fdupes) && left_out.groups > 0 {
        let shown = args.limit.unwrap_or(0);
        let all = text::counted(shown + left_out.groups, "group", "groups");
        context.note(&format!("showing {} of {all}", text::grouped(shown)));
    }
    if matches!(format, Format::Jsonl | Format::Csv | Format::Fdupes) {
        context.note(&text::as_of(&header));
    }
    for sentence in left_out.sentences() {
        context.note(&sentence);
    }
    if rotten > 0 {
        let files = text::counted(rotten, "corrupted file", "corrupted files");
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
) -> anyhow::Result<LeftOut> {
    let format = args.format.format();
    let style = Style {
        links: args.links,
        nul: args.null,
        exact_bytes: args.bytes,
        ..Style::default()
    };
    match &args.output {
        Some(file) => {
            let mut left_out = LeftOut::default();
            atomic_file::fill(file, &context.config.db, |out| {
                left_out = source.render(header, renderer(format, style, out))?;
                Ok(())
            })?;
            Ok(left_out)
        }
        None => {
            let style = context.on_stdout(style);
            let mut stdout = output::stdout();
            let left_out = source.render(header, renderer(format, style, &mut stdout))?;
            stdout.flush()?;
            Ok(left_out)
        }
    }
}

/// The groups to print, checked on the way with `--check`.
struct Source<'a> {
    groups: GroupList,
    check: Option<Checker>,
    left_out: LeftOut,
    below: Vec<PathBuf>,
    args: &'a ReportArgs,
}

/// What `--limit` and `--check` kept out of the report.
#[derive(Debug, Default)]
struct LeftOut {
    /// Groups beyond the limit; not known with `--check`.
    groups: u64,
    /// Copies whose root is offline.
    offline: u64,
    /// Copies that are missing or changed since the scan.
    outdated: u64,
    /// Whether `--limit` ended it before all groups were looked at.
    is_cut: bool,
}

impl LeftOut {
    fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let mut skipped = |copies, why: &str| {
            if copies > 0 {
                let copies = text::counted(copies, "copy", "copies");
                sentences.push(format!("--check skipped {copies}: {why}"));
            }
        };
        skipped(self.offline, "offline");
        skipped(self.outdated, "missing or changed since the scan");
        if self.is_cut {
            let cut = "--limit reached: further groups were neither checked nor counted";
            sentences.push(cut.to_owned());
        }
        sentences
    }
}

impl Source<'_> {
    fn render(
        mut self,
        header: &Header,
        mut report: Box<dyn Render + '_>,
    ) -> anyhow::Result<LeftOut> {
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
                self.left_out.is_cut = self.check.is_some() && self.groups.next_group()?.is_some();
                break;
            }
        }
        let totals = match self.check {
            Some(_) => printed,
            None => self.groups.totals(),
        };
        report.end(&totals)?;
        self.left_out.groups = totals.groups - printed.groups;
        Ok(self.left_out)
    }

    fn next(&mut self) -> anyhow::Result<Option<Group>> {
        loop {
            let Some(group) = self.groups.next_group()? else {
                return Ok(None);
            };
            let Some(check) = &self.check else {
                return Ok(Some(group));
            };
            let copies = group.copies.len() as u64;
            let is_offline = |copy: &&CopyEntry| !copy.names().any(|name| check.is_online(name));
            let offline = group.copies.iter().filter(is_offline).count() as u64;
            let group = check.current(group);
            self.left_out.offline += offline;
            self.left_out.outdated += copies - offline - group.copies.len() as u64;
            if self.is_wanted(&group) {
                return Ok(Some(group));
            }
        }
    }

    /// The filter must still hold for the copies that passed the check.
    fn is_wanted(&self, group: &Group) -> bool {
        let names = || {
            let copies = group.copies.iter();
            copies.flat_map(CopyEntry::names)
        };
        let is_below = |path: &PathBuf| self.below.iter().any(|top| path.starts_with(top));
        let first_root = group.copies.first().map(|copy| &copy.root);
        let is_across = |path: &PathBuf| first_root.is_some_and(|root| !path.starts_with(root));
        group.copies.len() as u64 >= self.args.min_count
            && (self.below.is_empty() || names().any(is_below))
            && (!self.args.across || names().any(is_across))
    }
}
