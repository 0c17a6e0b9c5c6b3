//! The commands that act on duplicates: `plan`, `plans`, `apply`, `undo`,
//! `journal`, `empty-trash` and `protect`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgAction, Args, ValueHint};

use super::shared::{AnswerArgs, Choice, FilterArgs, OutputArgs, PlanFormat, ProgressArgs, one_of};
use crate::model::{Action, Timestamp};
use crate::settings::values;

/// Plan which duplicate copies to remove
///
/// Touches no file: the plan is shown and saved, and `dupescan apply` carries it out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan plan ~/Pictures --keep under:~/Pictures/albums --keep oldest
  dupescan plan --from ~/Downloads --match ~/Pictures
  dupescan plan --max-bytes 50G")]
pub(crate) struct PlanArgs {
    /// Only copies in these folders take part [default: all]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// Make a plan of a plan file, which may have been edited
    ///
    /// Each row is checked against the catalog and the disk. What does not hold is refused with
    /// its reason, and the rest becomes a new plan.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = DECIDES)]
    pub(crate) import: Option<PathBuf>,

    /// Which copy to keep: oldest, newest, under:PATH …
    ///
    /// Can be repeated; without it, the shallowest and then the oldest. Rules: under:PATH,
    /// not-under:PATH, glob:GLOB, name:GLOB, not-name:GLOB, oldest, newest, first-seen,
    /// shortest-path, shallowest, shortest-name, most-links, fullest-folder. The first rule that
    /// tells two copies apart decides, and in the end their paths.
    #[arg(long, value_name = "RULE", help_heading = "Which copies")]
    pub(crate) keep: Vec<OsString>,

    /// Remove only copies in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "paths")]
    #[arg(requires = "matching", help_heading = "Which copies")]
    pub(crate) from: Vec<PathBuf>,

    /// Remove only files with a copy in this folder (kept)
    #[arg(long = "match", value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(requires = "from", help_heading = "Which copies")]
    pub(crate) matching: Vec<PathBuf>,

    /// What to do with the others: trash (can be undone) or delete
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

    /// Treat the copies below one PATH as one: keep or remove them together
    #[arg(short = 'I', long, requires = "paths", help_heading = "Limits")]
    #[arg(hide_short_help = true)]
    pub(crate) isolate: bool,

    /// Where the rules tie: keep the first path, or skip
    #[arg(long, value_name = "WHAT", default_value = "path", value_parser = one_of(TIES))]
    #[arg(action = ArgAction::Set, help_heading = "Limits", hide_short_help = true)]
    pub(crate) on_tie: bool,

    /// Stop once this much would be reclaimed, largest first
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_negative_numbers = true)]
    #[arg(help_heading = "Limits")]
    pub(crate) max_bytes: Option<u64>,

    /// Only groups with copies in more than one root, or in more than one PATH
    #[arg(long, help_heading = "Which files", hide_short_help = true)]
    pub(crate) across: bool,

    /// Never touch this folder; `dupescan protect` does so in every plan
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Limits")]
    #[arg(hide_short_help = true)]
    pub(crate) protect: Vec<PathBuf>,

    /// Also remove files in repositories and other guarded trees
    #[arg(long, help_heading = "Limits", hide_short_help = true)]
    pub(crate) include_guarded: bool,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,

    /// What fclones calls the copies that are removed: use --keep instead
    #[arg(long, value_name = "RULE", help_heading = "Which copies")]
    #[arg(hide_short_help = true, hide_long_help = true)]
    pub(crate) priority: Vec<String>,

    /// What fclones calls --keep glob:GLOB; comes before --keep
    #[arg(long, value_name = "GLOB", help_heading = "Which copies")]
    #[arg(hide_short_help = true, hide_long_help = true)]
    pub(crate) keep_path: Vec<OsString>,

    /// What fclones calls --keep name:GLOB; comes before --keep
    #[arg(long, value_name = "GLOB", help_heading = "Which copies")]
    #[arg(hide_short_help = true, hide_long_help = true)]
    pub(crate) keep_name: Vec<OsString>,

    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

/// What a plan file decides itself.
const DECIDES: [&str; 18] = [
    "paths",
    "keep",
    "from",
    "matching",
    "action",
    "copies",
    "per_volume",
    "isolate",
    "on_tie",
    "max_bytes",
    "min_size",
    "max_size",
    "ext",
    "exclude",
    "priority",
    "keep_path",
    "keep_name",
    "across",
];

