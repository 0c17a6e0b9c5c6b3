//! The commands that show or maintain the catalog: `status`, `errors`, `forget`,
//! `roots`, `purge`, `verify` and `backup`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::shared::PlainFormat;

use crate::model::Timestamp;
use crate::settings::values;

/// Show what has been scanned, and what is unfinished or offline
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan status
  dupescan status --json")]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) format: PlainFormat,

    /// Show exact sizes in bytes
    #[arg(long)]
    pub(crate) bytes: bool,
}

/// List the paths that failed, and why
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan errors
  dupescan errors -n 100 --json")]
pub(crate) struct ErrorsArgs {
    #[command(flatten)]
    pub(crate) format: PlainFormat,

    /// Show at most this many
    #[arg(short = 'n', long, value_name = "N", value_parser = values::whole(1..=u64::MAX))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) limit: Option<u64>,
}

/// Remove a root from the catalog; no file on disk is touched
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan forget /mnt/old-disk")]
pub(crate) struct ForgetArgs {
    /// The root as shown by `dupescan status`; it need not exist any more
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) path: PathBuf,
}

/// List the roots, or record that one has moved
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
    /// Record that a root has moved, for instance to another mount point
    Move {
        /// The root as shown by `dupescan status`
        #[arg(value_hint = ValueHint::AnyPath)]
        old: PathBuf,
        /// Its new path
        #[arg(value_hint = ValueHint::DirPath)]
        new: PathBuf,
    },
}

/// Drop the records of deleted files and shrink the catalog
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan purge
  dupescan purge --before 30d
  dupescan purge --before 2026-01-31")]
pub(crate) struct PurgeArgs {
    /// Only files deleted before this date (2026-01-31) or longer ago than this (30d)
    #[arg(long, value_name = "DATE", value_parser = values::moment)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) before: Option<Timestamp>,
}

/// Check the catalog for errors
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan verify
  dupescan verify --repair")]
pub(crate) struct VerifyArgs {
    /// Repair what can be repaired
    #[arg(long)]
    pub(crate) repair: bool,
}

/// Back up the catalog, even while it is in use
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan backup /mnt/backup/catalog.db")]
pub(crate) struct BackupArgs {
    /// The file to write
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}
