//! The plan that a number means.

use crate::cli::session::Context;
use crate::cli::terminal::exit;
use crate::model::{PlanHeader, PlanId};

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
