//! `dupescan plans`: lists plans, shows one, or changes one.

mod change;
mod edit;
mod named;
mod show;

pub(crate) use named::{plan_id, plan_of};
pub(crate) use show::Groups;

use crate::cli::args::PlansArgs;
use crate::cli::session::Context;
use crate::cli::terminal::{Exit, output};
use crate::model::PlanId;

pub(crate) fn run(context: &Context, args: &PlansArgs) -> anyhow::Result<Exit> {
    let Some(number) = args.plan else {
        return show::list(context, args);
    };
    let plan = plan_of(context, plan_id(number))?;
    if args.delete {
        return delete(context, plan.id);
    }
    let is_change = args.edit || !args.drop.is_empty() || !args.keep_instead.is_empty();
    if is_change
        && context
            .catalog()?
            .runs()?
            .iter()
            .any(|run| run.plan == plan.id)
    {
        return Err(change::refuse_applied(context, &plan));
    }
    if args.edit {
        edit::edit(context, &plan)
    } else if !args.drop.is_empty() {
        change::drop(context, &plan, &args.drop)
    } else if !args.keep_instead.is_empty() {
        change::keep_instead(context, &plan, &args.keep_instead)
    } else {
        show::show(context, args, &plan)
    }
}

fn delete(context: &Context, plan: PlanId) -> anyhow::Result<Exit> {
    context.exclusive("plans")?.delete_plan(plan)?;
    output::print(format!(
        "plan {plan} deleted; no file on disk was touched\n"
    ))?;
    Ok(Exit::Done)
}