impl PlanArgs {
    /// The keep rules, those with the words of fclones first.
    pub(crate) fn rules(&self) -> Vec<OsString> {
        let named = |kind: &str, globs: &[OsString]| -> Vec<OsString> {
            let rule = |glob: &OsString| {
                let mut rule = OsString::from(kind);
                rule.push(glob);
                rule
            };
            globs.iter().map(rule).collect()
        };
        let mut rules = named("glob:", &self.keep_path);
        rules.extend(named("name:", &self.keep_name));
        rules.extend(self.keep.iter().cloned());
        rules
    }
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
    ("path", "Keep the first path, in byte order", false),
    ("skip", "Keep all of them", true),
];

/// List plans, show one, or change it
///
/// A plan can be changed until it is applied for the first time.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan plans 3
  dupescan plans 3 --drop ~/Pictures/2019 --drop '*.raw'
  dupescan plans 3 --keep-instead ~/Pictures/2019/a.jpg
  dupescan plans 3 --format jsonl -o plan.jsonl")]
pub(crate) struct PlansArgs {
    /// The plan to show
    #[arg(value_name = "PLAN", value_parser = values::whole(1..=u64::MAX))]
    pub(crate) plan: Option<u64>,

    /// Leave files alone: a path, a glob or a group number
    #[arg(long, value_name = "WHAT", requires = "plan", group = "change")]
    #[arg(help_heading = "Changing the plan", value_hint = ValueHint::AnyPath)]
    pub(crate) drop: Vec<OsString>,

    /// Keep this copy instead of the planned one
    #[arg(long, value_name = "PATH", requires = "plan", group = "change")]
    #[arg(help_heading = "Changing the plan", value_hint = ValueHint::FilePath)]
    pub(crate) keep_instead: Vec<PathBuf>,

    /// Edit the plan in $VISUAL or $EDITOR
    #[arg(
        long,
        requires = "plan",
        group = "change",
        help_heading = "Changing the plan"
    )]
    pub(crate) edit: bool,

    /// Delete the plan
    #[arg(
        long,
        requires = "plan",
        group = "change",
        help_heading = "Changing the plan"
    )]
    pub(crate) delete: bool,

    #[command(flatten)]
    pub(crate) format: PlanFormat,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Show exact sizes in bytes in tables
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub(crate) bytes: bool,
}

/// How a plan is named.
#[derive(Debug, Clone)]
pub(crate) enum PlanName {
    /// By its number.
    Number(u64),
    /// By a file.
    File(PathBuf),
}

impl PlanName {
    fn of(typed: OsString) -> Self {
        let number = typed.to_str().and_then(|text| text.parse().ok());
        number.map_or_else(|| Self::File(typed.into()), Self::Number)
    }
}

/// Carry out a plan
///
/// Compares each copy byte for byte with one that stays, just before it moves or deletes it. Asks
/// first, unless --yes is given.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan apply 3 --dry-run
  dupescan apply 3
  dupescan apply 3 --yes --max-bytes 10G")]
pub(crate) struct ApplyArgs {
    /// The number of the plan, or a file that `dupescan plans` wrote
    #[arg(value_name = "PLAN", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = OsStringValueParser::new().map(PlanName::of))]
    pub(crate) plan: PlanName,

    /// Make every check, but change nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// With --yes: delete for good, which cannot be undone
    #[arg(long, requires = "yes")]
    pub(crate) no_undo: bool,

    /// Stop after this many files
    #[arg(long, value_name = "N", value_parser = values::whole(1..=u64::MAX))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) max_files: Option<u64>,

    /// Stop once this much is reclaimed
    #[arg(long, value_name = "SIZE", value_parser = values::size, allow_negative_numbers = true)]
    pub(crate) max_bytes: Option<u64>,

    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

/// Bring files back from the trash
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan undo
  dupescan undo 4 ~/Pictures/2019
  dupescan undo --trash /mnt/disk/.dupescan-trash-1000/4")]
pub(crate) struct UndoArgs {
    /// The run, as `dupescan journal` lists it [default: the last that can be undone]
    #[arg(value_name = "RUN", value_parser = values::whole(1..=u64::MAX))]
    pub(crate) run: Option<u64>,

    /// Only files at or below these paths
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// Use the list in this trash folder instead of the catalog
    #[arg(long, alias = "quarantine", value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(conflicts_with_all = ["run", "paths"])]
    pub(crate) trash: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
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
/// Compares each file byte for byte with a copy that still exists. A file without one stays.
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

    /// Only what was moved there before this date, or longer ago than this (30d)
    #[arg(long, value_name = "DATE", value_parser = values::moment)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) older_than: Option<Timestamp>,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

/// List the folders that no plan touches, or add one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupescan protect
  dupescan protect ~/Pictures/albums
  dupescan protect --remove ~/Pictures/albums")]
pub(crate) struct ProtectArgs {
    /// The folder to protect
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) path: Option<PathBuf>,

    /// Stop protecting it
    #[arg(long, requires = "path")]
    pub(crate) remove: bool,
}
