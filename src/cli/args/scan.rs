//! The commands that run the worker pool: `scan`, `resume` and `retry`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::shared::among;
use super::shared::{Choice, one_of};
use super::shared::{PaceArgs, RunArgs};
use crate::model::{FaultId, ListingOptions, Mode, ScanOptions};
use crate::report::Format;
use crate::scan::TypedExcludes;
use crate::settings::{ConfigError, Key, Layer, values};

/// Scan folders and show the largest duplicates
///
/// Resumes an interrupted scan of the same folders; a rescan reads only what changed. Files with a
/// unique size are never opened. Disable a switch with =false (--nice=false).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan scan ~/Pictures
  dupescan scan ~ /mnt/backup -E node_modules --min-size 1M
  dupescan scan -x /srv --nice --bwlimit 50M")]
pub(crate) struct ScanArgs {
    /// Folders to scan
    #[arg(required = true, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// all, folders (list only) or files (hash only)
    #[arg(long, value_name = "MODE", default_value = "all", value_parser = one_of(MODES))]
    #[arg(hide_short_help = true)]
    pub(crate) mode: Mode,

    /// List all folders again instead of resuming
    #[arg(long, hide_short_help = true)]
    pub(crate) restart: bool,

    /// Ignore stored hashes and read everything again
    #[arg(long, hide_short_help = true)]
    pub(crate) rehash: bool,

    /// Hash all files, not only possible duplicates
    #[arg(long, hide_short_help = true)]
    pub(crate) hash_all: bool,

    /// Accept an empty root and mark its files as deleted
    #[arg(long, hide_short_help = true)]
    pub(crate) allow_empty: bool,

    /// Accept a root that is now on another filesystem
    #[arg(long, hide_short_help = true)]
    pub(crate) moved: bool,

    /// Show timing statistics, as a table or json
    #[arg(
        long,
        value_parser = among(&Format::PLAIN),
        value_name = "FORMAT",
        hide_short_help = true,
        num_args = 0..=1,
        default_missing_value = "table"
    )]
    pub(crate) stats: Option<Format>,

    /// Maximum depth; 0 means files directly in PATH
    #[arg(
        short = 'd',
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
}

impl ScanArgs {
    /// The options of this scan: the configured ones, and what belongs to this
    /// scan only.
    pub(crate) fn options(&self, configured: &ScanOptions) -> ScanOptions {
        ScanOptions {
            mode: self.mode,
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
const MODES: &[Choice<Mode>] = &[
    (
        "all",
        "List folders, then hash possible duplicates",
        Mode::All,
    ),
    (
        "folders",
        "List folders only; no file is opened",
        Mode::Folders,
    ),
    (
        "files",
        "Hash listed files only, without listing again",
        Mode::Files,
    ),
];

/// The options of a scan that are also settings, as typed. Switches take
/// `=false`, to disable what the configuration file enables.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "What to scan")]
pub(crate) struct ScanSettingArgs {
    /// Only compare files of at least this size (10M)
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) min_size: Option<String>,

    /// Only compare files of at most this size
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) max_size: Option<String>,

    /// Only scan files that match; can be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,

    /// Skip files and folders that match; can be repeated
    #[arg(short = 'E', long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,

    /// Clear the excludes of the root, and ignore configured ones
    #[arg(long, hide_short_help = true)]
    pub(crate) no_excludes: bool,

    /// Respect .gitignore files
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(hide_short_help = true)]
    #[arg(default_missing_value = "true", value_parser = ["true", "false"])]
    #[arg(hide_possible_values = true)]
    pub(crate) gitignore: Option<String>,

    /// Skip hidden files (include them with --hidden)
    #[arg(long, overrides_with = "hidden", hide_short_help = true)]
    pub(crate) no_hidden: bool,

