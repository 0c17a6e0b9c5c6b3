//! The commands that ask the catalog about single files: `diff`, `unique`,
//! `find`, `export` and `history`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::answer::{AnswerArgs, FilterArgs, OutputArgs};
use crate::settings::values;

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

/// Show the files that exist only once
///
/// Copies are counted over the whole catalog; hard links are one copy. Files that may have another
/// copy, because one that could equal them was not read, are marked undetermined.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan unique ~/Pictures
  dupescan unique --copies-under 3 --min-size 1M
  dupescan unique /mnt/backup --format csv --output once.csv")]
pub(crate) struct UniqueArgs {
    /// Show files at and below this path; all without it
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

/// Look for files in the catalog by their content
///
/// The files may lie anywhere, also outside all roots. A file in the catalog that could be the same
/// but was never read is read now. Exit code 0 when all are found, 1 otherwise, 2 when a FILE is
/// not there, 3 when one cannot be read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan find ~/Downloads/IMG_0412.jpg
  dupescan find /media/card/DCIM/*.jpg --format csv
  dupescan find --elsewhere old.jpg && rm old.jpg
  dupescan find --digest b07837e2edb4")]
pub(crate) struct FindArgs {
    /// The files to look for
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present = "digest")]
    pub(crate) files: Vec<PathBuf>,

    /// Look for this digest, in hexadecimal, by the catalog's algorithm, or the only one that begins
    /// with these 12 digits or more; may be repeated
    #[arg(long, value_name = "HEX")]
    pub(crate) digest: Vec<String>,

    /// Do not count FILE itself, under whatever name: only another copy is a find
    #[arg(long)]
    pub(crate) elsewhere: bool,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// Write every known digest, for other programs
///
/// Files that no other file could equal are not read by a scan and have no digest, unless you scan
/// with --hash-all or make them with `dupescan audit --baseline`. Standard error says how many have
/// one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan export > all.sha256 && sha256sum -c --quiet all.sha256
  dupescan export ~/Pictures --format csv --output pictures.csv")]
pub(crate) struct ExportArgs {
    /// Export files at and below this path; all without it
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,

    /// Form of the list [default: the sums of the catalog's algorithm]
    #[arg(long, value_enum, value_name = "FORM", help_heading = "Output")]
    pub(crate) format: Option<ExportFormat>,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// As sha256sum prints them and `sha256sum -c` reads them
    Sha256sums,
    /// As sha512sum prints them and `sha512sum -c` reads them
    Sha512sums,
    /// SHA3-256 in the same form
    #[value(name = "sha3-256sums")]
    Sha3_256sums,
    /// BLAKE3, as b3sum prints them and `b3sum -c` reads them
    B3sums,
    /// One line per file, with size and time
    Csv,
    /// One JSON object per line
    Jsonl,
}

/// Show the scans over time, or what came and went between two of them
///
/// Files that changed in place are counted per scan, not listed. What was purged is not known any
/// more.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan history
  dupescan history ~/Pictures --limit 10
  dupescan history ~/Pictures --between 3 7")]
pub(crate) struct HistoryArgs {
    /// Show scans, and files, at and below this path; all without it
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,

    /// Show the files that appeared or vanished after scan FROM, up to scan TO; FROM 0 is before
    /// the first
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], allow_negative_numbers = true)]
    #[arg(value_parser = values::whole(0..=i64::MAX))]
    pub(crate) between: Option<Vec<i64>>,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}
