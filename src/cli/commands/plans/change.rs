//! `plans N --drop` and `--keep-instead`, and what is said of every change.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::named::plan_of;
use super::show::Groups;
use crate::act::{GroupChange, PlanChanged, PlanRequest, RefusedRow, change_plan};
use crate::answers::path_named;
use crate::catalog::{Exclusive, ReadOnly};
use crate::cli::args::excluded;
use crate::cli::commands::plan::{fate, refused_row};
use crate::cli::session::Context;
use crate::cli::terminal::{Exit, exit, output};
use crate::model::{CopyEntry, Globs, PlanHeader, PlanTotals, Role, escape};
use crate::report::text::{counted, human_size};

/// Refused rows that are named.
const NAMED: usize = 3;

/// What becomes of groups, by their numbers.
pub(super) type Changes = BTreeMap<u64, GroupChange>;

/// Leaves copies alone that were to go.
pub(super) fn drop(
    context: &Context,
    plan: &PlanHeader,
    typed: &[OsString],
) -> anyhow::Result<Exit> {
    let mut catalog = context.exclusive("plans")?;
    let reader = catalog.reader()?;
    let mut wanted = Vec::new();
    for text in typed {
        wanted.push((text, What::of(&reader, text)?, false));
    }
    let mut changes = Changes::new();
    let mut groups = Groups::of(&reader, plan.id);
    while let Some(mut group) = groups.next()? {
        let (number, before) = (group.number, group.copies.len());
        group.copies.retain(|planned| {
            let mut is_dropped = false;
            for (_, what, has_matched) in &mut wanted {
                if planned.role == Role::Act && what.matches(number, &planned.copy) {
                    (is_dropped, *has_matched) = (true, true);
                }
            }
            !is_dropped
        });
        if group.copies.len() < before {
            changes.insert(number, GroupChange::To(group));
        }
    }
    if let Some((text, ..)) = wanted.iter().find(|(.., has_matched)| !has_matched) {
        return Err(exit::usage(format_args!(
            "{}: plan {} removes nothing of this name, number or pattern",
            escape(text),
            plan.id
        )));
    }
    change(context, &mut catalog, plan, changes)
}

/// Keeps copies that were to go.
pub(super) fn keep_instead(
    context: &Context,
    plan: &PlanHeader,
    typed: &[PathBuf],
) -> anyhow::Result<Exit> {
    let mut catalog = context.exclusive("plans")?;
    let reader = catalog.reader()?;
    let roots = reader.roots()?;
    let mut changes = Changes::new();
    for path in typed {
        let path = path_named(&roots, path)?;
        let refused = |why: &str| {
            let (path, plan) = (escape(&path), plan.id);
            Err(exit::usage(format_args!("{path}: plan {plan} {why}")))
        };
        match copy_named(&reader, plan, &path)? {
            None => return refused("has no such file"),
            Some((_, Role::Keep)) => return refused("keeps it already"),
            Some((number, Role::Act)) => {
                let change = GroupChange::KeepInstead(path.clone());
                if changes.insert(number, change).is_some() {
                    return refused("has another of these paths in the same group");
                }
            }
        }
    }
    change(context, &mut catalog, plan, changes)
}

/// The group and the role of the copy with a name.
fn copy_named(
    catalog: &ReadOnly,
    plan: &PlanHeader,
    path: &Path,
) -> anyhow::Result<Option<(u64, Role)>> {
    let mut groups = Groups::of(catalog, plan.id);
    while let Some(group) = groups.next()? {
        let has_name = |copy: &CopyEntry| copy.names().any(|name| name == path);
        let mut copies = group.copies.iter();
        if let Some(planned) = copies.find(|planned| has_name(&planned.copy)) {
            return Ok(Some((group.number, planned.role)));
        }
    }
    Ok(None)
}

/// What is dropped.
enum What {
    Group(u64),
    Path(PathBuf),
    Glob(Globs),
}

