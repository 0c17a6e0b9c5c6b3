//! `dupescan find FILE…`: finds copies of a file in the catalog.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::answers::{Counts, FindError, FindVerdict, Finder, Found, FoundFile, Now, Sought};
use crate::catalog::ReadOnly;
use crate::cli::args::FindArgs;
use crate::cli::session::{Context, Output, Writing, header};
use crate::cli::terminal::{Exit, exit};
use crate::model::Filters;
use crate::report::text::{counted, grouped};
use crate::report::{Cell, Column};

const COLUMNS: &[Column] = &[
    Column::hidden("file"),
    Column::hidden("digest"),
    Column::hidden("status"),
    Column::hidden("path"),
    Column::hidden("state"),
    Column::hidden("same_file"),
    Column::hidden("size"),
    Column::hidden("mtime"),
    Column::hidden("reason"),
];

/// What is said of a file that may be the one that was asked for.
const MAYBE_ITSELF: &str = "possibly the same file";

#[derive(Debug, Default, Serialize)]
struct Totals {
    asked: u64,
    found: u64,
    not_found: u64,
    unchecked: u64,
}

pub(crate) fn run(context: &Context, args: &FindArgs) -> anyhow::Result<Exit> {
    let catalog = context.catalog()?;
    let header = header(&catalog, Filters::default())?;
    let wanted = wanted(args, &catalog)?;
    let counts = match args.elsewhere {
        true => Counts::Elsewhere {
            offline: args.include_offline,
            assume_separate: args.assume_separate,
        },
        false => Counts::Any,
    };
    let mut finder = Finder::new(catalog, &wanted, counts)?;
    let output = Output::new(context, &args.answer);
    output.give(&header, ("files", COLUMNS), |answer| {
        let mut totals = Totals::default();
        let mut exit = Exit::Done;
        for one in &wanted {
            let found = finder.find(one)?;
            totals.add(&found);
            exit = exit.or(end_of(one, &found));
            write(answer, one, &found)?;
        }
        let mut sentences = vec![totals.sentence()];
        if args.assume_separate {
            let assumed = "assuming that copies are separate storage (--assume-separate)";
            sentences.push(assumed.to_owned());
        }
        let left = answer.end(&totals, &sentences)?;
        Ok((left, exit))
    })
}

fn wanted(args: &FindArgs, catalog: &ReadOnly) -> anyhow::Result<Vec<Sought>> {
    let mut wanted: Vec<_> = args.files.iter().map(|path| Sought::file(path)).collect();
    for hex in &args.digest {
        wanted.push(Sought::digest(catalog, hex).map_err(|error| match error {
            FindError::Catalog(error) => error.into(),
            other => exit::usage(format_args!("invalid value '{hex}' for --digest: {other}")),
        })?);
    }
    // If no file can be looked at, that is a usage error.
    let is_unreadable = |one: &Sought| matches!(one, Sought::Unreadable(..));
    match wanted.first() {
        Some(Sought::Unreadable(path, why)) if wanted.iter().all(is_unreadable) => {
            Err(exit::usage(format_args!("{}: {why}", path.display())))
        }
        _ => Ok(wanted),
    }
}

/// The exit code for one result. What cannot be read is reported on standard
/// error as well, since the catalog has no answer for it.
fn end_of(wanted: &Sought, found: &Found) -> Exit {
    if let (Sought::File(path, _) | Sought::Unreadable(path, _), Some(why)) =
        (wanted, &found.failure)
    {
        exit::print_line(&format!("cannot read {}: {why}", path.display()));
    }
    match (wanted, &found.failure) {
        (Sought::Unreadable(..), _) => Exit::Usage,
        (_, Some(_)) => Exit::Failed,
        _ if found.verdict() == FindVerdict::Found => Exit::Done,
        _ => Exit::Problems,
    }
}

/// How a file is now, for programs.
fn state(now: &Now) -> &'static str {
    match now {
        Now::AsScanned | Now::TooYoung => "as scanned",
        Now::Offline => "offline",
        Now::Corrupted => "corrupted",
        Now::Changed => "changed",
        Now::Gone => "missing",
        Now::Unreadable(_) => "unreadable",
    }
}

/// The same for people.
fn state_in_words(now: &Now) -> &'static str {
    match now {
        Now::Changed => "changed since the scan",
        other => state(other),
    }
}

/// What people should know about a file, if anything.
fn mark(file: &FoundFile) -> Option<String> {
    match &file.now {
        Now::AsScanned if file.is_itself => Some("this file".to_owned()),
        other if file.is_itself => Some(format!("this file, {}", state_in_words(other))),
        Now::AsScanned => match scope_in_words(file) {
            Some(why) => Some(why.to_owned()),
            None => file.shared_view.map(maybe_itself),
        },
        Now::Unreadable(why) => Some(format!("unreadable: {why}")),
        other => Some(state_in_words(other).to_owned()),
    }
}

