//! `dupescan plans`: lists plans, or shows one.

use serde::Serialize;

use super::plan::fate;
use crate::cli::args::PlansArgs;
use crate::cli::session::{Context, Output, header};
use crate::cli::terminal::{Exit, exit, output};
use crate::model::{Filters, PlanHeader, PlanId, PlanTotals};
use crate::report::text::{counted, size};
use crate::report::{Cell, Column};

const PLANS: [Column; 6] = [
    Column::new("plan", "PLAN", 6),
    Column::new("action", "ACTION", 6),
    Column::new("created", "CREATED", 16),
    Column::new("groups", "GROUPS", 9),
    Column::new("files", "FILES", 9),
    Column::new("bytes", "SIZE", 10),
];

const FILES: [Column; 6] = [
    Column::new("group", "GROUP", 7),
    Column::new("role", "ROLE", 5),
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

pub(crate) fn run(context: &Context, args: &PlansArgs) -> anyhow::Result<Exit> {
    match args.plan.map(plan_id) {
        None => list(context, args),
        Some(plan) if args.delete => delete(context, plan),
        Some(plan) => show(context, args, plan),
    }
}

/// A typed number as a plan's.
pub(crate) fn plan_id(number: u64) -> PlanId {
    PlanId(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The plan of a number, or a usage error.
pub(crate) fn plan_of(context: &Context, plan: PlanId) -> anyhow::Result<PlanHeader> {
    let found = context.catalog()?.plan(plan)?;
    found.ok_or_else(|| {
        let plans = context.command("plans");
        exit::usage(format_args!(
            "there is no plan {plan} (`{plans}` lists them)"
        ))
    })
}

fn delete(context: &Context, plan: PlanId) -> anyhow::Result<Exit> {
    plan_of(context, plan)?;
    context.exclusive("plans")?.delete_plan(plan)?;
    output::print(format!(
        "plan {plan} deleted; no file on disk was touched\n"
    ))?;
    Ok(Exit::Done)
}

fn list(context: &Context, args: &PlansArgs) -> anyhow::Result<Exit> {
    let catalog = context.catalog()?;
    let header = header(&catalog, Filters::default())?;
    let plans = catalog.plans()?;
    let output = Output::new(context, &args.answer);
    output.give(&header, ("plans", &PLANS), |answer| {
        for plan in &plans {
            let PlanTotals {
                groups,
                files,
                bytes,
            } = plan.totals;
            answer.row(&[
                Cell::text(plan.id.to_string()),
                Cell::text(plan.action.name()),
                Cell::FileTime(plan.created.0.saturating_mul(1_000_000_000)),
                Cell::Count(groups),
                Cell::Count(files),
                Cell::Size(bytes),
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

fn show(context: &Context, args: &PlansArgs, plan: PlanId) -> anyhow::Result<Exit> {
    let plan = plan_of(context, plan)?;
    let catalog = context.catalog()?;
    let header = header(&catalog, Filters::default())?;
    let output = Output::new(context, &args.answer);
    output.give(&header, ("files", &FILES), |answer| {
        let mut after = 0;
        loop {
            let groups = catalog.plan_groups(plan.id, after, PAGE)?;
            let Some(last) = groups.last() else {
                break;
            };
            after = last.number;
            for group in &groups {
                for planned in &group.copies {
                    for path in planned.copy.names() {
                        answer.row(&[
                            Cell::Count(group.number),
                            Cell::text(planned.role.name()),
                            Cell::Size(group.size),
                            Cell::FileTime(planned.copy.mtime_ns),
                            Cell::Path(path.clone()),
                            Cell::digest(Some(group.digest)),
                        ])?;
                    }
                }
            }
        }
        let files = counted(plan.totals.files, "file", "files");
        let bytes = size(plan.totals.bytes, output.is_exact());
        let fate = fate(plan.action);
        let sentence = format!("{files} {fate}, {bytes}");
        let left = answer.end(&plan.totals, &[sentence])?;
        Ok((left, Exit::Done))
    })
}
