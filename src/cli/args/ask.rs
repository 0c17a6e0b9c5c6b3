//! The commands that query the catalog about single files: `diff`, `unique`,
//! `find`, `export` and `history`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::shared::among;
use crate::report::Format;

use super::shared::{AnswerArgs, FilterArgs, OutputArgs};
use crate::settings::values;

/// Show which files of A have no copy in B
///
/// Compares content, not names. Prints "safe to wipe A" and exits with 0 only if every file in A has
/// a copy in B, A was scanned completely and without filters, no file is unchecked, and nothing
/// changed since the scan. Names, empty files, links and permissions are not compared. A and B must
/// not overlap.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan diff /media/old-disk /mnt/backup
  dupescan diff ~/Pictures/phone ~/Pictures/2024 --format csv -o missing.csv
  dupescan diff --both ~/a ~/b")]
pub(crate) struct DiffArgs {
    /// The folder to check: a scanned folder or one inside it
    #[arg(value_name = "A", value_hint = ValueHint::DirPath)]
    pub(crate) ours: PathBuf,

    /// The folder to look for copies in
    #[arg(value_name = "B", value_hint = ValueHint::DirPath)]
    pub(crate) theirs: PathBuf,

    /// Also show which files of B have no copy in A
    #[arg(long)]
    pub(crate) both: bool,

    /// Trust that A and B are separate storage where nothing proves it (overlay, FUSE, network)
    #[arg(long)]
    pub(crate) assume_separate: bool,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// Show the files that have no copy
///
/// Copies are counted in the whole catalog; hard links are one copy. A file is unchecked if another
/// file that could be a copy of it has not been fully read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan unique ~/Pictures
  dupescan unique --copies-under 3 --min-size 1M
  dupescan unique /mnt/backup --format csv -o once.csv")]
pub(crate) struct UniqueArgs {
    /// Only files in this folder [default: everything]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,

    /// Show files with fewer copies than this
    #[arg(long, value_name = "N", default_value = "2", value_parser = values::whole(2..=u64::MAX))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) copies_under: u64,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// Find copies of files in the catalog
///
/// Compares content, not names. FILE can be anywhere, also outside the scanned folders. Files in the
/// catalog that could be copies but were never read are read now. Exit codes: 0 all found, 1 some not
/// found, 2 a FILE does not exist, 3 a FILE cannot be read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan find ~/Downloads/IMG_0412.jpg
  dupescan find /media/card/DCIM/*.jpg --format csv
  dupescan find --elsewhere old.jpg && rm old.jpg
  dupescan find --digest b07837e2edb4")]
pub(crate) struct FindArgs {
    /// Files to find copies of
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present = "digest")]
    pub(crate) files: Vec<PathBuf>,

    /// Find files with this hash, or its first 12 or more digits; can be repeated
    #[arg(long, value_name = "HEX")]
    pub(crate) digest: Vec<String>,

    /// Ignore FILE itself: find only other copies that are online
    #[arg(long)]
    pub(crate) elsewhere: bool,

    /// With --elsewhere, also count copies on disks that are offline
    #[arg(long, requires = "elsewhere")]
    pub(crate) include_offline: bool,

    /// With --elsewhere, trust that copies are separate storage where nothing proves it (overlay,
    /// FUSE, network)
    #[arg(long, requires = "elsewhere", hide_short_help = true)]
    pub(crate) assume_separate: bool,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// Write all stored hashes, for sha256sum and other programs
///
/// A scan does not hash files that cannot have a duplicate; use `dupescan scan --hash-all` or
/// `dupescan audit --baseline` to hash every file. Standard error shows how many have a hash.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan export > all.sha256 && sha256sum -c --quiet all.sha256
  dupescan export ~/Pictures --format csv -o pictures.csv")]
pub(crate) struct ExportArgs {
    /// Only files in this folder [default: everything]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,

    /// Output format: sha256sums, sha512sums, sha3-256sums, b3sums, csv or jsonl
    /// [default: checksums of the catalog's algorithm]
    #[arg(long, value_name = "FORMAT", value_parser = among(&Format::OF_EXPORTS))]
    #[arg(help_heading = "Output")]
    pub(crate) format: Option<Format>,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// List past scans, or what was added and deleted between two
///
/// Files that changed in place are counted per scan, but not listed. Purged files are not shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan history
  dupescan history ~/Pictures -n 10
  dupescan history ~/Pictures --between 3 7")]
pub(crate) struct HistoryArgs {
    /// Only scans and files in this folder [default: everything]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,

    /// List files added or deleted after scan FROM, up to scan TO
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], allow_negative_numbers = true)]
    #[arg(value_parser = values::whole(0..=i64::MAX))]
    pub(crate) between: Option<Vec<i64>>,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}
