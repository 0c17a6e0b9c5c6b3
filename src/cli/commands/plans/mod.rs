//! `dupescan plans`: lists plans, or shows one.

mod show;

pub(crate) use show::Groups;

use crate::cli::args::PlansArgs;
use crate::cli::session::Context;
use crate::cli::terminal::{Exit, exit, output};
use crate::model::{PlanHeader, PlanId};

pub(crate) fn run(context: &Context, args: &PlansArgs) -> anyhow::Result<Exit> {
    match args.plan.map(plan_id) {
        None => show::list(context, args),
        Some(plan) if args.delete => delete(context, plan),
        Some(plan) => show::show(context, args, &plan_of(context, plan)?),
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
