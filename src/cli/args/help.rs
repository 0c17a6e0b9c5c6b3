//! Three lengths of help: `-h` fits one screen, `--help` two, and `--help-all`
//! has everything, tuning options included.
//!
//! clap knows two lengths and prints the longer one with several lines per
//! option. So `-h` and `--help` are both its short help, of a command whose
//! options are hidden accordingly: `hide_short_help` marks what `-h` hides, and
//! `hide_long_help` what only `--help-all` shows.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, CommandFactory, Parser};

use super::Cli;

/// `dupescan -h` has no room for options.
const BRIEF_TEMPLATE: &str = "\
{about}

{usage-heading} {usage}

Commands:
{subcommands}

Start with `dupescan scan FOLDER`. More commands and options: dupescan --help
";

/// Commands that `dupescan -h` does not list: they maintain the catalog or the
/// installation.
const RARE: [&str; 10] = [
    "journal",
    "empty-trash",
    "protect",
    "forget",
    "roots",
    "purge",
    "verify",
    "backup",
    "completions",
    "man",
];

/// How much help was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// `-h`
    Brief,
    /// `--help`
    Normal,
    /// `--help-all`
    All,
}

/// Parses a command line, the program's name first. `help COMMAND` means
/// `COMMAND --help`.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let args: Vec<_> = args.into_iter().collect();
    Cli::try_parse_from(&args).map_err(|error| match error.kind() {
        ErrorKind::InvalidSubcommand => help(&without_help_command(&args)).unwrap_or(error),
        _ if is_help(&error) => help(&args).unwrap_or(error),
        _ => error,
    })
}

/// `help COMMAND` as `COMMAND --help`.
fn without_help_command(args: &[OsString]) -> Vec<OsString> {
    let mut args = args.to_vec();
    if let Some(at) = args.iter().position(|word| word == "help") {
        args.remove(at);
        args.push("--help".into());
    }
    args
}

fn is_help(error: &clap::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}

/// The help of the length that was asked for, if any was.
fn help(args: &[OsString]) -> Option<clap::Error> {
    let root = Cli::command();
    let is_of_root = !args.iter().any(|word| root.find_subcommand(word).is_some());
    let length = Length::asked_for(args);
    let command = match is_of_root {
        true => root_of_length(root, length),
        false => commands_of_length(root, length),
    };
    command.try_get_matches_from(args).err().filter(is_help)
}

impl Length {
    fn asked_for(args: &[OsString]) -> Self {
        let mut options = args.iter().take_while(|word| *word != "--");
        let length = options.find_map(|word| match word.to_str()? {
            "--help" => Some(Self::Normal),
            "--help-all" => Some(Self::All),
            _ => None,
        });
        length.unwrap_or(Self::Brief)
    }
}

/// The program for its own help, which lists the commands.
pub(super) fn root_of_length(root: Command, length: Length) -> Command {
    match length {
        Length::Brief => root
            .mut_subcommands(|command| {
                let is_rare = RARE.contains(&command.get_name());
                command.hide(is_rare)
            })
            .help_template(BRIEF_TEMPLATE),
        Length::Normal => root.mut_args(|arg| in_one_line(arg, length).help_heading(None::<&str>)),
        Length::All => root.mut_args(unhidden),
    }
}

/// The program for the help of one of its commands.
pub(super) fn commands_of_length(root: Command, length: Length) -> Command {
    let globals = match length {
        Length::Brief | Length::Normal => hidden_globals(&root),
        Length::All => Vec::new(),
    };
    root.mut_args(unhidden)
        .mut_subcommands(|command| of_length(command.args(&globals), length))
}

/// The global options as commands have them: only the help of the program
/// itself lists them.
fn hidden_globals(root: &Command) -> Vec<Arg> {
    let globals = root.get_arguments().filter(|arg| arg.is_global_set());
    let hidden = |arg: &Arg| arg.clone().hide(arg.get_id() != "help");
    globals.map(hidden).collect()
}

fn of_length(mut command: Command, length: Length) -> Command {
    if let Some(about) = command.get_long_about().cloned()
        && length != Length::Brief
    {
        command = command.about(about);
    }
    let command = command.mut_args(|arg| match length {
        Length::Brief => in_one_line(arg, length).help_heading(None::<&str>),
        Length::Normal => in_one_line(arg, length),
        Length::All => unhidden(arg),
    });
    command.mut_subcommands(move |command| of_length(command, length))
}

fn unhidden(arg: Arg) -> Arg {
    arg.hide_short_help(false).hide_long_help(false)
}

/// An option as `-h` and `--help` show it: without the list of its values, whose
/// first one is the default, and without the value of a switch.
fn in_one_line(arg: Arg, length: Length) -> Arg {
    let is_hidden = match length {
        Length::Brief => arg.is_hide_short_help_set(),
        _ => arg.is_hide_long_help_set(),
    };
    let names = arg.get_value_names().unwrap_or_default();
    let is_switch = names.first().is_some_and(|name| name == "BOOL");
    let takes_values = arg.get_action().takes_values();
    let has_choices = !arg.get_possible_values().is_empty();
    let arg = match is_switch {
        true => as_switch(arg),
        false => arg
            .hide_default_value(takes_values && has_choices)
            .hide_possible_values(takes_values),
    };
    arg.hide_short_help(is_hidden)
}

fn as_switch(arg: Arg) -> Arg {
    arg.action(ArgAction::SetTrue)
        .num_args(0)
        .value_parser(clap::value_parser!(bool))
        .require_equals(false)
        .hide_possible_values(false)
        .default_missing_value(Resettable::Reset)
}
