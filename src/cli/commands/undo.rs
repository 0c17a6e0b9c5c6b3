//! `dupescan undo`: brings files back from the trash.

use std::io::Write;
use std::path::PathBuf;

use crate::act::{Undone, last_to_undo, undo, undo_trash};
use crate::answers::resolve;
use crate::catalog::ReadOnly;
use crate::cli::args::UndoArgs;
use crate::cli::progress::Doing;
use crate::cli::session::{Context, Watched, shell_word};
use crate::cli::terminal::{Exit, exit, output};
use crate::model::{RunId, escape};
use crate::report::text::counted;

/// Paths that a message names.
const NAMED: usize = 10;

pub(crate) fn run(context: &Context, args: &UndoArgs) -> anyhow::Result<Exit> {
    if let Some(trash) = &args.trash {
        return summarise(&undo_trash(&resolve(trash)?)?);
    }
    let run = run_of(context, args.run)?;
    let paths: Vec<PathBuf> = args
        .paths
        .iter()
        .map(|path| resolve(path))
        .collect::<Result<_, _>>()?;
    let mut catalog = context.exclusive("undo")?;
    let doing = Doing {
        words: "Bringing back",
        stage: "undo",
        unit: "files",
    };
    let watched = Watched::start(context, doing)?;
    let undone = undo(
        &mut catalog,
        run,
        &paths,
        &watched.shutdown,
        &watched.progress,
    );
    drop(watched);
    let undone = undone?;
    let exit = summarise(&undone)?;
    if undone.is_interrupted {
        let mut again = format!("undo {run}");
        for path in &args.paths {
            again = format!("{again} {}", shell_word(path));
        }
        output::print(format!(
            "Stopped. Resume with: {}\n",
            context.command(&again)
        ))?;
    } else if args.run.is_none() {
        name_rest(context, run)?;
    }
    Ok(exit)
}

/// Names another run of the same plan that has files in the trash: a plan that was
/// stopped and resumed has several.
fn name_rest(context: &Context, undone: RunId) -> anyhow::Result<()> {
    let catalog = context.catalog()?;
    let runs = catalog.runs()?;
    let plan = runs.iter().find(|run| run.id == undone).map(|run| run.plan);
    for run in runs
        .iter()
        .filter(|run| run.id != undone && Some(run.plan) == plan)
    {
        let counts = catalog.action_counts(run.id)?;
        let files = counts.iter().filter(|(state, ..)| state.is_in_trash());
        let files: u64 = files.map(|(_, files, _)| files).sum();
        if files > 0 {
            let undo = context.command(&format!("undo {}", run.id));
            let files = counted(files, "file", "files");
            output::print(format!(
                "{files} of an earlier run of the same plan in the trash: {undo}\n"
            ))?;
            break;
        }
    }
    Ok(())
}

/// The newest run with entries that the journal says are in the trash, so that undoing
/// says what became of them.
fn has_trash(catalog: &ReadOnly, runs: &[RunId]) -> anyhow::Result<Option<RunId>> {
    for run in runs {
        let counts = catalog.action_counts(*run)?;
        if counts.iter().any(|(state, ..)| state.is_in_trash()) {
            return Ok(Some(*run));
        }
    }
    Ok(None)
}

/// The run of a typed number, or the last one that can give a file back.
pub(crate) fn run_of(context: &Context, typed: Option<u64>) -> anyhow::Result<RunId> {
    let catalog = context.catalog()?;
    let runs = catalog.runs()?.into_iter().map(|run| run.id);
    let runs: Vec<RunId> = runs.collect();
    let found = match typed {
        Some(number) => {
            let wanted = RunId(i64::try_from(number).unwrap_or(i64::MAX));
            runs.iter().find(|run| **run == wanted).copied()
        }
        // A run that did nothing, or is undone, is not what anybody means.
        None => {
            let last = last_to_undo(&catalog)?;
            last.or(has_trash(&catalog, &runs)?)
                .or(runs.first().copied())
        }
    };
    found.ok_or_else(|| match typed {
        Some(number) => {
            let journal = context.command("journal");
            exit::usage(format_args!(
                "there is no run {number} (`{journal}` lists them)"
            ))
        }
        None => exit::usage("no plan has been applied yet"),
    })
}

fn summarise(undone: &Undone) -> anyhow::Result<Exit> {
    let mut out = output::stdout();
    writeln!(
        out,
        "{} brought back",
        counted(undone.files, "file", "files")
    )?;
    list_skipped(&mut out, &undone.skipped, "not brought back")?;
    out.flush()?;
    Ok(match (undone.is_interrupted, undone.skipped.is_empty()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Problems,
    })
}

/// Names the first paths that something was not done with, and why.
pub(crate) fn list_skipped(
    out: &mut impl Write,
    skipped: &[(PathBuf, String)],
    what: &str,
) -> anyhow::Result<()> {
    for (path, reason) in skipped.iter().take(NAMED) {
        writeln!(out, "  {what}: {}: {reason}", escape(path))?;
    }
    if skipped.len() > NAMED {
        let more = counted((skipped.len() - NAMED) as u64, "file", "files");
        writeln!(out, "  {what}: {more} more")?;
    }
    Ok(())
}
