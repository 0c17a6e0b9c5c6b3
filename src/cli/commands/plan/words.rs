//! What is said of every plan.

use std::io::Write;

use crate::act::RefusedRow;
use crate::cli::session::Context;
use crate::model::{Action, PlanId, Reclaimable, escape};
use crate::report::text::{counted, human_size, range};

/// What can be done with a plan.
pub(crate) fn next_steps(
    out: &mut impl Write,
    context: &Context,
    id: PlanId,
) -> anyhow::Result<()> {
    for (what, command) in [
        ("\nShow it:  ", format!("plans {id}")),
        ("Change it:", format!("plans {id} --edit")),
        ("Try it:   ", format!("apply {id} --dry-run")),
        ("Apply it: ", format!("apply {id}")),
    ] {
        writeln!(out, "{what} {}", context.command(&command))?;
    }
    Ok(())
}

/// What carrying out a plan gives back to the disks, whose files hold this many bytes.
pub(crate) fn reclaimable(action: Action, bytes: Reclaimable, held: u64, is_exact: bool) -> String {
    let how = match action {
        Action::Trash => "reclaimable by empty-trash",
        Action::Delete => "reclaimable",
    };
    let why = match bytes.at_least == bytes.at_most {
        true if bytes.at_least > held => " (files take whole blocks)",
        true => "",
        false => " (compressed or shared blocks)",
    };
    format!("{how}: {}{why}", range(bytes, is_exact))
}

/// What deleting files has given back to the disks.
pub(crate) fn measured_words(predicted: Reclaimable, measured: u64) -> String {
    format!(
        "reclaimed: {} predicted, {} more free space measured",
        range(predicted, false),
        human_size(measured)
    )
}

/// What happens to the copies that a plan removes.
pub(crate) fn fate(action: Action) -> &'static str {
    match action {
        Action::Trash => "to be moved to the trash",
        Action::Delete => "to be deleted",
    }
}

/// A copy that is refused, with others of its group for the same reason.
pub(crate) fn refused_row((row, others): (&RefusedRow, usize)) -> String {
    let others = match others {
        0 => String::new(),
        _ => format!(
            " and {}",
            counted(others as u64, "other copy", "other copies")
        ),
    };
    format!("{}{others}: {}", escape(&row.path), row.reason)
}
