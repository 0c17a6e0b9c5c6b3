//! `dupescan diff A B`: lists the files of A that have no copy in B, and says
//! whether A is safe to wipe.

mod direction;
mod words;

use std::path::Path;

use serde::Serialize;

use crate::answers::{Diff, DiffSide, Place};
use crate::cli::args::DiffArgs;
use crate::cli::session::{Context, Excluding, Output, Writing, header};
use crate::cli::terminal::{Exit, exit};
use crate::report::{Column, rfc3339};
use direction::Direction;
use words::Letters;

const COLUMNS: &[Column] = &[
    Column::hidden("side"),
    Column::new("status", "STATUS", 12),
    Column::new("size", "SIZE", 10),
    Column::hidden("mtime"),
    Column::new("path", "PATH", 0),
    Column::hidden("reason"),
];

pub(crate) fn run(context: &Context, args: &DiffArgs) -> anyhow::Result<Exit> {
    let catalog = context.catalog()?;
    let header = header(&catalog, args.filter.named([]))?;
    let a = Place::named(&catalog, &args.ours)?;
    let b = Place::named(&catalog, &args.theirs)?;
    refuse_overlap(&a.path, &b.path)?;
    let excluding = Excluding::by(context, &catalog, &args.filter)?;
    let output = Output::new(context, &args.answer);
    let exit = output.give(&header, ("files", COLUMNS), |answer| {
        let compare = |ours: &Place, theirs: &Place, letters, answer: &mut Writing<'_, '_>| {
            let filter = excluding.filter(&args.filter);
            let diff = Diff::start(
                context.catalog()?,
                ours,
                theirs,
                filter,
                args.assume_separate,
            )?;
            let mut direction = Direction::new(diff, letters, output.is_exact());
            direction.write_rows(answer)?;
            anyhow::Ok(direction)
        };
        let forward = compare(&a, &b, Letters("A", "B"), answer)?;
        let backward = match args.both {
            true => Some(compare(&b, &a, Letters("B", "A"), answer)?),
            false => None,
        };
        let totals = DiffJson::new(&forward, backward.as_ref());
        let mut sentences = forward.sentences();
        sentences.extend(backward.iter().flat_map(Direction::sentences));
        if totals.wipe_only_one == Some(true) {
            sentences.push("wipe only one of A and B: each has the copies of the other".to_owned());
        }
        let left = answer.end(&totals, &sentences)?;
        let exit = match totals.safe_to_wipe {
            true => Exit::Done,
            false => Exit::Problems,
        };
        Ok((left, exit))
    })?;
    excluding.note_unmatched();
    Ok(exit)
}

/// A file in both would be its own copy.
fn refuse_overlap(a: &Path, b: &Path) -> anyhow::Result<()> {
    let (inner, overlap) = match (a.starts_with(b), b.starts_with(a)) {
        (true, true) => (a, "A and B are the same folder"),
        (true, false) => (a, "A is inside B"),
        (false, true) => (b, "B is inside A"),
        (false, false) => return Ok(()),
    };
    Err(exit::usage(format_args!("{}: {overlap}", inner.display())))
}

#[derive(Serialize)]
struct DiffJson {
    /// What the exit code says: with `--both`, that either side is safe to wipe.
    safe_to_wipe: bool,
    /// Whether the other side must be kept then; with `--both` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    wipe_only_one: Option<bool>,
    a: DirectionJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<DirectionJson>,
}

#[derive(Serialize)]
struct DirectionJson {
    path: String,
    as_of_scan: Option<i64>,
    as_of: Option<String>,
    other_path: String,
    other_as_of_scan: Option<i64>,
    other_as_of: Option<String>,
    files: u64,
    bytes: u64,
    duplicate_files: u64,
    duplicate_bytes: u64,
    only_files: u64,
    only_bytes: u64,
    unchecked_files: u64,
    unchecked_bytes: u64,
    not_compared_files: u64,
    not_compared_bytes: u64,
    empty_files: u64,
    changed_folders: u64,
    unscanned_files: u64,
    unscanned_folders: u64,
    excluded_files: u64,
    excluded_folders: u64,
    mount_points: u64,
    assumed_separate: bool,
    reasons: Vec<String>,
}

impl DiffJson {
    fn new(forward: &Direction, backward: Option<&Direction>) -> Self {
        let safe_to_wipe =
            forward.diff.is_safe() && backward.is_none_or(|back| back.diff.is_safe());
        Self {
            safe_to_wipe,
            wipe_only_one: backward.map(|_| safe_to_wipe),
            a: DirectionJson::new(forward),
            b: backward.map(DirectionJson::new),
        }
    }
}

impl DirectionJson {
    fn new(direction: &Direction) -> Self {
        let diff = &direction.diff;
        let scan = |side: &DiffSide| side.as_of.map(|as_of| as_of.scan.0);
        let finished = |side: &DiffSide| side.as_of.and_then(|as_of| as_of.finished).map(rfc3339);
        let all = diff.all();
        Self {
            path: diff.ours.path.to_string_lossy().into_owned(),
            as_of_scan: scan(&diff.ours),
            as_of: finished(&diff.ours),
            other_path: diff.theirs.path.to_string_lossy().into_owned(),
            other_as_of_scan: scan(&diff.theirs),
            other_as_of: finished(&diff.theirs),
            files: all.files,
            bytes: all.bytes,
            duplicate_files: diff.duplicate.files,
            duplicate_bytes: diff.duplicate.bytes,
            only_files: diff.only.files,
            only_bytes: diff.only.bytes,
            unchecked_files: diff.unchecked.files,
            unchecked_bytes: diff.unchecked.bytes,
            not_compared_files: diff.not_compared.files,
            not_compared_bytes: diff.not_compared.bytes,
            empty_files: diff.empty,
            changed_folders: diff.folders.changed,
            unscanned_files: diff.folders.unscanned.files,
            unscanned_folders: diff.folders.unscanned.folders,
            excluded_files: diff.folders.excluded.files,
            excluded_folders: diff.folders.excluded.folders,
            mount_points: diff.folders.mount_points.number,
            assumed_separate: diff.assumed_separate,
            reasons: direction.objections(),
        }
    }
}
