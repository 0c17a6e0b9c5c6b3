//! `dupescan errors`: lists the paths that failed, by cause and one by one.

use std::io::{self, Write};

use anyhow::Context as _;
use serde::Serialize;

use crate::catalog::{FaultCause, FaultEntry, ReadOnly};
use crate::cli::args::ErrorsArgs;
use crate::cli::session::Context;
use crate::cli::terminal::{Exit, output};
use crate::model::{FaultId, escape};
use crate::report::text::{counted, grouped};
use crate::report::{Format, PathJson, rfc3339, write_value};

/// Errors read from the catalog at once.
const PAGE: u32 = 1_000;

pub(crate) fn run(context: &Context, args: &ErrorsArgs) -> anyhow::Result<Exit> {
    let catalog = context.catalog()?;
    let causes = catalog.fault_causes()?;
    let list = DeadLetters {
        catalog,
        left: args.limit.unwrap_or(u64::MAX),
        last: FaultId(0),
    };
    let mut out = output::stdout();
    match args.format.format() {
        Format::Json => write_json(&mut out, &causes, list)?,
        _ => write_table(&mut out, &causes, list, &context.command("retry"))?,
    }
    out.flush().context("cannot write to standard output")?;
    Ok(Exit::Done)
}

/// The errors in order of their IDs, a page at a time.
struct DeadLetters {
    catalog: ReadOnly,
    left: u64,
    last: FaultId,
}

impl DeadLetters {
    /// Hands each of them to `show`.
    fn each(mut self, mut show: impl FnMut(&FaultEntry) -> io::Result<()>) -> anyhow::Result<()> {
        while self.left > 0 {
            let limit = u32::try_from(self.left).unwrap_or(PAGE).min(PAGE);
            let page = self.catalog.faults(self.last, limit)?;
            let Some(last) = page.last() else {
                break;
            };
            self.left -= page.len() as u64;
            self.last = last.id;
            page.iter().try_for_each(&mut show)?;
        }
        Ok(())
    }
}

fn total(causes: &[FaultCause]) -> u64 {
    causes.iter().map(|cause| cause.count).sum()
}

fn write_table(
    out: &mut impl Write,
    causes: &[FaultCause],
    list: DeadLetters,
    retry: &str,
) -> anyhow::Result<()> {
    let all = total(causes);
    if all == 0 {
        writeln!(out, "no errors")?;
        return Ok(());
    }
    for cause in causes {
        let paths = counted(cause.count, "path", "paths");
        writeln!(out, "{paths}: {}: {}", cause.step, escape(&cause.message))?;
        writeln!(out, "    {}", cause.hint)?;
    }
    writeln!(out)?;
    let mut shown = 0;
    list.each(|entry| {
        shown += 1;
        writeln!(out, "{:>6}  {}", entry.id, escape(&entry.path))?;
        writeln!(out, "        {}: {}", entry.step, escape(&entry.message))
    })?;
    writeln!(out)?;
    if shown < all {
        writeln!(out, "showing {} of {}", grouped(shown), grouped(all))?;
    }
    writeln!(
        out,
        "retry all with `{retry}`, or some with `{retry} ID...`"
    )?;
    Ok(())
}

#[derive(Serialize)]
struct CauseJson<'a> {
    step: &'a str,
    message: &'a str,
    hint: &'a str,
    count: u64,
}

#[derive(Serialize)]
struct EntryJson<'a> {
    id: i64,
    #[serde(flatten)]
    path: PathJson<'a>,
    kind: &'static str,
    step: &'a str,
    class: &'a str,
    attempts: u32,
    first_at: String,
    last_at: String,
    message: &'a str,
    hint: &'a str,
    size: Option<u64>,
}

impl<'a> EntryJson<'a> {
    fn new(entry: &'a FaultEntry) -> Self {
        Self {
            id: entry.id.0,
            path: PathJson::new(&entry.path),
            kind: if entry.is_folder { "folder" } else { "file" },
            step: &entry.step,
            class: &entry.class,
            attempts: entry.attempts,
            first_at: rfc3339(entry.first),
            last_at: rfc3339(entry.last),
            message: &entry.message,
            hint: &entry.hint,
            size: entry.size,
        }
    }
}

/// One document; the frame is written by hand so that the entries stream.
fn write_json(
    out: &mut impl Write,
    causes: &[FaultCause],
    list: DeadLetters,
) -> anyhow::Result<()> {
    let causes_json: Vec<_> = causes
        .iter()
        .map(|cause| CauseJson {
            step: &cause.step,
            message: &cause.message,
            hint: &cause.hint,
            count: cause.count,
        })
        .collect();
    write!(out, r#"{{"schema":1,"total":{},"causes":"#, total(causes))?;
    write_value(out, &causes_json)?;
    write!(out, r#","errors":["#)?;
    let mut separator = "\n";
    list.each(|entry| {
        out.write_all(separator.as_bytes())?;
        separator = ",\n";
        write_value(out, &EntryJson::new(entry))
    })?;
    writeln!(out, "]}}")?;
    Ok(())
}
