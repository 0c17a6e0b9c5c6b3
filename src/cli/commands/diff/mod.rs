//! `dupescan diff A B`: lists the files of A that have no copy in B, and says
//! whether A is safe to wipe.

mod caveats;
mod compare;
mod place;

use std::collections::BTreeMap;

use caveats::{Side, Standing};
use compare::{Comparison, Tally};
use place::Place;
use serde::Serialize;

use crate::cli::args::DiffArgs;
use crate::cli::session::header;
use crate::cli::session::{Context, Form, Writing};
use crate::cli::terminal::Exit;
use crate::report::text::counted;
use crate::report::{Column, files_and_bytes, rfc3339};

const FILES: &str = "files";
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
    let header = header(&catalog)?;
    let place = |letter, typed| -> anyhow::Result<Place> {
        let crate::answers::Place { path, tops } = crate::answers::Place::named(&catalog, typed)?;
        Ok(Place { letter, path, tops })
    };
    let (a, b) = (place("A", &args.ours)?, place("B", &args.theirs)?);
    let form = Form::from(&args.answer);
    form.give(context, &header, (FILES, COLUMNS), |answer| {
        let forward = direction(context, args, &a, &b, answer)?;
        let backward = match args.both {
            true => Some(direction(context, args, &b, &a, answer)?),
            false => None,
        };
        let mut sentences = forward.sentences();
        sentences.extend(backward.iter().flat_map(Direction::sentences));
        let is_safe = forward.is_safe() && backward.as_ref().is_none_or(Direction::is_safe);
        if is_safe && backward.is_some() {
            sentences.push("wipe only one of A and B: each has the copies of the other".to_owned());
        }
        let totals = TotalsJson::new(&forward, backward.as_ref());
        let left = answer.end(&totals, &sentences)?;
        let exit = if is_safe { Exit::Done } else { Exit::Problems };
        Ok((left, exit))
    })
}

/// The result of comparing one place with the other.
struct Direction {
    from: &'static str,
    to: &'static str,
    found: Comparison,
    standing: Standing,
    /// Whether to print exact bytes.
    is_exact: bool,
}

fn direction(
    context: &Context,
    args: &DiffArgs,
    from: &Place,
    to: &Place,
    answer: &mut Writing<'_, '_>,
) -> anyhow::Result<Direction> {
    let filter = args.filter.filter()?;
    let is_partial = !filter.is_open();
    let catalog = context.catalog()?;
    let mut sides = crate::catalog::PlaceDiff::build(catalog, &from.tops, &to.tops, filter)?;
    let mut standing = Standing::of(context, &sides, from, to)?;
    if is_partial {
        standing.object("only some of the files were compared (size, extension or --exclude)");
    }
    let found = Comparison::run(&mut sides, from, to, answer)?;
    Ok(Direction {
        from: from.letter,
        to: to.letter,
        found,
        standing,
        is_exact: args.answer.bytes,
    })
}

impl Direction {
    fn is_safe(&self) -> bool {
        self.objections().is_empty()
    }

    /// Every reason against wiping this side.
    fn objections(&self) -> Vec<String> {
        let mut all = self.standing.objections.clone();
        let (from, to) = (self.from, self.to);
        let Comparison {
            only,
            undetermined,
            changed_folders,
            ..
        } = &self.found;
        if *changed_folders > 0 {
            all.push(format!(
                "{} in {from} changed since the scan",
                counted(*changed_folders, "folder", "folders")
            ));
        }
        if only.files > 0 {
            all.push(format!("{} not in {to}", only.words(self.is_exact)));
        }
        if undetermined.files > 0 {
            all.push(format!("{} unchecked", undetermined.words(self.is_exact)));
        }
        all
    }

    fn sentences(&self) -> Vec<String> {
        let (from, to) = (self.from, self.to);
        let found = &self.found;
        let mut lines = vec![
            self.standing.ours.sentence(from),
            self.standing.theirs.sentence(to),
            format!("{} in {from}:", found.all().words(self.is_exact)),
            format!("    {} also in {to}", found.duplicate.words(self.is_exact)),
            format!("    {} not in {to}", found.only.words(self.is_exact)),
        ];
        lines.extend(reasons(&found.why_only));
        lines.push(format!(
            "    {} unchecked",
            found.undetermined.words(self.is_exact)
        ));
        lines.extend(reasons(&found.why_undetermined));
        if self.standing.empty > 0 {
            let files = counted(self.standing.empty, "empty file", "empty files");
            lines.push(format!("{files} skipped"));
        }
        let objections = self.objections();
        if objections.is_empty() {
            lines.push(format!(
                "safe to wipe {from}: every file has a copy in {to}, and nothing changed since the scan"
            ));
        } else {
            lines.push(format!("do not wipe {from}:"));
            lines.extend(objections.iter().map(|why| format!("    {why}")));
        }
        lines
    }
}

fn reasons(reasons: &BTreeMap<String, u64>) -> impl Iterator<Item = String> {
    reasons.iter().map(|(reason, files)| {
        let files = counted(*files, "file", "files");
        format!("        {files}: {reason}")
    })
}

impl Tally {
    fn words(&self, is_exact: bool) -> String {
        files_and_bytes(self.files, self.bytes, is_exact)
    }
}

#[derive(Serialize)]
struct TotalsJson {
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
    empty_files: u64,
    changed_folders: u64,
    reasons: Vec<String>,
}

impl TotalsJson {
    fn new(forward: &Direction, backward: Option<&Direction>) -> Self {
        let safe_to_wipe = forward.is_safe() && backward.is_none_or(Direction::is_safe);
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
        let Direction {
            found, standing, ..
        } = direction;
        let scan = |side: &Side| side.as_of.map(|as_of| as_of.scan.0);
        let finished = |side: &Side| side.as_of.and_then(|as_of| as_of.finished).map(rfc3339);
        let all = found.all();
        Self {
            path: standing.ours.path.to_string_lossy().into_owned(),
            as_of_scan: scan(&standing.ours),
            as_of: finished(&standing.ours),
            other_path: standing.theirs.path.to_string_lossy().into_owned(),
            other_as_of_scan: scan(&standing.theirs),
            other_as_of: finished(&standing.theirs),
            files: all.files,
            bytes: all.bytes,
            duplicate_files: found.duplicate.files,
            duplicate_bytes: found.duplicate.bytes,
            only_files: found.only.files,
            only_bytes: found.only.bytes,
            unchecked_files: found.undetermined.files,
            unchecked_bytes: found.undetermined.bytes,
            empty_files: standing.empty,
            changed_folders: found.changed_folders,
            reasons: direction.objections(),
        }
    }
}
