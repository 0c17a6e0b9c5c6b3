//! `dupescan undo`: brings files back from the trash.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::act::{Undone, last_to_undo, undo, undo_trash};
use crate::answers::resolve;
use crate::catalog::ReadOnly;
use crate::cli::args::UndoArgs;
use crate::cli::progress::Doing;
use crate::cli::session::{Context, Watched, shell_word};
use crate::cli::terminal::{Exit, exit, output};
use crate::model::{ActionId, ActionState, RunId, escape, is_trash};
use crate::report::text::counted;

/// Paths that a message names.
const NAMED: usize = 10;

/// Entries that are read at a time.
const PAGE: u32 = 1_000;

pub(crate) fn run(context: &Context, args: &UndoArgs) -> anyhow::Result<Exit> {
    if let Some(trash) = &args.trash {
        let trash = resolve(trash)?;
        refuse_folder_of_runs(context, &trash)?;
        return summarise(&undo_trash(&trash)?);
    }
    let run = run_of(context, args.run)?;
    let paths: Vec<PathBuf> = args
        .paths
        .iter()
        .map(|path| resolve(path))
        .collect::<Result<_, _>>()?;
    refuse_unknown(context, run, &paths)?;
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
    name_deleted(context, run)?;
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

/// The folder that people see holds one folder for each run: names these.
fn refuse_folder_of_runs(context: &Context, trash: &Path) -> anyhow::Result<()> {
    if !trash.file_name().is_some_and(is_trash) {
        return Ok(());
    }
    let entries = std::fs::read_dir(trash)
        .map_err(|error| exit::usage(format_args!("cannot read {}: {error}", escape(trash))))?;
    let runs = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut runs: Vec<PathBuf> = runs.filter(|path| path.is_dir()).collect();
    runs.sort();
    let commands = runs.iter().map(|run| {
        let word = shell_word(run);
        format!("`{}`", context.command(&format!("undo --trash {word}")))
    });
    let commands: Vec<String> = commands.collect();
    Err(exit::usage(format_args!(
        "{} has one folder for each run; name one of them: {}",
        escape(trash),
        commands.join(", ")
    )))
}

/// Refuses paths that a run has no file at or below: a typing error would look like
/// success.
fn refuse_unknown(context: &Context, run: RunId, paths: &[PathBuf]) -> anyhow::Result<()> {
    let catalog = context.catalog()?;
    let mut unknown: Vec<&PathBuf> = paths.iter().collect();
    let mut after = ActionId(0);
    while !unknown.is_empty() {
        let page = catalog.actions(run, after, PAGE)?;
        let Some(last) = page.last() else {
            let path = escape(unknown[0]);
            let journal = context.command(&format!("journal {run}"));
            return Err(exit::usage(format_args!(
                "run {run} has no file at or below {path} (`{journal}` lists them)"
            )));
        };
        after = last.id;
        unknown.retain(|path| !page.iter().any(|entry| entry.action.path.starts_with(path)));
    }
    Ok(())
}

/// Says how many files of a run no command can bring back.
fn name_deleted(context: &Context, run: RunId) -> anyhow::Result<()> {
    let counts = context.catalog()?.action_counts(run)?;
    let deleted = counts
        .iter()
        .filter(|(state, ..)| *state == ActionState::Deleted);
    let deleted: u64 = deleted.map(|(_, files, _)| files).sum();
    if deleted > 0 {
        let files = counted(deleted, "file", "files");
        output::print(format!(
            "{files} of run {run} deleted for good: that cannot be undone\n"
        ))?;
    }
    Ok(())
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