    /// Include hidden files and folders (the default)
    #[arg(
        long,
        overrides_with = "no_hidden",
        hide_short_help = true,
        hide_long_help = true
    )]
    pub(crate) hidden: bool,

    /// Follow symbolic links
    #[arg(short = 'L', long, visible_alias = "follow", value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_parser = ["true", "false"])]
    #[arg(hide_possible_values = true)]
    pub(crate) follow_links: Option<String>,

    /// Do not cross filesystem boundaries
    #[arg(short = 'x', long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", value_parser = ["true", "false"])]
    #[arg(hide_possible_values = true)]
    pub(crate) one_file_system: Option<String>,

    /// Hash algorithm: sha256, sha512, sha3-256 or blake3
    #[arg(long, value_name = "ALGORITHM", help_heading = None::<&str>, hide_short_help = true)]
    #[arg(value_parser = ["sha256", "sha512", "sha3-256", "blake3"])]
    pub(crate) hash: Option<String>,

    /// Treat files as unchanged if only their ctime changed
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(hide_short_help = true)]
    #[arg(default_missing_value = "true", value_parser = ["true", "false"])]
    #[arg(hide_possible_values = true, help_heading = None::<&str>)]
    pub(crate) ignore_ctime: Option<String>,

    #[command(flatten)]
    pub(crate) pace: PaceArgs,

    /// Disk type: auto, ssd or hdd (hdd: one file at a time)
    #[arg(long, value_name = "KIND", value_parser = ["auto", "ssd", "hdd"])]
    #[arg(help_heading = None::<&str>, hide_short_help = true)]
    pub(crate) io: Option<String>,
}

impl ScanSettingArgs {
    /// `--hidden` or `--no-hidden`, whichever was typed last.
    fn shows_hidden(&self) -> Option<&'static str> {
        match (self.hidden, self.no_hidden) {
            (true, _) => Some("true"),
            (_, true) => Some("false"),
            _ => None,
        }
    }

    /// The globs that were typed, each with its option.
    pub(crate) fn globs(&self) -> Vec<(&'static str, String)> {
        let include = self.include.iter().map(|glob| ("--include", glob));
        let exclude = self.exclude.iter().map(|glob| ("--exclude", glob));
        let globs = include.chain(exclude);
        globs.map(|(option, glob)| (option, glob.clone())).collect()
    }

    /// The excludes that were typed. They are no setting, since they extend the
    /// configured ones and belong to the root from then on.
    pub(crate) fn excludes(&self) -> Result<TypedExcludes, ConfigError> {
        let globs = Layer::globs(Key::Exclude, &self.exclude)?;
        let is_typed = self.no_excludes || !self.exclude.is_empty();
        Ok(TypedExcludes {
            globs: is_typed.then_some(globs),
            only: self.no_excludes || self.exclude.iter().any(String::is_empty),
        })
    }

    /// The settings that were typed.
    pub(crate) fn settings(&self) -> Layer {
        let mut layer = Layer::default();
        layer.flag(Key::MinSize, self.min_size.as_ref());
        layer.flag(Key::MaxSize, self.max_size.as_ref());
        layer.flags(Key::Include, &self.include);
        layer.flag(Key::Gitignore, self.gitignore.as_ref());
        layer.flag(Key::Hidden, self.shows_hidden());
        layer.flag(Key::FollowLinks, self.follow_links.as_ref());
        layer.flag(Key::OneFileSystem, self.one_file_system.as_ref());
        layer.flag(Key::Hash, self.hash.as_ref());
        layer.flag(Key::IgnoreCtime, self.ignore_ctime.as_ref());
        layer.flag(Key::Io, self.io.as_ref());
        layer.over(self.pace.settings())
    }
}

/// Resume interrupted scans with the options they were started with
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan resume
  dupescan resume -j 2")]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Retry paths that failed: all, or those with the given IDs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan retry
  dupescan retry 17 23")]
pub(crate) struct RetryArgs {
    /// IDs as listed by `dupescan errors`
    #[arg(value_name = "ID", value_parser = fault_id, allow_negative_numbers = true)]
    pub(crate) ids: Vec<FaultId>,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

fn fault_id(text: &str) -> Result<FaultId, String> {
    values::whole(1..=i64::MAX)(text)
        .map(FaultId)
        .map_err(|_| "expected an ID as listed by `dupescan errors`".to_owned())
}
