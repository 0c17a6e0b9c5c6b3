//! The commands that ask or tend the catalog: `status`, `errors`, `forget`,
//! `roots`, `purge`, `verify` and `backup`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use crate::model::Timestamp;
use crate::settings::values;

/// The forms of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ListFormat {
    /// For people
    #[default]
    Table,
    /// One JSON document
    Json,
}

/// Show roots, volumes and scans: counts, sizes, what is unfinished and what is offline
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan status
  dupescan status --format json")]
pub(crate) struct StatusArgs {
    /// Form of the list
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) format: ListFormat,

    /// Show exact sizes in bytes instead of rounded ones (with --format table)
    #[arg(long)]
    pub(crate) bytes: bool,
}

/// Show the paths that could not be read, and why
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan errors
  dupescan errors --limit 100 --format json")]
pub(crate) struct ErrorsArgs {
    /// Form of the list
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) format: ListFormat,

    /// Stop after this many
    #[arg(long, value_name = "N", value_parser = values::whole(1..=u64::MAX))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) limit: Option<u64>,
}

/// Remove a root and everything the catalog knows about it; no file is touched
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan forget /mnt/old-disk")]
pub(crate) struct ForgetArgs {
    /// The root as `dupescan status` shows it; it need not exist any more
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) path: PathBuf,
}

/// List the roots, or tell where one has moved
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan roots list
  dupescan roots move /media/usb /mnt/backup")]
pub(crate) struct RootsArgs {
    #[command(subcommand)]
    pub(crate) command: RootsCommand,
}

/// What to do with the roots.
#[derive(Debug, Subcommand)]
pub(crate) enum RootsCommand {
    /// List the roots
    List,
    /// The same disk is under another mount point now; nothing is read again
    Move {
        /// The root as `dupescan status` shows it
        #[arg(value_hint = ValueHint::AnyPath)]
        old: PathBuf,
        /// Where it is now
        #[arg(value_hint = ValueHint::DirPath)]
        new: PathBuf,
    },
}

/// Delete what the catalog remembers of removed files, and give the space back
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan purge
  dupescan purge --before 30d
  dupescan purge --before 2026-01-31")]
pub(crate) struct PurgeArgs {
    /// Only files found removed before this day (2026-01-31), time (RFC 3339) or age (30d)
    #[arg(long, value_name = "DATE", value_parser = values::moment)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) before: Option<Timestamp>,
}

/// Check the catalog: integrity, references, orphans, counters
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan verify
  dupescan verify --repair")]
pub(crate) struct VerifyArgs {
    /// Put right what can be put right
    #[arg(long)]
    pub(crate) repair: bool,
}

/// Write a consistent copy of the catalog, also while it is in use
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan backup /mnt/backup/catalog.db")]
pub(crate) struct BackupArgs {
    /// The file to write
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}
