//! `dupescan empty-trash`: deletes files in the trash for good.

use std::io::Write;

use super::plan::measured_words;
use super::undo::{list_skipped, run_of};
use crate::act::empty_trash;
use crate::cli::args::EmptyTrashArgs;
use crate::cli::progress::Doing;
use crate::cli::session::{Context, Watched};
use crate::cli::terminal::{Exit, ask, output};
use crate::model::{RunId, Timestamp, total};
use crate::report::text::{counted, human_size};

pub(crate) fn run(context: &Context, args: &EmptyTrashArgs) -> anyhow::Result<Exit> {
    let run = match args.run {
        Some(number) => Some(run_of(context, Some(number))?),
        None => None,
    };
    let (files, bytes) = in_trash(context, run)?;
    if files == 0 {
        output::print("the trash is empty\n")?;
        return Ok(Exit::Done);
    }
    let files = counted(files, "file", "files");
    let question = match args.older_than {
        Some(_) => format!(
            "Delete for good what is old enough of the {files} ({}) in the trash? [y/N] ",
            human_size(bytes)
        ),
        None => format!(
            "Delete {files} ({}) in the trash for good? [y/N] ",
            human_size(bytes)
        ),
    };
    if !args.yes && !ask(&question, &["y", "yes"])? {
        output::print("nothing was done\n")?;
        return Ok(Exit::Done);
    }
    let mut catalog = context.exclusive("empty-trash")?;
    let doing = Doing {
        words: "Emptying the trash",
        stage: "empty-trash",
        unit: "files",
    };
    let watched = Watched::start(context, doing)?;
    let before = args.older_than.unwrap_or(Timestamp(i64::MAX));
    let (shutdown, progress) = (&watched.shutdown, &watched.progress);
    let emptied = empty_trash(&mut catalog, run, before, shutdown, progress);
    drop(watched);
    let emptied = emptied?;
    let mut out = output::stdout();
    let files = counted(emptied.files, "file", "files");
    writeln!(out, "{files} deleted, {}", human_size(emptied.bytes))?;
    if emptied.files > 0 {
        let words = measured_words(emptied.reclaimable, emptied.measured);
        writeln!(out, "  {words}")?;
    }
    list_skipped(&mut out, &emptied.skipped, "kept")?;
    if emptied.is_interrupted {
        let again = run.map_or_else(
            || "empty-trash".to_owned(),
            |run| format!("empty-trash {run}"),
        );
        writeln!(out, "Stopped. Resume with: {}", context.command(&again))?;
    }
    out.flush()?;
    Ok(match (emptied.is_interrupted, emptied.skipped.is_empty()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Problems,
    })
}

/// Files and bytes in the trash, and those that a crash may have left there.
fn in_trash(context: &Context, run: Option<RunId>) -> anyhow::Result<(u64, u64)> {
    let catalog = context.catalog()?;
    let (mut files, mut bytes) = (0, 0);
    for known in catalog.runs()? {
        if run.is_some_and(|run| run != known.id) {
            continue;
        }
        for (state, names, occupied) in catalog.action_counts(known.id)? {
            if state.is_in_trash() {
                files += names;
                bytes = total([bytes, occupied]);
            }
        }
    }
    Ok((files, bytes))
}
