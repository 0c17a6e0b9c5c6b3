//! `dupescan journal`: shows what was done with files, when and why.

use serde::Serialize;

use super::undo::run_of;
use crate::cli::args::JournalArgs;
use crate::cli::session::{Context, Output, header};
use crate::cli::terminal::Exit;
use crate::model::{ActionId, ActionState, Filters, RunId, Timestamp};
use crate::report::text::counted;
use crate::report::{Cell, Column};

const RUNS: [Column; 8] = [
    Column::new("run", "RUN", 5),
    Column::new("plan", "PLAN", 5),
    Column::new("action", "ACTION", 6),
    Column::new("started", "STARTED", 16),
    Column::new("trashed", "IN TRASH", 8),
    Column::new("deleted", "DELETED", 7),
    Column::new("restored", "BACK", 7),
    Column::new("skipped", "SKIPPED", 7),
];

const ENTRIES: [Column; 8] = [
    Column::new("entry", "ENTRY", 6),
    Column::new("state", "STATE", 9),
    Column::new("size", "SIZE", 10),
    Column::hidden("changed"),
    Column::new("path", "PATH", 0),
    Column::hidden("keeper"),
    Column::hidden("trash"),
    Column::hidden("reason"),
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
        for run in catalog.runs()? {
            let counts = catalog.action_counts(run.id)?;
            let count = |wanted| {
                let mut counts = counts.iter().filter(|(state, ..)| *state == wanted);
                Cell::Count(counts.next().map_or(0, |(_, names, _)| *names))
            };
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
            ])?;
        }
        let sentence = counted(totals.rows, "run", "runs");
        let left = answer.end(&totals, &[sentence])?;
        Ok((left, Exit::Done))
    })
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
