//! `dupescan find FILE…`: finds copies of a file in the catalog.

mod finder;

use std::collections::BTreeMap;
use std::path::Path;

use finder::{Finder, Found, Now, Place, Wanted};
use serde::Serialize;

use crate::access::Checker;
use crate::catalog::{Lookup, ReadOnly};
use crate::cli::args::FindArgs;
use crate::cli::session::header;
use crate::cli::session::{Context, Form, Writing};
use crate::cli::terminal::{Exit, exit};
use crate::model::{Algorithm, Digest};
use crate::report::text::{counted, grouped};
use crate::report::{Cell, Column};

/// Fewest digits that may stand for a digest. Two digests of a catalog are very
/// unlikely to start with the same twelve, and it is reported if they do.
const LEAST_DIGITS: usize = 12;

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

#[derive(Debug, Default, Serialize)]
struct Totals {
    asked: u64,
    found: u64,
    not_found: u64,
    unchecked: u64,
}

pub(crate) fn run(context: &Context, args: &FindArgs) -> anyhow::Result<Exit> {
    let catalog = context.catalog()?;
    let header = header(&catalog)?;
    let algorithm = catalog.algorithm()?;
    let roots = catalog.roots()?;
    let wanted = wanted(args, algorithm, &catalog)?;
    let (mut sizes, mut digests) = (Vec::new(), Vec::new());
    for one in &wanted {
        match one {
            Wanted::File(_, size) => sizes.push(*size),
            Wanted::Unseen(..) | Wanted::NoDigest(_) => {}
            // Empty files are known by their size.
            Wanted::Digest(digest) if *digest == algorithm.digest_of_nothing() => sizes.push(0),
            Wanted::Digest(digest) => digests.push(*digest),
        }
    }
    let mut finder = Finder {
        lookup: Lookup::build(catalog, &sizes, &digests)?,
        checker: Checker::new(roots),
        algorithm,
        elsewhere: args.elsewhere,
    };
    let form = Form::from(&args.answer);
    form.give(context, &header, ("files", COLUMNS), |answer| {
        let mut totals = Totals::default();
        let mut exit = Exit::Done;
        for one in &wanted {
            let found = finder.find(one)?;
            totals.add(&found);
            exit = exit.or(end_of(one, &found));
            write(answer, one, &found)?;
        }
        let left = answer.end(&totals, &totals.sentences())?;
        Ok((left, exit))
    })
}

fn wanted(
    args: &FindArgs,
    algorithm: Algorithm,
    catalog: &ReadOnly,
) -> anyhow::Result<Vec<Wanted>> {
    let mut wanted: Vec<Wanted> = args.files.iter().map(|path| stat(path)).collect();
    for hex in &args.digest {
        wanted.push(digest_of(hex, algorithm, catalog)?);
    }
    // If no file can be looked at, that is a usage error.
    match wanted.first() {
        Some(Wanted::Unseen(path, why))
            if wanted.iter().all(|one| matches!(one, Wanted::Unseen(..))) =>
        {
            let path = path.display();
            Err(exit::usage(format_args!("{path}: {why}")))
        }
        _ => Ok(wanted),
    }
}

fn stat(path: &Path) -> Wanted {
    let unseen = |why: String| Wanted::Unseen(path.to_owned(), why);
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => Wanted::File(path.to_owned(), meta.len()),
        Ok(_) => unseen("not a file".to_owned()),
        Err(error) => unseen(error.to_string()),
    }
}

/// The exit code for one result. What cannot be read is reported on standard
/// error as well, since the catalog has no answer for it.
fn end_of(wanted: &Wanted, found: &Found) -> Exit {
    if let (Wanted::File(path, _) | Wanted::Unseen(path, _), Some(why)) = (wanted, &found.trouble) {
        exit::print_line(&format!("cannot read {}: {why}", path.display()));
    }
    match (wanted, &found.trouble) {
        (Wanted::Unseen(..), _) => Exit::Usage,
        (_, Some(_)) => Exit::Failed,
        _ if found.is_found() => Exit::Done,
        _ => Exit::Problems,
    }
}

/// The digest that was typed, or the only one in the catalog that starts so.
fn digest_of(hex: &str, algorithm: Algorithm, catalog: &ReadOnly) -> anyhow::Result<Wanted> {
    let digits = 2 * algorithm.digest_len();
    let is_hex = !hex.is_empty() && hex.bytes().all(|digit| digit.is_ascii_hexdigit());
    // A whole digest of another algorithm is not a prefix.
    let is_other = hex.len() == 64 && digits != 64;
    if !is_hex || is_other || !(LEAST_DIGITS..=digits).contains(&hex.len()) {
        return Err(exit::usage(format_args!(
            "invalid value '{hex}' for --digest: expected the {digits} hexadecimal digits of a \
             {algorithm} hash, or at least the first {LEAST_DIGITS} of them"
        )));
    }
    if let Some(digest) = whole_digest(hex).filter(|_| hex.len() == digits) {
        return Ok(Wanted::Digest(digest));
    }
    let nothing = algorithm.digest_of_nothing();
    let mut known = catalog.digests_beginning(hex, 2)?;
    if nothing.to_hex().starts_with(&hex.to_ascii_lowercase()) {
        known.push(nothing);
    }
    match known.as_slice() {
        [] => Ok(Wanted::NoDigest(hex.to_ascii_lowercase())),
        [digest] => Ok(Wanted::Digest(*digest)),
        _ => Err(exit::usage(format_args!(
            "invalid value '{hex}' for --digest: more than one hash starts with it; give more \
             digits"
        ))),
    }
}