impl What {
    /// A number is a group. What is a place of the catalog is a path, and
    /// everything else with a wildcard is a glob.
    fn of(catalog: &ReadOnly, text: &OsStr) -> anyhow::Result<Self> {
        if let Some(number) = text.to_str().and_then(|text| text.parse().ok()) {
            return Ok(Self::Group(number));
        }
        let has_wildcard = text.as_bytes().iter().any(|byte| b"*?[{".contains(byte));
        let path = path_named(&catalog.roots()?, Path::new(text));
        if !has_wildcard || path.as_ref().is_ok_and(|path| path.exists()) {
            return Ok(Self::Path(path?));
        }
        let shown = escape(text);
        let invalid = |why: String| exit::usage(format_args!("invalid value '{shown}': {why}"));
        let glob = text
            .to_str()
            .ok_or_else(|| invalid("a glob is UTF-8 text".to_owned()))?;
        // Globs are matched against paths without the slash in front.
        let glob = glob.strip_prefix('/').unwrap_or(glob).to_owned();
        let globs = Globs::new(&[glob]).map_err(|(_, why)| invalid(why))?;
        Ok(Self::Glob(globs))
    }

    fn matches(&self, group: u64, copy: &CopyEntry) -> bool {
        let mut names = copy.names();
        match self {
            Self::Group(number) => *number == group,
            Self::Path(path) => names.any(|name| name.starts_with(path)),
            Self::Glob(globs) => {
                names.any(|name| globs.matches_file(name.strip_prefix("/").unwrap_or(name)))
            }
        }
    }
}

/// Changes a plan, and says what that did.
pub(super) fn change(
    context: &Context,
    catalog: &mut Exclusive,
    plan: &PlanHeader,
    changes: Changes,
) -> anyhow::Result<Exit> {
    let request = PlanRequest {
        action: plan.action,
        rules: Vec::new(),
        exclude: excluded(&plan.options.exclude)?,
        protected: catalog.reader()?.protected()?,
        options: plan.options.clone(),
    };
    let changed = change_plan(catalog, (plan.id, &request), changes)?;
    if !changed.refused.is_empty() {
        return Err(exit::usage(refusal(plan, &changed)));
    }
    if changed.is_applied {
        return Err(refuse_applied(context, plan));
    }
    say(plan, &plan_of(context, plan.id)?.totals, &changed)?;
    Ok(Exit::Done)
}

/// A plan of which anything was done stays as it is, for the journal and `undo`.
pub(super) fn refuse_applied(context: &Context, plan: &PlanHeader) -> anyhow::Error {
    let export = context.command(&format!("plans {} --format jsonl -o FILE", plan.id));
    let import = context.command("plan --import FILE");
    exit::usage(format_args!(
        "plan {} has been applied and stays as it is: `{export}` and `{import}` make a new one",
        plan.id
    ))
}

fn refusal(plan: &PlanHeader, changed: &PlanChanged) -> String {
    let mut rows = RefusedRow::together(&changed.refused);
    let named = rows.by_ref().take(NAMED);
    let mut reasons: Vec<String> = named.map(refused_row).collect();
    let more: usize = rows.map(|(_, others)| 1 + others).sum();
    if more > 0 {
        reasons.push(format!("{} more", counted(more as u64, "copy", "copies")));
    }
    format!("plan {} was not changed: {}", plan.id, reasons.join("; "))
}

fn say(plan: &PlanHeader, now: &PlanTotals, changed: &PlanChanged) -> anyhow::Result<()> {
    let done: Vec<String> = [
        (changed.kept, "is kept", "are kept"),
        (changed.go, "goes instead", "go instead"),
        (changed.left_alone, "is left alone", "are left alone"),
    ]
    .into_iter()
    .filter(|(files, ..)| *files > 0)
    .map(|(files, one, many)| {
        let verb = if files == 1 { one } else { many };
        format!("{} {verb}", counted(files, "file", "files"))
    })
    .collect();
    let mut out = output::stdout();
    let done = match done.is_empty() {
        true => "what it removes is the same".to_owned(),
        false => done.join(", "),
    };
    writeln!(out, "Plan {} changed: {done}", plan.id)?;
    match now.groups {
        0 => writeln!(out, "Plan {} removes nothing any more", plan.id)?,
        _ => writeln!(
            out,
            "Plan {}: {} in {} {}, {}",
            plan.id,
            counted(now.files, "file", "files"),
            counted(now.groups, "group", "groups"),
            fate(plan.action),
            human_size(now.bytes)
        )?,
    }
    Ok(out.flush()?)
}
