//! `dupescan verify`: checks the catalog, and repairs it on request.

use crate::catalog::{Problem, ReadOnly};
use crate::cli::args::VerifyArgs;
use crate::cli::session::Context;
use crate::cli::terminal::{Exit, output};
use crate::model::escape;
use crate::report::text::counted;

pub(crate) fn run(context: &Context, args: &VerifyArgs) -> anyhow::Result<Exit> {
    let mut problems = check(context)?;
    let mut text = list(&problems);
    // A file beyond repair is not even opened for writing.
    if args.repair && problems.iter().any(|problem| problem.mendable) {
        output::print(&text)?;
        let done = context.exclusive("verify")?.repair()?;
        text = done
            .iter()
            .map(|line| format!("repaired: {}\n", escape(line)))
            .collect();
        problems = check(context)?;
        text += &list(&problems);
    }
    output::print(&(text + &summary(context, &problems)))?;
    Ok(if problems.is_empty() {
        Exit::Done
    } else {
        Exit::Problems
    })
}

fn check(context: &Context) -> anyhow::Result<Vec<Problem>> {
    let catalog = ReadOnly::open_to_check(&context.config.db)?;
    Ok(catalog.verify()?)
}

fn list(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(|problem| format!("problem: {}\n", escape(&problem.sentence)))
        .collect()
}

fn summary(context: &Context, problems: &[Problem]) -> String {
    let path = escape(&context.config.db);
    if problems.is_empty() {
        return format!("the catalog {path} is OK\n");
    }
    let all = problems.len() as u64;
    let mendable = problems.iter().filter(|problem| problem.mendable).count() as u64;
    let mut text = format!(
        "the catalog {path} has {}\n",
        counted(all, "problem", "problems")
    );
    if mendable > 0 {
        let repair = context.command("verify --repair");
        text += &format!("`{repair}` can repair {mendable} of {all}\n");
    }
    if mendable < all {
        text += "what cannot be repaired: restore a backup, or scan into a new catalog\n";
    }
    text
}
