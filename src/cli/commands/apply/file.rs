//! The plan that a file names: it must be the one that the catalog has, in every
//! row. What is acted on is the catalog's.

use std::path::Path;

use crate::cli::commands::plan::{open_file, refused_file};
use crate::cli::commands::plans::Groups;
use crate::cli::session::{Context, shell_word};
use crate::cli::terminal::exit;
use crate::model::{CopyEntry, PlanHeader, PlannedGroup};

/// The plan of an unaltered file of this catalog, or a usage error.
pub(super) fn plan_of_file(context: &Context, file: &Path) -> anyhow::Result<PlanHeader> {
    let catalog = context.catalog()?;
    let mut lines = open_file(&catalog, file)?;
    let source = lines.source().clone();
    let plan = catalog.plan(source.plan)?;
    let mut is_same = plan
        .as_ref()
        .is_some_and(|plan| plan.action == source.action && plan.options == source.options);
    let mut known = Groups::of(&catalog, source.plan);
    while let Some(group) = lines
        .next_group()
        .map_err(|error| refused_file(file, &error))?
    {
        // Read to the end in any case: only there it is known to be sealed.
        is_same = is_same && known.next()?.is_some_and(|known| is_equal(&known, &group));
    }
    is_same = is_same && known.next()?.is_none();
    let why = match plan {
        _ if !lines.is_sealed() => "it has been changed since it was written".to_owned(),
        None => format!("the catalog has no plan {} any more", source.plan),
        Some(_) if !is_same => {
            format!(
                "plan {} of the catalog is not this one any more",
                source.plan
            )
        }
        Some(plan) => return Ok(plan),
    };
    let import = context.command(&format!("plan --import {}", shell_word(file)));
    Err(exit::usage(format_args!(
        "{}: {why}; `{import}` checks it and makes a new plan of it",
        file.display()
    )))
}

/// Whether a group of a file is one of the catalog. Change times are not compared:
/// `undo` moves them, in the catalog's plan too.
fn is_equal(known: &PlannedGroup, read: &PlannedGroup) -> bool {
    let parts = |group: &PlannedGroup| (group.number, group.size, group.digest);
    let is_same = |known: &CopyEntry, read: &CopyEntry| {
        known.path == read.path
            && known.links == read.links
            && known.volume == read.volume
            && (known.inode, known.mtime_ns) == (read.inode, read.mtime_ns)
    };
    let mut pairs = known.copies.iter().zip(&read.copies);
    parts(known) == parts(read)
        && known.copies.len() == read.copies.len()
        && pairs.all(|(known, read)| known.role == read.role && is_same(&known.copy, &read.copy))
}
