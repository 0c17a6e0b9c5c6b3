//! `dupescan apply`: carries out a plan.

mod file;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use super::plan::{measured_words, reclaimable};
use super::plans::{plan_id, plan_of};
use super::undo::list_skipped;
use crate::act::{Applied, ApplyRequest, Left, apply};
use crate::cli::args::{ApplyArgs, PlanName};
use crate::cli::progress::Doing;
use crate::cli::session::{Context, Watched};
use crate::cli::terminal::{Exit, ask, exit, output};
use crate::model::{Action, PlanHeader, RunId};
use crate::report::text::{counted, human_size};
use file::plan_of_file;

pub(crate) fn run(context: &Context, args: &ApplyArgs) -> anyhow::Result<Exit> {
    let plan = match &args.plan {
        PlanName::Number(number) => plan_of(context, plan_id(*number))?,
        PlanName::File(file) => plan_of_file(context, file)?,
    };
    let is_final = plan.action == Action::Delete;
    if is_final && args.yes && !args.no_undo && !args.dry_run {
        return Err(exit::usage(format_args!(
            "plan {} deletes for good: with --yes, add --no-undo",
            plan.id
        )));
    }
    if !args.yes && !args.dry_run && !confirm(&plan)? {
        output::print("nothing was done\n")?;
        return Ok(Exit::Done);
    }
    let mut catalog = context.exclusive("apply")?;
    let watched = Watched::start(context, doing(plan.action, args.dry_run))?;
    let request = ApplyRequest {
        threads: context.config.limits.workers,
        max_files: args.max_files,
        max_bytes: args.max_bytes,
        needs_all_kept: plan.options.keeps_several(),
        is_rehearsal: args.dry_run,
        protected: plan.options.protect.clone(),
        progress: Arc::clone(&watched.progress),
        plan,
    };
    let applied = apply(&mut catalog, &request, &watched.shutdown);
    drop(watched);
    summarise(context, &request, &applied?)
}

fn doing(action: Action, is_rehearsal: bool) -> Doing {
    Doing {
        words: match action {
            _ if is_rehearsal => "Checking",
            Action::Trash => "Moving to the trash",
            Action::Delete => "Deleting",
        },
        stage: "apply",
        unit: "files",
    }
}

/// Asks on the terminal. What cannot be undone is confirmed with the number of
/// files.
fn confirm(plan: &PlanHeader) -> anyhow::Result<bool> {
    let files = counted(plan.totals.files, "file", "files");
    let bytes = human_size(plan.totals.bytes);
    match plan.action {
        Action::Trash => ask(
            &format!("Move {files} ({bytes}) to the trash? They can be brought back. [y/N] "),
            &["y", "yes"],
        ),
        Action::Delete => ask(
            &format!("Delete {files} ({bytes}) for good? Type the number of files: "),
            &[&plan.totals.files.to_string()],
        ),
    }
}

fn summarise(context: &Context, request: &ApplyRequest, applied: &Applied) -> anyhow::Result<Exit> {
    let mut out = output::stdout();
    let files = counted(applied.files, "file", "files");
    let bytes = human_size(applied.bytes);
    let done = match (request.is_rehearsal, request.plan.action) {
        (true, Action::Trash) => "would be moved to the trash",
        (true, Action::Delete) => "would be deleted",
        (false, Action::Trash) => "moved to the trash",
        (false, Action::Delete) => "deleted",
    };
    writeln!(out, "{files} {done}, {bytes}")?;
    if applied.files > 0 {
        let words = match applied.measured {
            Some(measured) => measured_words(applied.reclaimable, measured),
            None => reclaimable(
                request.plan.action,
                applied.reclaimable,
                applied.bytes,
                false,
            ),
        };
        writeln!(out, "  {words}")?;
    }
    if applied.done_before > 0 {
        let before = counted(applied.done_before, "file", "files");
        writeln!(out, "  {before} already done by an earlier run")?;
    }
    for (reason, names) in &applied.skipped {
        writeln!(
            out,
            "  {} skipped: {reason}",
            counted(*names, "file", "files")
        )?;
    }
    if applied.open > 0 {
        let open = counted(applied.open, "file", "files");
        writeln!(
            out,
            "  {open} of a run that was cut off: not settled by --dry-run, but by the next `apply`, \
             `undo` or `empty-trash`"
        )?;
    }
    let left: Vec<_> = applied.left.iter().map(as_skipped).collect();
    list_skipped(&mut out, &left, "left in the trash")?;
    let plan = request.plan.id;
    for run in runs_in_trash(request.plan.action, applied) {
        writeln!(
            out,
            "\nUndo:       {}",
            context.command(&format!("undo {run}"))
        )?;
        writeln!(
            out,
            "Free space: {}",
            context.command(&format!("empty-trash {run}"))
        )?;
    }
    let acted = applied.files > 0 || !applied.left.is_empty();
    if let Some(run) = applied.run.filter(|_| acted) {
        writeln!(
            out,
            "Details:    {}",
            context.command(&format!("journal {run}"))
        )?;
    }
    if applied.is_interrupted {
        writeln!(
            out,
            "Stopped. Resume with: {}",
            context.command(&format!("apply {plan}"))
        )?;
    }
    out.flush()?;
    let is_clean = applied.skipped.is_empty() && applied.left.is_empty();
    Ok(match (applied.is_interrupted, is_clean) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Problems,
    })
}

fn as_skipped(left: &Left) -> (PathBuf, String) {
    (left.path.clone(), left.reason.clone())
}

/// The runs whose files in the trash can be brought back or deleted.
fn runs_in_trash(action: Action, applied: &Applied) -> BTreeSet<RunId> {
    let moved = applied.run.filter(|_| applied.files > 0);
    let moved = moved.filter(|_| action == Action::Trash);
    let left = applied.left.iter().map(|left| left.run);
    left.chain(moved).collect()
}
