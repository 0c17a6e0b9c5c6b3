//! `plans N --edit`: the plan as a text in the user's editor.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::Context as _;

use super::change::{Changes, change};
use super::show::Groups;
use crate::act::GroupChange;
use crate::catalog::ReadOnly;
use crate::cli::session::Context;
use crate::cli::terminal::{Exit, ask, exit, output};
use crate::model::{Action, PlanHeader, escape};
use crate::report::{EditedLine, edited_lines, write_group_to_edit};

pub(super) fn edit(context: &Context, plan: &PlanHeader) -> anyhow::Result<Exit> {
    let catalog = context.catalog()?;
    let before = text_of(&catalog, plan)?;
    drop(catalog);
    let draft = Draft::new(plan, &before)?;
    loop {
        let failed = open_editor(&draft.path).err();
        let after = draft.read()?;
        if let Some(why) = failed {
            return Err(draft.give_up(&before, &why)?);
        }
        if after == before {
            draft.delete();
            output::print(format!("Plan {} was not changed\n", plan.id))?;
            return Ok(Exit::Done);
        }
        let error = match store(context, plan, &before, &after) {
            Ok(exit) => {
                draft.delete();
                return Ok(exit);
            }
            Err(error) => error,
        };
        if !io::stdin().is_terminal() {
            return Err(exit::usage(format_args!(
                "{error:#}; your text is in {}",
                draft.path.display()
            )));
        }
        exit::print_line(&format!("{error:#}"));
        if !ask("Edit again? [y/N] ", &["y", "yes"])? {
            return Err(exit::usage(format_args!(
                "plan {} was not changed; your text is in {}",
                plan.id,
                draft.path.display()
            )));
        }
    }
}

/// Checks and stores an edited text.
fn store(
    context: &Context,
    plan: &PlanHeader,
    before: &[u8],
    after: &[u8],
) -> anyhow::Result<Exit> {
    let lines = edited_lines(after).map_err(exit::usage)?;
    if lines.is_empty() {
        return Err(exit::usage(format_args!(
            "no line is left, so plan {} was not changed (`{}` deletes it)",
            plan.id,
            context.command(&format!("plans {} --delete", plan.id))
        )));
    }
    // The catalog was free for others while the editor was open.
    let mut catalog = context.exclusive("plans")?;
    let reader = catalog.reader()?;
    if text_of(&reader, plan)? != before {
        return Err(exit::usage(format_args!(
            "plan {} was changed by another command meanwhile",
            plan.id
        )));
    }
    let changes = changes(&reader, plan, lines)?;
    change(context, &mut catalog, plan, changes)
}

/// What the lines make of the groups that they change.
fn changes(
    catalog: &ReadOnly,
    plan: &PlanHeader,
    lines: Vec<EditedLine>,
) -> anyhow::Result<Changes> {
    let mut wanted: HashMap<PathBuf, EditedLine> = HashMap::new();
    for line in lines {
        let number = line.number;
        if let Some(other) = wanted.insert(line.path.clone(), line) {
            return Err(exit::usage(format_args!(
                "lines {} and {number} are about the same file",
                other.number
            )));
        }
    }
    let mut changes = Changes::new();
    let mut groups = Groups::of(catalog, plan.id);
    while let Some(group) = groups.next()? {
        let mut after = group.clone();
        after.copies.retain_mut(|planned| {
            let line = wanted.remove(&planned.copy.path);
            planned.role = line.as_ref().map_or(planned.role, |line| line.role);
            line.is_some()
        });
        if after != group {
            changes.insert(group.number, GroupChange::To(after));
        }
    }
    match wanted.values().min_by_key(|line| line.number) {
        Some(line) => Err(exit::usage(format_args!(
            "line {}: plan {} has no file {}",
            line.number,
            plan.id,
            escape(&line.path)
        ))),
        None => Ok(changes),
    }
}

fn text_of(catalog: &ReadOnly, plan: &PlanHeader) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    write!(text, "{}", introduction(plan))?;
    let mut groups = Groups::of(catalog, plan.id);
    while let Some(group) = groups.next()? {
        write_group_to_edit(&group, &mut text)?;
    }
    Ok(text)
}

fn introduction(plan: &PlanHeader) -> String {
    let fate = match plan.action {
        Action::Trash => "goes to the trash",
        Action::Delete => "is deleted",
    };
    format!(
        "# Plan {}. A line is a file:
#
#   keep PATH     it stays
#   remove PATH   it {fate}
#
# Change the word, or delete the line to leave the file alone. A group needs a
# file to keep. The order of the lines does not matter. If you save nothing, or
# delete all lines, the plan stays as it is.
",
        plan.id
    )
}

/// The text while it is being edited. It outlives an error, since it is the user's
/// work.
struct Draft {
    path: PathBuf,
}

impl Draft {
    fn new(plan: &PlanHeader, text: &[u8]) -> anyhow::Result<Self> {
        let cannot = || format!("cannot write to {}", std::env::temp_dir().display());
        let mut file = tempfile::Builder::new()
            .prefix(&format!("dupescan-plan-{}-", plan.id))
            .suffix(".txt")
            .tempfile()
            .with_context(cannot)?;
        file.write_all(text).with_context(cannot)?;
        let (_, path) = file.keep().with_context(cannot)?;
        Ok(Self { path })
    }

    fn read(&self) -> anyhow::Result<Vec<u8>> {
        std::fs::read(&self.path).with_context(|| format!("cannot read {}", self.path.display()))
    }

    /// Why the plan is as it was, after the editor failed.
    fn give_up(&self, before: &[u8], why: &str) -> anyhow::Result<anyhow::Error> {
        let is_untouched = self.read()? == before;
        if is_untouched {
            self.delete();
            return Ok(anyhow::anyhow!("{why}: nothing was changed"));
        }
        let path = self.path.display();
        Ok(anyhow::anyhow!(
            "{why}: nothing was changed; your text is in {path}"
        ))
    }

    fn delete(&self) {
        std::fs::remove_file(&self.path).ok();
    }
}

/// Waits for the editor; says how it failed, if it did. Ctrl-C is meant for it, and
/// not for us.
fn open_editor(file: &Path) -> Result<(), String> {
    let editor = editor();
    let mut line = editor.clone();
    line.push(" \"$@\"");
    let interrupt = signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::default());
    let status = Command::new("sh")
        .arg("-c")
        .arg(line)
        .arg(&editor)
        .arg(file)
        .status();
    if let Ok(id) = interrupt {
        signal_hook::low_level::unregister(id);
    }
    let why = match status {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    Err(format!("the editor '{}' failed ({why})", escape(&editor)))
}

/// The editor as the environment names it.
fn editor() -> OsString {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    named("VISUAL")
        .or_else(|| named("EDITOR"))
        .unwrap_or_else(|| "vi".into())
}
