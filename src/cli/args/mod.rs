//! The command line as it is typed. Options that are also settings stay text
//! here and become a [`Layer`]; `settings` parses and validates them. Options of a
//! single command are parsed here.

mod act;
pub(crate) mod ask;
mod audit;
pub(crate) mod catalog;
mod folders;
pub(super) mod help;
pub(crate) mod report;
pub(crate) mod scan;
mod shared;
#[cfg(test)]
mod tests;
pub(super) mod usage_errors;

pub(crate) use act::{
    ApplyArgs, EmptyTrashArgs, JournalArgs, PlanArgs, PlanName, PlansArgs, ProtectArgs, UndoArgs,
};
pub(crate) use catalog::RootsCommand;

use std::path::PathBuf;

pub(crate) use ask::{DiffArgs, ExportArgs, FindArgs, HistoryArgs, UniqueArgs};
pub(crate) use audit::AuditArgs;
pub(crate) use catalog::{
    BackupArgs, ErrorsArgs, ForgetArgs, PurgeArgs, RootsArgs, StatusArgs, VerifyArgs,
};
use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
pub(crate) use folders::FoldersArgs;
pub(crate) use report::ReportArgs;
pub(crate) use scan::{ResumeArgs, RetryArgs, ScanArgs};
pub(crate) use shared::{AnswerArgs, FilterArgs, excluded};

use crate::settings::{Key, Layer};

const EXIT_CODES: &str = "\
Exit codes:
    0  success
    1  completed with problems: failed paths, corruption, or a \"no\" (diff, find)
    2  wrong usage or configuration
    3  failed: catalog unusable or locked, disk full, root or device offline
  130  interrupted; progress is saved";

const EVERYTHING: &str = "\
Examples:
  dupescan scan ~/Pictures /mnt/backup   find duplicates in and across both
  dupescan report --min-size 10M         show duplicates of large files
  dupescan status                        see what has been scanned

Settings:
  Every setting can be given in the configuration file (min_size = \"1M\"), in the environment
  (DUPESCAN_MIN_SIZE=1M) and as an option (--min-size 1M); the later one wins. The file is
  config.toml in the platform's configuration directory (Linux: ~/.config/dupescan), unless
  --config or DUPESCAN_CONFIG says otherwise. Disable a switch with =false (--nice=false). Globs
  are a list in the file, and separated by `:` in the environment.

Values:
  Sizes    512, 1k, 10M, 1.5G, 2GiB: powers of 1024; 500kB, 20MB, 1GB: powers of 1000
  Rates    a size per second: 50M or 50M/s
  Times    250ms, 5s, 2m, 1h, 1d; a plain number means seconds

Exit codes:
    0  success
    1  completed with problems: paths that failed (see `dupescan errors`), a problem found by
       `dupescan verify`, corrupted files (bit rot), or a \"no\" from `diff` or `find`
    2  wrong usage or configuration
    3  failed: catalog unusable or locked, disk full, root offline, device failing
  130  interrupted; progress is saved";

/// Find duplicate files. Rescans read only what changed; stopped scans resume.
#[derive(Debug, Parser)]
#[command(
    name = "dupescan",
    version,
    max_term_width = 100,
    args_override_self = true,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_flag = true,
    disable_help_subcommand = true,
    after_help = EXIT_CODES,
    after_long_help = EVERYTHING
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
    /// Catalog to use
    ///
    /// The default is DUPESCAN_DB, then `db` in the configuration file, then catalog.db in the
    /// platform's data directory (Linux: ~/.local/share/dupescan).
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) db: Option<PathBuf>,

    /// Read settings from this file
    ///
    /// The environment variable DUPESCAN_CONFIG does the same. The file must exist.
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Show more messages: -v info, -vv debug, -vvv trace
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Show only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Log format: text or json
    #[arg(long, global = true, value_name = "FORMAT", value_parser = ["text", "json"])]
    #[arg(hide_long_help = true)]
    pub(crate) log_format: Option<String>,

    /// Append log messages to this file
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(hide_long_help = true)]
    pub(crate) log_file: Option<PathBuf>,

    /// When to use color: always, never or auto
    ///
    /// auto: on terminals, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", value_parser = ["auto", "always", "never"])]
    pub(crate) color: Option<String>,

    /// Print help (--help: more, --help-all: everything)
    #[arg(short, long, global = true, action = clap::ArgAction::HelpShort)]
    #[arg(help_heading = None::<&str>, display_order = 998)]
    pub(crate) help: Option<bool>,

    /// Print help with all options, including global and tuning options
    #[arg(long, global = true, action = clap::ArgAction::HelpLong, hide_short_help = true)]
    #[arg(hide_long_help = true, help_heading = None::<&str>, display_order = 999)]
    pub(crate) help_all: Option<bool>,
}

impl GlobalArgs {
    /// The options that are also settings.
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
    Plan(Box<PlanArgs>),
    Plans(PlansArgs),
    Apply(ApplyArgs),
    Undo(UndoArgs),
    Journal(JournalArgs),
    EmptyTrash(EmptyTrashArgs),
    Protect(ProtectArgs),
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
    /// The command's own options that are also settings.
    pub(crate) fn settings(&self) -> Layer {
        match self {
            Self::Scan(args) => args.run.settings().over(args.settings.settings()),
            Self::Audit(args) => args.run.settings().over(args.pace.settings()),
            Self::Resume(args) => args.run.settings(),
            Self::Retry(args) => args.run.settings(),
            Self::Plan(args) => args.progress.settings(),
            Self::Apply(args) => args.progress.settings(),
            Self::Undo(args) => args.progress.settings(),
            Self::EmptyTrash(args) => args.progress.settings(),
            _ => Layer::default(),
        }
    }
}

/// Print a shell completion script
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan completions bash > ~/.local/share/bash-completion/completions/dupescan
  dupescan completions fish > ~/.config/fish/completions/dupescan.fish")]
pub(crate) struct CompletionsArgs {
    /// Shell
    pub(crate) shell: Shell,
}

/// Print the manual page
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan man | man -l -
  dupescan man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write one page per command to this folder instead
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}
