//! Listing plans, and showing one in any format.

use std::io::Write;

use serde::Serialize;

use crate::catalog::{CatalogError, ReadOnly};
use crate::cli::args::PlansArgs;
use crate::cli::commands::plan::{fate, reclaimable};
use crate::cli::session::{Context, Output, header};
use crate::cli::terminal::{Exit, exit};
use crate::model::{Filters, PlanHeader, PlanId, PlanTotals, PlannedGroup, Reclaimable, Role};
use crate::report::text::{counted, size};
use crate::report::{Cell, Column, Format, Layout, PlanPage, PlanWriter, Style};

const PLANS: [Column; 8] = [
    Column::new("plan", "PLAN", 6),
    Column::new("action", "ACTION", 6),
    Column::new("created", "CREATED", 16),
    Column::new("groups", "GROUPS", 9),
    Column::new("files", "FILES", 9),
    Column::new("bytes", "SIZE", 10),
    Column::hidden("at_least"),
    Column::hidden("at_most"),
];

const FILES: [Column; 6] = [
    Column::new("group", "GROUP", 7),
    Column::new("role", "ROLE", 6),
    Column::new("size", "SIZE", 10),
    Column::hidden("mtime"),
    Column::new("path", "PATH", 0),
    Column::hidden("digest"),
];

/// Groups that are read at a time.
const PAGE: u32 = 256;

#[derive(Debug, Default, Serialize)]
struct Totals {
    plans: u64,
}

/// The sums of one plan.
#[derive(Debug, Serialize)]
struct PlanSums {
    #[serde(flatten)]
    totals: PlanTotals,
    reclaimable: Option<Reclaimable>,
}

pub(super) fn list(context: &Context, args: &PlansArgs) -> anyhow::Result<Exit> {
    if args.format.format() == Format::Html {
        let show = context.command("plans PLAN --format html");
        return Err(exit::usage(format_args!("a page shows one plan: `{show}`")));
    }
    let catalog = context.catalog()?;
    let header = header(&catalog, Filters::default())?;
    let plans = catalog.plans()?;
    let output = output(context, args);
    output.give(&header, ("plans", &PLANS), |answer| {
        for plan in &plans {
            let PlanTotals {
                groups,
                files,
                bytes,
            } = plan.totals;
            let figure = |of: fn(Reclaimable) -> u64| {
                plan.reclaimable
                    .map_or(Cell::Nothing, |range| Cell::Size(of(range)))
            };
            answer.row(&[
                Cell::text(plan.id.to_string()),
                Cell::text(plan.action.name()),
                Cell::FileTime(plan.created.0.saturating_mul(1_000_000_000)),
                Cell::Count(groups),
                Cell::Count(files),
                Cell::Size(bytes),
                figure(|range| range.at_least),
                figure(|range| range.at_most),
            ])?;
        }
        let totals = Totals {
            plans: plans.len() as u64,
        };
        let sentence = counted(totals.plans, "plan", "plans");
        let left = answer.end(&totals, &[sentence])?;
        Ok((left, Exit::Done))
    })
}

/// Shows one plan.
pub(super) fn show(context: &Context, args: &PlansArgs, plan: &PlanHeader) -> anyhow::Result<Exit> {
    let catalog = context.catalog()?;
    match args.format.format() {
        Format::Jsonl => write_file(&output(context, args), &catalog, plan),
        Format::Html => write_page(&output(context, args), &catalog, plan),
        _ => show_files(&output(context, args), &catalog, plan),
    }
}

fn output<'a>(context: &'a Context, args: &'a PlansArgs) -> Output<'a> {
    Output {
        context,
        layout: Layout {
            format: args.format.format(),
            style: Style {
                exact_bytes: args.bytes,
                ..Style::default()
            },
            limit: args.output.limit,
        },
        file: args.output.output.as_deref(),
    }
}

