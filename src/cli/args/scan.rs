//! The commands that run the worker pool: `scan`, `resume` and `retry`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::limits::LimitArgs;
use super::run::RunArgs;
use crate::model::{FaultId, ListingOptions, Mode, ScanOptions};
use crate::report::StatsForm;
use crate::settings::{Key, Layer, values};

/// Scan folders and show the duplicates that would free most
///
/// A scan that was stopped is taken up where it was; a rescan reads only what changed. Files whose
/// size no other file has are never opened.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan scan ~/Pictures
  dupescan scan ~ /mnt/backup --exclude node_modules --min-size 1M
  dupescan scan /srv --nice --bwlimit 50M/s --one-file-system")]
pub(crate) struct ScanArgs {
    /// Folders to scan
    #[arg(required = true, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// Which part of the work to do
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    pub(crate) mode: ModeArg,

    /// List an unfinished scan's folders afresh instead of going on; digests are kept
    #[arg(long)]
    pub(crate) restart: bool,

    /// Distrust every stored digest and read the files again: what is on the disk is believed (an
    /// `audit` finds content that changed while its times did not)
    #[arg(long)]
    pub(crate) rehash: bool,

    /// Digest every file of the whole catalog, not only possible duplicates
    #[arg(long)]
    pub(crate) hash_all: bool,

    /// Believe a root that is empty, or a mount point without its disk, and flag its files removed
    #[arg(long)]
    pub(crate) allow_empty: bool,

    /// Believe a root that lies on another filesystem than last time
    #[arg(long)]
    pub(crate) moved: bool,

    /// Show where the time went, on standard error: `--stats` as a table, `--stats json` for programs
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        num_args = 0..=1,
        default_missing_value = "table",
        help_heading = "Running"
    )]
    pub(crate) stats: Option<StatsForm>,

    /// Levels below PATH to descend; 0 is its own files only
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = values::whole(0..=u32::MAX),
        help_heading = "What to scan"
    )]
    pub(crate) max_depth: Option<u32>,

    #[command(flatten)]
    pub(crate) settings: ScanSettingArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

impl ScanArgs {
    /// The options of this scan: the configured ones, and what belongs to this
    /// scan only.
    pub(crate) fn options(&self, configured: &ScanOptions) -> ScanOptions {
        ScanOptions {
            mode: self.mode.into(),
            rehash: self.rehash,
            hash_all: self.hash_all,
            listing: ListingOptions {
                max_depth: self.max_depth,
                ..configured.listing.clone()
            },
            ..configured.clone()
        }
    }
}

/// The values of `--mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ModeArg {
    /// List, then hash what can be a duplicate
    #[default]
    All,
    /// List only; no file is opened
    Folders,
    /// Hash what the catalog lists, without listing again
    Files,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::All => Self::All,
            ModeArg::Folders => Self::Folders,
            ModeArg::Files => Self::Files,
        }
    }
}

/// The options of a scan that can also be set for good, as typed. Those that
/// are on or off take `=false`, to switch off what the file switches on.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "What to scan")]
pub(crate) struct ScanSettingArgs {
    /// Hash only files of at least this size (1k, 10M, 2GiB)
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) min_size: Option<String>,

    /// Hash only files of at most this size
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) max_size: Option<String>,

    /// Scan only files that match this glob; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,

    /// Leave out files and folders that match this glob; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,

    /// Leave out what .gitignore files leave out
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_parser = ["true", "false"])]
    #[arg(hide_possible_values = true)]
    pub(crate) gitignore: Option<String>,

    /// Leave out files and folders whose names start with a dot
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_parser = ["true", "false"])]
    #[arg(hide_possible_values = true)]
    pub(crate) no_hidden: Option<String>,

    /// Follow symbolic links
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_parser = ["true", "false"])]
    #[arg(hide_possible_values = true)]
    pub(crate) follow_links: Option<String>,

    /// Stay on the filesystem of each PATH
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_parser = ["true", "false"])]
    #[arg(hide_possible_values = true)]
    pub(crate) one_file_system: Option<String>,

    /// Digest algorithm [default: the catalog's; sha256 for a new one]
    #[arg(long, value_name = "ALGORITHM", help_heading = "How to scan")]
    #[arg(value_parser = ["sha256", "sha512", "sha3-256", "blake3"])]
    pub(crate) hash: Option<String>,

    /// Take a file for unchanged when only its ctime moved (after chown -R)
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_parser = ["true", "false"])]
    #[arg(hide_possible_values = true, help_heading = "How to scan")]
    pub(crate) ignore_ctime: Option<String>,

    /// Leave processor and disk to other programs where they want them
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_parser = ["true", "false"])]
    #[arg(hide_possible_values = true, help_heading = "How to scan")]
    pub(crate) nice: Option<String>,

    /// Read at most this many bytes per second (50M, 50M/s); 0 is no limit
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    #[arg(help_heading = "How to scan")]
    pub(crate) bwlimit: Option<String>,

    /// How disks are read: hdd by one worker, file after file; ssd by all; auto measures
    #[arg(long, value_name = "KIND", value_parser = ["auto", "ssd", "hdd"])]
    #[arg(help_heading = "How to scan")]
    pub(crate) io: Option<String>,
}

impl ScanSettingArgs {
    /// The settings that were typed.
    pub(crate) fn settings(&self) -> Layer {
        let mut layer = Layer::default();
        layer.flag(Key::MinSize, self.min_size.as_ref());
        layer.flag(Key::MaxSize, self.max_size.as_ref());
        layer.flags(Key::Include, &self.include);
        layer.flags(Key::Exclude, &self.exclude);
        layer.flag(Key::Gitignore, self.gitignore.as_ref());
        layer.flag(Key::NoHidden, self.no_hidden.as_ref());
        layer.flag(Key::FollowLinks, self.follow_links.as_ref());
        layer.flag(Key::OneFileSystem, self.one_file_system.as_ref());
        layer.flag(Key::Hash, self.hash.as_ref());
        layer.flag(Key::IgnoreCtime, self.ignore_ctime.as_ref());
        layer.flag(Key::Nice, self.nice.as_ref());
        layer.flag(Key::Bwlimit, self.bwlimit.as_ref());
        layer.flag(Key::Io, self.io.as_ref());
        layer
    }
}

/// Go on with every interrupted scan, with the options it was started with
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan resume
  dupescan resume --workers 2")]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// Try paths that failed again: those with the given IDs, or all
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan retry
  dupescan retry 17 23")]
pub(crate) struct RetryArgs {
    /// IDs as `dupescan errors` lists them
    #[arg(value_name = "ID", value_parser = fault_id, allow_negative_numbers = true)]
    pub(crate) ids: Vec<FaultId>,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

fn fault_id(text: &str) -> Result<FaultId, String> {
    values::whole(1..=i64::MAX)(text)
        .map(FaultId)
        .map_err(|_| "expected an ID from the list of `dupescan errors`".to_owned())
}
