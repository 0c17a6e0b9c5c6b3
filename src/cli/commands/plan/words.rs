//! What is said of every plan.

use std::io::Write;

use crate::cli::session::Context;
use crate::model::{Action, PlanId};

/// What can be done with a plan.
pub(crate) fn next_steps(
    out: &mut impl Write,
    context: &Context,
    id: PlanId,
) -> anyhow::Result<()> {
    for (what, command) in [
        ("\nShow it: ", format!("plans {id}")),
        ("Try it:  ", format!("apply {id} --dry-run")),
        ("Apply it:", format!("apply {id}")),
    ] {
        writeln!(out, "{what} {}", context.command(&command))?;
    }
    Ok(())
}

/// What happens to the copies that a plan removes.
pub(crate) fn fate(action: Action) -> &'static str {
    match action {
        Action::Trash => "to be moved to the trash",
        Action::Delete => "to be deleted",
    }
}
