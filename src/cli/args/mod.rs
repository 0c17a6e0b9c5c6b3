//! The command line as it is typed. Settings that the configuration file and
//! the environment know too stay text here and become a [`Layer`]; `config`
//! reads and validates them. What belongs to one command only is typed.

pub(crate) mod answer;
pub(crate) mod ask;
mod audit;
pub(crate) mod catalog;
mod folders;
mod limits;
pub(crate) mod report;
mod run;
pub(crate) mod scan;
#[cfg(test)]
mod tests;

pub(crate) use answer::{AnswerArgs, OutputArgs, excluded, exclusion};
pub(crate) use ask::ExportFormat;
pub(crate) use catalog::{ListFormat, RootsCommand};

use std::path::PathBuf;

pub(crate) use ask::{DiffArgs, ExportArgs, FindArgs, HistoryArgs, UniqueArgs};
pub(crate) use audit::AuditArgs;
pub(crate) use catalog::{
    BackupArgs, ErrorsArgs, ForgetArgs, PurgeArgs, RootsArgs, StatusArgs, VerifyArgs,
};
use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
pub(crate) use folders::FoldersArgs;
pub(crate) use report::{ReportArgs, ReportFormat};
pub(crate) use scan::{ResumeArgs, RetryArgs, ScanArgs};

use crate::settings::{Key, Layer};

const EXAMPLES: &str = "\
Examples:
  dupescan scan ~/Pictures /mnt/backup   find duplicates in and across both
  dupescan report --min-size 10M         show the groups of larger files again
  dupescan status                        see what is known, and what unfinished";

const EXAMPLES_AND_EXIT_CODES: &str = "\
Examples:
  dupescan scan ~/Pictures /mnt/backup   find duplicates in and across both
  dupescan report --min-size 10M         show the groups of larger files again
  dupescan status                        see what is known, and what unfinished

Settings:
  Every setting can be given in the configuration file (min_size = \"1M\"), in the environment
  (DUPESCAN_MIN_SIZE=1M) and as a flag (--min-size 1M); the later one wins. The file is
  config.toml in the platform's configuration directory (Linux: ~/.config/dupescan), unless
  --config or DUPESCAN_CONFIG names another. What is on or off can be switched off again
  (--nice=false). Globs are a list in the file, and separated by `:` in the environment.

Values:
  Sizes    512, 1k, 10M, 1.5G, 2GiB: powers of 1024; 500kB, 20MB, 1GB: powers of 1000
  Rates    a size per second: 50M or 50M/s
  Times    250ms, 5s, 2m, 1h, 1d; a plain number is seconds

Exit codes:
    0  done
    1  done, with findings: paths that could not be read (see `dupescan errors`), a problem that
       `dupescan verify` found, bit rot, or an answer that is no (`diff`, `find`)
    2  wrong usage or configuration
    3  could not: catalog unusable or locked, disk full, root offline, device failing
  130  interrupted, state saved";

/// Finds duplicate files, remembers what it learned, and goes on where it was stopped.
#[derive(Debug, Parser)]
#[command(
    name = "dupescan",
    version,
    max_term_width = 100,
    args_override_self = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = EXAMPLES,
    after_long_help = EXAMPLES_AND_EXIT_CODES
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The options that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// The catalog to use
    ///
    /// Without it, the environment variable DUPESCAN_DB or the key `db` of the configuration file
    /// decides, and else catalog.db in the platform's data directory (Linux:
    /// ~/.local/share/dupescan).
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) db: Option<PathBuf>,

    /// Read settings from this file instead of the usual place
    ///
    /// The environment variable DUPESCAN_CONFIG does the same. A file named in either way must
    /// exist.
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Log more: -v what happens, -vv details, -vvv everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Show results and errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Form of log lines
    #[arg(long, global = true, value_name = "FORM", value_parser = ["text", "json"])]
    pub(crate) log_format: Option<String>,

    /// Append the log to this file instead of showing it; a new file is for you alone to read
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) log_file: Option<PathBuf>,

    /// When to use colour; `auto` asks the terminal and NO_COLOR
    #[arg(long, global = true, value_name = "WHEN", value_parser = ["auto", "always", "never"])]
    pub(crate) color: Option<String>,
}

impl GlobalArgs {
    /// The settings among the flags.
    pub(crate) fn settings(&self) -> Layer {
        let mut layer = Layer::default();
        layer.flag(Key::Db, self.db.as_ref());
        layer.flag(Key::LogLevel, self.log_level());
        layer.flag(Key::LogFormat, self.log_format.as_ref());
        layer.flag(Key::LogFile, self.log_file.as_ref());
        layer.flag(Key::Color, self.color.as_ref());
        layer
    }

    fn log_level(&self) -> Option<&'static str> {
        match (self.quiet, self.verbose) {
            (true, _) => Some("error"),
            (false, 0) => None,
            (false, 1) => Some("info"),
            (false, 2) => Some("debug"),
            (false, _) => Some("trace"),
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Scan(Box<ScanArgs>),
    Resume(ResumeArgs),
    Report(ReportArgs),
    Folders(Box<FoldersArgs>),
    Diff(DiffArgs),
    Unique(UniqueArgs),
    Find(FindArgs),
    Export(ExportArgs),
    History(HistoryArgs),
    Audit(AuditArgs),
    Status(StatusArgs),
    Errors(ErrorsArgs),
    Retry(RetryArgs),
    Forget(ForgetArgs),
    Roots(RootsArgs),
    Purge(PurgeArgs),
    Verify(VerifyArgs),
    Backup(BackupArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

impl Command {
    /// The settings among the command's own flags.
    pub(crate) fn settings(&self) -> Layer {
        match self {
            Self::Scan(args) => {
                let limits = args.limits.settings().over(args.settings.settings());
                args.run.settings().over(limits)
            }
            Self::Audit(args) => args.settings(),
            Self::Resume(args) => args.run.settings().over(args.limits.settings()),
            Self::Retry(args) => args.run.settings().over(args.limits.settings()),
            _ => Layer::default(),
        }
    }
}

/// Print the completion script of a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan completions bash > ~/.local/share/bash-completion/completions/dupescan
  dupescan completions fish > ~/.config/fish/completions/dupescan.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

/// Print the manual page, or write the pages of all commands
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan man | man -l -
  dupescan man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write one page per command into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}
