//! The commands that act on duplicates: `plan`, `plans`, `apply`, `undo`,
//! `journal`, `empty-trash` and `protect`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, ValueHint};

use super::shared::{AnswerArgs, Choice, FilterArgs, one_of};
use crate::model::{Action, Timestamp};
use crate::settings::values;

/// Plan which copies of duplicates go
///
/// Nothing is touched: the plan is shown and saved, `dupescan apply` carries it out. Only copies
/// below PATH take part, or all.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan plan ~/Pictures --keep under:~/Pictures/albums --keep oldest
  dupescan plan --from ~/Downloads --match ~/Pictures
  dupescan plan --max-bytes 50G")]
pub(crate) struct PlanArgs {
    /// Only copies in these folders take part
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// Which copy is kept; can be repeated
    ///
    /// Without it the shallowest, then the oldest. under:PATH, not-under:PATH, glob:GLOB, name:GLOB, not-name:GLOB, oldest, newest,
    /// first-seen, shortest-path, shallowest, shortest-name, most-links, fullest-folder. The first
    /// rule that tells two copies apart decides; the path comes last.
    #[arg(long, value_name = "RULE", help_heading = "Which copies")]
    pub(crate) keep: Vec<OsString>,

    /// Only copies in this folder go
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "paths")]
    #[arg(requires = "matching", help_heading = "Which copies")]
    pub(crate) from: Vec<PathBuf>,

    /// Only those go that have a copy in this folder, which is kept
    #[arg(long = "match", value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(requires = "from", help_heading = "Which copies")]
    pub(crate) matching: Vec<PathBuf>,

    /// What happens to copies that go: trash (can be undone) or delete
    #[arg(long, value_name = "ACTION", default_value = "trash", value_parser = one_of(ACTIONS))]
    #[arg(help_heading = "Which copies")]
    pub(crate) action: Action,

    /// Keep at least this many copies
    #[arg(long, alias = "rf-over", value_name = "N", default_value = "1")]
    #[arg(value_parser = values::whole(1..=u64::MAX), allow_negative_numbers = true)]
    #[arg(help_heading = "Limits", hide_short_help = true)]
    pub(crate) copies: u64,

    /// Keep at least this many copies on each volume
    #[arg(long, value_name = "N", default_value = "0")]
    #[arg(value_parser = values::whole(0..=u64::MAX), allow_negative_numbers = true)]
    #[arg(help_heading = "Limits", hide_short_help = true)]
    pub(crate) per_volume: u64,

    /// Copies below one PATH count as one, and stay or go together
    #[arg(short = 'I', long, requires = "paths", help_heading = "Limits")]
    #[arg(hide_short_help = true)]
    pub(crate) isolate: bool,

    /// Copies that the rules do not tell apart: the path decides (path), or all stay (skip)
    #[arg(long, value_name = "WHAT", default_value = "path", value_parser = one_of(TIES))]
    #[arg(action = ArgAction::Set, help_heading = "Limits", hide_short_help = true)]
    pub(crate) on_tie: bool,

    /// Stop once so much would be reclaimed, largest first
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_negative_numbers = true)]
    #[arg(help_heading = "Limits")]
    pub(crate) max_bytes: Option<u64>,

    /// Never touch this folder; `dupescan protect` does that for good
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Limits")]
    #[arg(hide_short_help = true)]
    pub(crate) protect: Vec<PathBuf>,

    /// Also act in repositories, node_modules, photo libraries and the like
    #[arg(long, help_heading = "Limits", hide_short_help = true)]
    pub(crate) include_guarded: bool,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    /// What fclones calls the copies that are removed: use --keep instead
    #[arg(long, value_name = "RULE", help_heading = "Which copies")]
    #[arg(hide_short_help = true, hide_long_help = true)]
    pub(crate) priority: Option<String>,
}

const ACTIONS: &[Choice<Action>] = &[
    (
        "trash",
        "Move to a trash folder on the same disk",
        Action::Trash,
    ),
    ("delete", "Delete for good", Action::Delete),
];

const TIES: &[Choice<bool>] = &[
    ("path", "The first path in byte order stays", false),
    ("skip", "All of them stay", true),
];

/// List plans, or show one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan plans
  dupescan plans 3
  dupescan plans 3 --format csv -o plan.csv")]
pub(crate) struct PlansArgs {
    /// The plan to show
    #[arg(value_name = "N", value_parser = values::whole(1..=u64::MAX))]
    pub(crate) plan: Option<u64>,

    /// Delete the plan
    #[arg(long, requires = "plan")]
    pub(crate) delete: bool,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// Carry out a plan
///
/// Every copy is compared byte for byte with one that stays, at the moment it goes. Without
/// --yes, dupescan asks.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan apply 3 --dry-run
  dupescan apply 3
  dupescan apply 3 --yes --max-bytes 10G")]
pub(crate) struct ApplyArgs {
    /// The plan
    #[arg(value_name = "N", value_parser = values::whole(1..=u64::MAX))]
    pub(crate) plan: u64,

    /// Make every check, and change nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// With --yes: really delete what cannot be brought back
    #[arg(long, requires = "yes")]
    pub(crate) no_undo: bool,

    /// Stop after so many files
    #[arg(long, value_name = "N", value_parser = values::whole(1..=u64::MAX))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) max_files: Option<u64>,

    /// Stop once so much is reclaimed
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_negative_numbers = true)]
    pub(crate) max_bytes: Option<u64>,
}

/// Bring files back from the trash
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan undo
  dupescan undo 4 ~/Pictures/2019
  dupescan undo --trash /mnt/disk/.dupescan-trash-1000/4")]
pub(crate) struct UndoArgs {
    /// The run, as `dupescan journal` lists it [default: the last one]
    #[arg(value_name = "RUN", value_parser = values::whole(1..=u64::MAX))]
    pub(crate) run: Option<u64>,

    /// Only files at or below these paths
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// Use the list in this trash folder instead of the catalog
    #[arg(long, alias = "quarantine", value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(conflicts_with_all = ["run", "paths"])]
    pub(crate) trash: Option<PathBuf>,
}

/// Show what was done with files, when and why
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan journal
  dupescan journal 4 --format csv")]
pub(crate) struct JournalArgs {
    /// The run to show
    #[arg(value_name = "RUN", value_parser = values::whole(1..=u64::MAX))]
    pub(crate) run: Option<u64>,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// Delete files in the trash for good
///
/// Each is compared byte for byte with a copy that still exists, which must be on the disk.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan empty-trash
  dupescan empty-trash --older-than 30d
  dupescan empty-trash 4 --yes")]
pub(crate) struct EmptyTrashArgs {
    /// Only what this run moved there
    #[arg(value_name = "RUN", value_parser = values::whole(1..=u64::MAX))]
    pub(crate) run: Option<u64>,

    /// Only what was moved there before this date, or longer ago (30d)
    #[arg(long, value_name = "DATE", value_parser = values::moment)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) older_than: Option<Timestamp>,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// List the folders that no plan touches, or add one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan protect
  dupescan protect ~/Pictures/albums
  dupescan protect --remove ~/Pictures/albums")]
pub(crate) struct ProtectArgs {
    /// The folder
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) path: Option<PathBuf>,

    /// Stop protecting it
    #[arg(long, requires = "path")]
    pub(crate) remove: bool,
}
