//! The commands that ask the catalog about single files: `diff`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::answer::{AnswerArgs, FilterArgs};

/// Show what is under A but nowhere under B, by content
///
/// Exit code 0 and "safe to wipe A" only when every file under A has a copy under B, both were
/// scanned completely and without filters, nothing is undetermined, and the files are still as they
/// were scanned. Names, empty files, links and permissions are not compared.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan diff /media/old-disk /mnt/backup
  dupescan diff ~/Pictures/phone ~/Pictures --format csv --output missing.csv
  dupescan diff --both ~/a ~/b")]
pub(crate) struct DiffArgs {
    /// The folder whose files are looked for: a root or a folder in one
    #[arg(value_name = "A", value_hint = ValueHint::DirPath)]
    pub(crate) ours: PathBuf,

    /// The folder they are looked for in
    #[arg(value_name = "B", value_hint = ValueHint::DirPath)]
    pub(crate) theirs: PathBuf,

    /// Also show what is under B but nowhere under A
    #[arg(long)]
    pub(crate) both: bool,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}