/// Why a file with the content is not compared with others, if so.
fn scope_in_words(file: &FoundFile) -> Option<&'static str> {
    match (file.known.is_excluded, file.known.is_not_compared) {
        (true, _) => Some("excluded"),
        (false, true) => Some("not compared"),
        (false, false) => None,
    }
}

/// Why a file with the content does not count.
fn maybe_itself(fstype: &str) -> String {
    format!("{MAYBE_ITSELF}: one of the two is on {fstype}")
}

fn status(verdict: FindVerdict) -> Cell {
    Cell::text(match verdict {
        FindVerdict::Found => "found",
        FindVerdict::NotFound => "not found",
        FindVerdict::Unchecked => "unchecked",
    })
}

fn sentence(found: &Found) -> String {
    let possible = |more: &str| {
        let one = format!("{more}file could be a copy");
        let many = format!("{more}files could be copies");
        let files = counted(found.possible(), &one, &many);
        format!("{files} ({})", reasons(found).join(", "))
    };
    if let Some(why) = &found.failure {
        return format!("unchecked: cannot read it: {why}");
    }
    match found.verdict() {
        FindVerdict::Found if found.possible() > 0 => format!("found; {}", possible("more ")),
        FindVerdict::Found if found.files.iter().all(|file| file.is_itself) => {
            "found, but only this file itself".to_owned()
        }
        FindVerdict::Found => "found".to_owned(),
        FindVerdict::Unchecked => format!("unchecked: {}", possible("")),
        FindVerdict::NotFound if found.is_only_itself => "no other copy in the catalog".to_owned(),
        FindVerdict::NotFound => "not in the catalog".to_owned(),
    }
}

/// Why files are unchecked, with their number.
fn reasons(found: &Found) -> Vec<String> {
    if let Some(why) = &found.failure {
        return vec![format!("cannot read it: {why}")];
    }
    let mut counts = BTreeMap::<&str, u64>::new();
    for file in found.files.iter().filter(|file| !file.is_found) {
        let why = match (file.shared_view, scope_in_words(file)) {
            (Some(_), _) => MAYBE_ITSELF,
            (None, Some(why)) if file.now == Now::AsScanned => why,
            (None, _) => state_in_words(&file.now),
        };
        *counts.entry(why).or_default() += 1;
    }
    if found.unread > 0 {
        counts.insert("without a hash", found.unread);
    }
    let counts = counts.into_iter();
    counts
        .map(|(why, files)| format!("{} {why}", grouped(files)))
        .collect()
}

impl Totals {
    fn add(&mut self, found: &Found) {
        self.asked += 1;
        match found.verdict() {
            FindVerdict::Found => self.found += 1,
            FindVerdict::Unchecked => self.unchecked += 1,
            FindVerdict::NotFound => self.not_found += 1,
        }
    }

    fn sentence(&self) -> String {
        format!(
            "{} found, {} not found, {} unchecked",
            self.found, self.not_found, self.unchecked
        )
    }
}

fn write(answer: &mut Writing<'_, '_>, wanted: &Sought, found: &Found) -> anyhow::Result<()> {
    let (path, name) = match wanted {
        Sought::File(path, _) | Sought::Unreadable(path, _) => {
            (Cell::Path(path.clone()), path.clone())
        }
        Sought::Digest(digest) => (Cell::Nothing, digest.to_hex().into()),
        Sought::NoDigest(hex) => (Cell::Nothing, format!("{hex}…").into()),
    };
    let digest = Cell::digest(found.digest);
    answer.path_line("", &name, &format!(": {}", sentence(found)))?;
    for file in &found.files {
        let known = &file.known;
        if answer.has_room() {
            let mark = mark(file).map(|mark| format!(" ({mark})"));
            answer.path_line("    ", &known.path, &mark.unwrap_or_default())?;
        }
        let verdict = match file.is_found {
            true => FindVerdict::Found,
            false => FindVerdict::Unchecked,
        };
        let reason = match &file.now {
            Now::Unreadable(why) => Cell::text(why.clone()),
            _ => match (file.shared_view, scope_in_words(file)) {
                (Some(fstype), _) => Cell::text(maybe_itself(fstype)),
                (None, Some(why)) => Cell::text(why),
                (None, None) => Cell::Nothing,
            },
        };
        answer.row(&[
            path.clone(),
            digest.clone(),
            status(verdict),
            Cell::Path(known.path.clone()),
            Cell::text(state(&file.now)),
            Cell::Flag(file.is_itself),
            Cell::Size(known.state.size),
            Cell::FileTime(known.state.mtime_ns),
            reason,
        ])?;
    }
    if found.files.is_empty() {
        let mut row = vec![path, digest, status(found.verdict())];
        row.resize(COLUMNS.len() - 1, Cell::Nothing);
        row.push(match reasons(found) {
            reasons if reasons.is_empty() => Cell::Nothing,
            reasons => Cell::text(reasons.join(", ")),
        });
        answer.row(&row)?;
    }
    Ok(())
}