fn show_files(output: &Output<'_>, catalog: &ReadOnly, plan: &PlanHeader) -> anyhow::Result<Exit> {
    let header = header(catalog, Filters::default())?;
    let is_table = output.layout.format == Format::Table;
    output.give(&header, ("files", &FILES), |answer| {
        let mut groups = Groups::of(catalog, plan.id);
        while let Some(group) = groups.next()? {
            for planned in &group.copies {
                for path in planned.copy.names() {
                    answer.row(&[
                        Cell::Count(group.number),
                        Cell::text(match planned.role {
                            // The word of `--edit`; programs get that of plan files.
                            Role::Act if is_table => "remove",
                            role => role.name(),
                        }),
                        Cell::Size(group.size),
                        Cell::FileTime(planned.copy.mtime_ns),
                        Cell::Path(path.clone()),
                        Cell::digest(Some(group.digest)),
                    ])?;
                }
            }
        }
        let files = counted(plan.totals.files, "file", "files");
        let bytes = size(plan.totals.bytes, output.is_exact());
        let fate = fate(plan.action);
        let mut sentences = vec![format!("{files} {fate}, {bytes}")];
        let given_back =
            |bytes| reclaimable(plan.action, bytes, plan.totals.bytes, output.is_exact());
        sentences.extend(plan.reclaimable.map(given_back));
        let totals = PlanSums {
            totals: plan.totals,
            reclaimable: plan.reclaimable,
        };
        let left = answer.end(&totals, &sentences)?;
        Ok((left, Exit::Done))
    })
}

/// Writes the file that `apply` and `plan --import` take.
fn write_file(output: &Output<'_>, catalog: &ReadOnly, plan: &PlanHeader) -> anyhow::Result<Exit> {
    if output.layout.limit.is_some() {
        return Err(exit::usage(
            "a plan file is whole: --limit is not for jsonl",
        ));
    }
    output.write(|_, out| write_plan(catalog, plan, out))?;
    Ok(Exit::Done)
}

/// Writes a page for the browser.
fn write_page(output: &Output<'_>, catalog: &ReadOnly, plan: &PlanHeader) -> anyhow::Result<Exit> {
    let header = header(catalog, Filters::default())?;
    let mut left = output.layout.limit.unwrap_or(u64::MAX);
    output.write(|_, out| {
        let mut page = PlanPage::begin(&header, plan, out)?;
        let mut groups = Groups::of(catalog, plan.id);
        while left > 0
            && let Some(group) = groups.next()?
        {
            left -= 1;
            page.group(&group)?;
        }
        Ok(page.end(plan)?)
    })?;
    Ok(Exit::Done)
}

/// Writes a plan as JSON lines.
pub(crate) fn write_plan(
    catalog: &ReadOnly,
    plan: &PlanHeader,
    out: impl Write,
) -> anyhow::Result<()> {
    let mut writer = PlanWriter::begin(plan, &catalog.identity()?, out)?;
    let mut groups = Groups::of(catalog, plan.id);
    while let Some(group) = groups.next()? {
        writer.group(&group)?;
    }
    Ok(writer.end()?)
}

/// The groups of a plan, one after the other.
pub(crate) struct Groups<'c> {
    catalog: &'c ReadOnly,
    plan: PlanId,
    page: std::vec::IntoIter<PlannedGroup>,
    after: u64,
}

impl<'c> Groups<'c> {
    pub(crate) fn of(catalog: &'c ReadOnly, plan: PlanId) -> Self {
        Self {
            catalog,
            plan,
            page: Vec::new().into_iter(),
            after: 0,
        }
    }

    pub(crate) fn next(&mut self) -> Result<Option<PlannedGroup>, CatalogError> {
        if self.page.as_slice().is_empty() {
            let page = self.catalog.plan_groups(self.plan, self.after, PAGE)?;
            self.page = page.into_iter();
        }
        let next = self.page.next();
        self.after = next.as_ref().map_or(self.after, |group| group.number);
        Ok(next)
    }
}