fn whole_digest(hex: &str) -> Option<Digest> {
    let digits = hex.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> = digits
        .map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok())
        .collect();
    Digest::from_bytes(&bytes?)
}

impl Now {
    /// The word for programs.
    fn word(&self) -> &'static str {
        match self {
            Self::AsScanned => "as scanned",
            Self::Offline => "offline",
            Self::Rotten => "corrupted",
            Self::Changed => "changed",
            Self::Gone => "missing",
            Self::Unreadable(_) => "unreadable",
        }
    }

    /// The words for people.
    fn words(&self) -> &'static str {
        match self {
            Self::Changed => "changed since the scan",
            other => other.word(),
        }
    }
}

impl Place {
    /// What people should know about it, if anything.
    fn mark(&self) -> Option<String> {
        match &self.now {
            Now::AsScanned if self.is_itself => Some("this file".to_owned()),
            other if self.is_itself => Some(format!("this file, {}", other.words())),
            Now::AsScanned => None,
            Now::Unreadable(why) => Some(format!("unreadable: {why}")),
            other => Some(other.words().to_owned()),
        }
    }

    fn answer(&self) -> &'static str {
        if self.is_found { "found" } else { "unchecked" }
    }
}

impl Found {
    fn answer(&self) -> &'static str {
        match (self.is_found(), self.unsure()) {
            (true, _) => "found",
            (false, 0) if self.trouble.is_none() => "not found",
            (false, _) => "unchecked",
        }
    }

    fn is_found(&self) -> bool {
        self.places.iter().any(|place| place.is_found)
    }

    /// Files that could be a copy.
    fn unsure(&self) -> u64 {
        let places = self.places.iter().filter(|place| !place.is_found);
        places.count() as u64 + self.unread
    }

    fn sentence(&self) -> String {
        let unsure = |more: &str| {
            let one = format!("{more}file could be a copy");
            let many = format!("{more}files could be copies");
            let files = counted(self.unsure(), &one, &many);
            format!("{files} ({})", self.reasons().join(", "))
        };
        if let Some(why) = &self.trouble {
            return format!("unchecked: cannot read it: {why}");
        }
        match self.answer() {
            "found" if self.unsure() > 0 => format!("found; {}", unsure("more ")),
            "found" if self.places.iter().all(|place| place.is_itself) => {
                "found, but only this file itself".to_owned()
            }
            "found" => "found".to_owned(),
            "unchecked" => format!("unchecked: {}", unsure("")),
            _ if self.is_only_itself => "no other copy in the catalog".to_owned(),
            _ => "not in the catalog".to_owned(),
        }
    }

    /// Why files are unchecked, with their number.
    fn reasons(&self) -> Vec<String> {
        if let Some(why) = &self.trouble {
            return vec![format!("cannot read it: {why}")];
        }
        let mut counts = BTreeMap::<&str, u64>::new();
        for place in self.places.iter().filter(|place| !place.is_found) {
            *counts.entry(place.now.words()).or_default() += 1;
        }
        if self.unread > 0 {
            counts.insert("without a hash", self.unread);
        }
        let counts = counts.into_iter();
        counts
            .map(|(why, files)| format!("{} {why}", grouped(files)))
            .collect()
    }
}

impl Totals {
    fn add(&mut self, found: &Found) {
        self.asked += 1;
        match found.answer() {
            "found" => self.found += 1,
            "unchecked" => self.unchecked += 1,
            _ => self.not_found += 1,
        }
    }

    fn sentences(&self) -> Vec<String> {
        vec![format!(
            "{} found, {} not found, {} unchecked",
            self.found, self.not_found, self.unchecked
        )]
    }
}

fn write(answer: &mut Writing<'_, '_>, wanted: &Wanted, found: &Found) -> anyhow::Result<()> {
    let (file, name) = match wanted {
        Wanted::File(path, _) | Wanted::Unseen(path, _) => (Cell::Path(path.clone()), path.clone()),
        Wanted::Digest(digest) => (Cell::Nothing, digest.to_hex().into()),
        Wanted::NoDigest(hex) => (Cell::Nothing, format!("{hex}…").into()),
    };
    let digest = || {
        found
            .digest
            .map_or(Cell::Nothing, |digest| Cell::text(digest.to_hex()))
    };
    answer.path_line("", &name, &format!(": {}", found.sentence()))?;
    for place in &found.places {
        let path = &place.known.path;
        if answer.has_room() {
            let mark = place.mark().map(|mark| format!(" ({mark})"));
            answer.path_line("    ", path, &mark.unwrap_or_default())?;
        }
        let reason = match &place.now {
            Now::Unreadable(why) => Cell::text(why.clone()),
            _ => Cell::Nothing,
        };
        answer.row(&[
            file.clone(),
            digest(),
            Cell::text(place.answer()),
            Cell::Path(path.clone()),
            Cell::text(place.now.word()),
            Cell::Flag(place.is_itself),
            Cell::Size(place.known.state.size),
            Cell::FileTime(place.known.state.mtime_ns),
            reason,
        ])?;
    }
    if found.places.is_empty() {
        let nothing = || Cell::Nothing;
        let reasons = found.reasons();
        answer.row(&[
            file,
            digest(),
            Cell::text(found.answer()),
            nothing(),
            nothing(),
            nothing(),
            nothing(),
            nothing(),
            match reasons.is_empty() {
                true => Cell::Nothing,
                false => Cell::text(reasons.join(", ")),
            },
        ])?;
    }
    Ok(())
}
