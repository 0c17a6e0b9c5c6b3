//! What the user types and sees: the command line, one thin file per command,
//! progress, messages and exit codes. The only layer that prints.

mod args;
mod commands;
mod progress;
mod session;
mod terminal;

pub(crate) use session::Context;
use terminal::exit;

use std::ffi::OsString;

use args::{Cli, Command};
pub use terminal::Exit;

use crate::platform::make_room_for_files;
use crate::settings::{Config, ConfigError, DefaultPaths};

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
    session::survive_file_size_limit();
    // Packagers generate these without a home directory or configuration.
    let command = match cli.command {
        Command::Completions(args) => return commands::completions(&args),
        Command::Man(args) => return commands::man(&args),
        command => command,
    };
    let context = Context::new(configure(&cli.global, &command)?, cli.global.quiet);
    session::start_logging(&context)?;
    commands::run(&context, command).map_err(|error| context.complete(error))
}

fn configure(global: &args::GlobalArgs, command: &Command) -> Result<Config, ConfigError> {
    Config::load(
        command.settings().over(global.settings()),
        global.config.as_deref(),
        std::env::vars_os(),
        &DefaultPaths::of_platform(),
    )
}
