//! What the user types and sees: the command line, one thin file per command,
//! progress, messages and exit codes. The only layer that prints.

mod args;
mod commands;
mod progress;
mod session;
mod terminal;

use commands::audit;
use commands::backup;
use commands::diff;
use commands::errors;
use commands::export;
use commands::find;
use commands::folders;
use commands::forget;
use commands::generate;
use commands::history;
use commands::purge;
use commands::report;
use commands::resume;
use commands::retry;
use commands::roots;
use commands::scan;
use commands::status;
use commands::unique;
use commands::verify;
pub(crate) use session::Context;
use terminal::exit;

use std::ffi::OsString;

use args::{Cli, Command};
pub use terminal::Exit;

use crate::platform::make_room_for_files;
use crate::settings::{Config, ConfigError, Places};

/// Runs a command line, the program's name first. Errors have been printed when
/// it returns.
pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    match args::help::parse(args) {
        Ok(cli) => execute(cli).unwrap_or_else(|error| exit::explain(&error)),
        Err(error) => args::usage_errors::explain(&error),
    }
}

fn execute(cli: Cli) -> anyhow::Result<Exit> {
    // Before anything that may start a thread.
    make_room_for_files();
    // Packagers generate these without a home directory or configuration.
    let command = match cli.command {
        Command::Completions(args) => return generate::completions(&args),
        Command::Man(args) => return generate::man(&args),
        command => command,
    };
    let context = Context::new(configure(&cli.global, &command)?, cli.global.quiet);
    session::start_logging(&context)?;
    dispatch(&context, command).map_err(|error| context.name_catalog(error))
}

fn configure(global: &args::GlobalArgs, command: &Command) -> Result<Config, ConfigError> {
    Config::load(
        command.settings().over(global.settings()),
        global.config.as_deref(),
        |name| std::env::var_os(name),
        &Places::of_platform(),
    )
}

fn dispatch(context: &Context, command: Command) -> anyhow::Result<Exit> {
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
        Command::Status(args) => status::run(context, &args),
        Command::Errors(args) => errors::run(context, &args),
        Command::Retry(args) => retry::run(context, &args),
        Command::Forget(args) => forget::run(context, &args),
        Command::Roots(args) => roots::run(context, &args),
        Command::Purge(args) => purge::run(context, &args),
        Command::Verify(args) => verify::run(context, &args),
        Command::Backup(args) => backup::run(context, &args),
        Command::Completions(args) => generate::completions(&args),
        Command::Man(args) => generate::man(&args),
    }
}
