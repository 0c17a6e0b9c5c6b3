//! One thin file a command, and which of them a command line means.

mod apply;
mod audit;
mod backup;
mod diff;
mod empty_trash;
mod errors;
mod export;
mod find;
mod folders;
mod forget;
mod generate;
mod history;
mod journal;
mod plan;
mod plans;
mod protect;
mod purge;
mod report;
mod resume;
mod retry;
mod roots;
mod scan;
mod status;
mod undo;
mod unique;
mod verify;

use super::args::Command;
use super::session::Context;
use super::terminal::Exit;

pub(crate) use generate::{completions, man};

/// Runs a command that needs a configuration.
pub(crate) fn run(context: &Context, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Scan(args) => scan::run(context, &args),
        Command::Resume(_) => resume::run(context),
        Command::Report(args) => report::run(context, &args),
        Command::Folders(args) => folders::run(context, *args),
        Command::Diff(args) => diff::run(context, &args),
        Command::Unique(args) => unique::run(context, &args),
        Command::Find(args) => find::run(context, &args),
        Command::Export(args) => export::run(context, &args),
        Command::History(args) => history::run(context, &args),
        Command::Audit(args) => audit::run(context, &args),
        Command::Plan(args) => plan::run(context, &args),
        Command::Plans(args) => plans::run(context, &args),
        Command::Apply(args) => apply::run(context, &args),
        Command::Undo(args) => undo::run(context, &args),
        Command::Journal(args) => journal::run(context, &args),
        Command::EmptyTrash(args) => empty_trash::run(context, &args),
        Command::Protect(args) => protect::run(context, &args),
        Command::Status(args) => status::run(context, &args),
        Command::Errors(args) => errors::run(context, &args),
        Command::Retry(args) => retry::run(context, &args),
        Command::Forget(args) => forget::run(context, &args),
        Command::Roots(args) => roots::run(context, &args),
        Command::Purge(args) => purge::run(context, &args),
        Command::Verify(args) => verify::run(context, &args),
        Command::Backup(args) => backup::run(context, &args),
        Command::Completions(args) => completions(&args),
        Command::Man(args) => man(&args),
    }
}
