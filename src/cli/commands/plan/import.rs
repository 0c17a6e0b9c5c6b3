//! `dupescan plan --import`: a plan file, possibly edited by hand, becomes a new
//! plan once each of its rows was checked.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::Path;

use super::words::{fate, next_steps, reclaimable, refused_row};
use crate::act::{PlanImported, PlanRequest, RefusedRow, import_plan};
use crate::catalog::ReadOnly;
use crate::cli::args::{PlanArgs, excluded};
use crate::cli::session::{Context, folder_to_protect};
use crate::cli::terminal::{Exit, exit, output};
use crate::model::Action;
use crate::report::text::{counted, human_size};
use crate::report::{PlanFileError, PlanReader, PlanSource};

/// Refused rows that are listed.
const LISTED: usize = 100;
/// The line of the first group.
const FIRST_GROUP: u64 = 2;

pub(super) fn run(context: &Context, args: &PlanArgs, file: &Path) -> anyhow::Result<Exit> {
    let mut catalog = context.exclusive("plan")?;
    let reader = catalog.reader()?;
    let mut lines = open(&reader, file)?;
    let source = lines.source().clone();
    let request = request(&reader, args, &source)?;
    drop(reader);
    let mut next = || lines.next_group().map_err(|error| refused(file, &error));
    let imported = import_plan(&mut catalog, &request, &mut next)?;
    summarise(context, source.action, &imported)?;
    Ok(match imported.refused.is_empty() {
        true => Exit::Done,
        false => Exit::Problems,
    })
}

/// Begins to read a plan file, which must be of this catalog.
pub(crate) fn open(catalog: &ReadOnly, file: &Path) -> anyhow::Result<PlanReader<BufReader<File>>> {
    let opened = File::open(file).map_err(|error| refused(file, &error.into()))?;
    let lines = PlanReader::begin(BufReader::new(opened)).map_err(|error| refused(file, &error))?;
    match lines.source().catalog == catalog.identity()? {
        true => Ok(lines),
        false => Err(exit::usage(format_args!(
            "{}: it is a plan of another catalog",
            file.display()
        ))),
    }
}

/// A plan file that cannot be used.
pub(crate) fn refused(file: &Path, error: &PlanFileError) -> anyhow::Error {
    if matches!(error, PlanFileError::Io(error) if error.kind() == io::ErrorKind::NotFound) {
        let file = file.display();
        return exit::usage(format_args!("there is no plan file {file}"));
    }
    exit::usage(format_args!("{}: {error}", file.display()))
}

/// The request that the first line of the file makes. What lifts a guard must be
/// typed, and what protects may be.
fn request(
    catalog: &ReadOnly,
    args: &PlanArgs,
    source: &PlanSource,
) -> anyhow::Result<PlanRequest> {
    let mut options = source.options.clone();
    options.include_guarded = args.include_guarded;
    let roots = catalog.roots()?;
    for path in &args.protect {
        options.protect.push(folder_to_protect(&roots, path)?);
    }
    Ok(PlanRequest {
        action: source.action,
        rules: Vec::new(),
        exclude: excluded(&options.exclude)?,
        protected: catalog.protected()?,
        options,
    })
}

fn summarise(context: &Context, action: Action, imported: &PlanImported) -> anyhow::Result<()> {
    let mut out = output::stdout();
    match imported.id {
        None => writeln!(out, "Nothing was imported: no copy can be removed")?,
        Some(id) => writeln!(
            out,
            "Plan {id}: {} in {} {}, {}",
            counted(imported.totals.files, "file", "files"),
            counted(imported.totals.groups, "group", "groups"),
            fate(action),
            human_size(imported.totals.bytes)
        )?,
    }
    if imported.id.is_some() {
        let words = reclaimable(action, imported.reclaimable, imported.totals.bytes, false);
        writeln!(out, "  {words}")?;
    }
    let mut rows = RefusedRow::together(&imported.refused);
    for (row, others) in rows.by_ref().take(LISTED) {
        let line = row.group + FIRST_GROUP - 1;
        writeln!(
            out,
            "  refused: line {line}: {}",
            refused_row((row, others))
        )?;
    }
    let more: usize = rows.map(|(_, others)| 1 + others).sum();
    if more > 0 {
        writeln!(
            out,
            "  refused: {} more",
            counted(more as u64, "copy", "copies")
        )?;
    }
    if let Some(id) = imported.id {
        next_steps(&mut out, context, id)?;
    }
    Ok(out.flush()?)
}
