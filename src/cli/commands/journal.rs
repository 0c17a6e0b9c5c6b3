//! `dupescan journal`: shows what was done with files, when and why.

use serde::Serialize;

use super::undo::run_of;
use crate::cli::args::JournalArgs;
use crate::cli::session::{Context, Output, header};
use crate::cli::terminal::Exit;
use crate::model::{ActionId, ActionState, Filters, RunHeader, RunId, Timestamp};
use crate::report::text::counted;
use crate::report::{Cell, Column};

const RUNS: [Column; 9] = [
    Column::new("run", "RUN", 5),
    Column::new("plan", "PLAN", 5),
    Column::new("action", "ACTION", 6),
    Column::new("started", "STARTED", 16),
    Column::new("trashed", "IN TRASH", 8),
    Column::new("deleted", "DELETED", 7),
    Column::new("restored", "BACK", 7),
    Column::new("skipped", "SKIPPED", 7),
    Column::new("open", "OPEN", 5),
];

const ENTRIES: [Column; 8] = [
    Column::new("entry", "ENTRY", 6),
    Column::new("state", "STATE", 9),
    Column::new("size", "SIZE", 10),
    Column::hidden("changed"),
    Column::new("path", "PATH", 40),
    Column::hidden("keeper"),
    Column::hidden("trash"),
    Column::new("reason", "REASON", 0),
];

/// Entries that are read at a time.
const PAGE: u32 = 1_000;

#[derive(Debug, Default, Serialize)]
struct Totals {
    rows: u64,
}

pub(crate) fn run(context: &Context, args: &JournalArgs) -> anyhow::Result<Exit> {
    match args.run {
        None => list(context, args),
        typed => show(context, args, run_of(context, typed)?),
    }
}

fn nanoseconds(moment: Timestamp) -> i64 {
    moment.0.saturating_mul(1_000_000_000)
}

fn list(context: &Context, args: &JournalArgs) -> anyhow::Result<Exit> {
    let catalog = context.catalog()?;
    let header = header(&catalog, Filters::default())?;
    let output = Output::new(context, &args.answer);
    output.give(&header, ("runs", &RUNS), |answer| {
        let mut totals = Totals::default();
        let mut open = Vec::new();
        for run in catalog.runs()? {
            let counts = catalog.action_counts(run.id)?;
            let count = |wanted| {
                let mut counts = counts.iter().filter(|(state, ..)| *state == wanted);
                Cell::Count(counts.next().map_or(0, |(_, names, _)| *names))
            };
            let cut_off = counts.iter().filter(|(state, ..)| state.is_open());
            let cut_off: u64 = cut_off.map(|(_, names, _)| names).sum();
            if cut_off > 0 {
                open.push(open_words(context, &run, cut_off));
            }
            totals.rows += 1;
            answer.row(&[
                Cell::text(run.id.to_string()),
                Cell::text(run.plan.to_string()),
                Cell::text(run.action.name()),
                Cell::FileTime(nanoseconds(run.started)),
                count(ActionState::Trashed),
                count(ActionState::Deleted),
                count(ActionState::Restored),
                count(ActionState::Skipped),
                Cell::Count(cut_off),
            ])?;
        }
        let mut sentences = vec![counted(totals.rows, "run", "runs")];
        sentences.append(&mut open);
        let left = answer.end(&totals, &sentences)?;
        Ok((left, Exit::Done))
    })
}

/// What a run that was cut off left open, and which commands settle it.
fn open_words(context: &Context, run: &RunHeader, entries: u64) -> String {
    format!(
        "Run {} was cut off with {} not settled. Resume it: {}  Undo it: {}",
        run.id,
        counted(entries, "file", "files"),
        context.command(&format!("apply {}", run.plan)),
        context.command(&format!("undo {}", run.id)),
    )
}

fn show(context: &Context, args: &JournalArgs, run: RunId) -> anyhow::Result<Exit> {
    let catalog = context.catalog()?;
    let header = header(&catalog, Filters::default())?;
    let output = Output::new(context, &args.answer);
    output.give(&header, ("entries", &ENTRIES), |answer| {
        let mut totals = Totals::default();
        let mut after = ActionId(0);
        loop {
            let page = catalog.actions(run, after, PAGE)?;
            let Some(last) = page.last() else {
                break;
            };
            after = last.id;
            for entry in page {
                totals.rows += 1;
                answer.row(&[
                    Cell::text(entry.id.to_string()),
                    Cell::text(entry.progress.name()),
                    Cell::Size(entry.action.state.size),
                    Cell::FileTime(nanoseconds(entry.at)),
                    Cell::Path(entry.action.path),
                    Cell::text(entry.action.keeper.to_string_lossy().into_owned()),
                    Cell::text(entry.action.trash.to_string_lossy().into_owned()),
                    Cell::text(entry.reason),
                ])?;
            }
        }
        let sentence = counted(totals.rows, "entry", "entries");
        let left = answer.end(&totals, &[sentence])?;
        Ok((left, Exit::Done))
    })
}
