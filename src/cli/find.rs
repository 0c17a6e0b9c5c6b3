//! `dupescan find FILE…`: is this content anywhere in the catalog?

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use super::answer::{Form, Writing};
use super::args::FindArgs;
use super::check::{Checker, Look};
use super::context::Context;
use super::exit::{self, Exit};
use super::{paths, report};
use crate::catalog::{CatalogError, Known, Lookup};
use crate::model::{Algorithm, Digest, Probe};
use crate::platform::{Dir, Links, OpenFile};
use crate::report::text::{counted, escape, grouped};
use crate::report::{Cell, Column};
use crate::scan::content;

const COLUMNS: &[Column] = &[
    Column::hidden("file"),
    Column::hidden("digest"),
    Column::hidden("answer"),
    Column::hidden("path"),
    Column::hidden("place"),
    Column::hidden("same_file"),
    Column::hidden("size"),
    Column::hidden("mtime"),
    Column::hidden("reason"),
];

/// Something that is looked for.
enum Wanted {
    File(PathBuf, u64),
    Digest(Digest),
}

/// What the catalog holds of it.
#[derive(Default)]
struct Found {
    digest: Option<Digest>,
    /// Where it is, or may be.
    places: Vec<Place>,
    /// Files anywhere in the catalog that may be it, since they have no digest.
    unread: u64,
}

/// A catalogued file that is, or may be, what was asked for.
struct Place {
    known: Known,
    now: Now,
    /// Whether it has the content that was asked for; it may have otherwise.
    is_found: bool,
    /// Whether it is the very file that was asked for.
    is_itself: bool,
}

/// How a catalogued file is now.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Now {
    AsScanned,
    Offline,
    /// As scanned, but an audit found its content not to be what it was.
    Rotten,
    Changed,
    Gone,
    Unreadable(String),
}

#[derive(Debug, Default, Serialize)]
struct Totals {
    asked: u64,
    found: u64,
    not_found: u64,
    undetermined: u64,
}

pub(super) fn run(context: &Context, args: &FindArgs) -> anyhow::Result<Exit> {
    let catalog = context.catalog()?;
    let at_catalog = |error: CatalogError| context.at_catalog(error);
    let header = report::header(&catalog).map_err(at_catalog)?;
    let algorithm = catalog.algorithm().map_err(at_catalog)?;
    let roots = catalog.roots().map_err(at_catalog)?;
    let wanted = wanted(args, algorithm)?;
    let (mut sizes, mut digests) = (Vec::new(), Vec::new());
    for one in &wanted {
        match one {
            Wanted::File(_, size) => sizes.push(*size),
            // Empty files are known by their size.
            Wanted::Digest(digest) if *digest == algorithm.digest_of_nothing() => sizes.push(0),
            Wanted::Digest(digest) => digests.push(*digest),
        }
    }
    let mut finder = Finder {
        lookup: Lookup::build(catalog, &sizes, &digests).map_err(at_catalog)?,
        checker: Checker::new(roots),
        algorithm,
    };
    let form = Form::from(&args.answer);
    form.give(context, &header, ("files", COLUMNS), |answer| {
        let mut totals = Totals::default();
        for one in &wanted {
            let found = finder.find(one)?;
            totals.add(&found);
            write(answer, one, &found)?;
        }
        let exit = match totals.found == totals.asked {
            true => Exit::Done,
            false => Exit::Findings,
        };
        let left = answer.end(&totals, &totals.sentences())?;
        Ok((left, exit))
    })
}

fn wanted(args: &FindArgs, algorithm: Algorithm) -> anyhow::Result<Vec<Wanted>> {
    let mut wanted = Vec::new();
    for path in &args.files {
        let meta = std::fs::metadata(path)
            .map_err(|error| exit::usage(format_args!("{}: {error}", path.display())))?;
        if !meta.is_file() {
            return Err(exit::usage(format_args!(
                "{} is not a file: `find` takes files",
                path.display()
            )));
        }
        wanted.push(Wanted::File(path.clone(), meta.len()));
    }
    for hex in &args.digest {
        wanted.push(Wanted::Digest(parse_digest(hex, algorithm)?));
    }
    Ok(wanted)
}

fn parse_digest(hex: &str, algorithm: Algorithm) -> anyhow::Result<Digest> {
    let digits = 2 * algorithm.digest_len();
    let bytes: Option<Vec<u8>> = (hex.len() == digits && hex.is_ascii())
        .then(|| {
            (0..digits)
                .step_by(2)
                .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok())
                .collect()
        })
        .flatten();
    let digest = bytes.and_then(|bytes| Digest::from_bytes(&bytes));
    digest.ok_or_else(|| {
        exit::usage(format_args!(
            "invalid value '{hex}' from --digest: expected {digits} hexadecimal digits, as \
             {algorithm} makes them"
        ))
    })
}

/// Looks for content in the catalog.
struct Finder {
    lookup: Lookup,
    checker: Checker,
    algorithm: Algorithm,
}

impl Finder {
    fn find(&mut self, wanted: &Wanted) -> anyhow::Result<Found> {
        match wanted {
            Wanted::Digest(digest) => self.by_digest(digest),
            Wanted::File(path, size) => self
                .by_content(path, *size)
                .with_context(|| format!("cannot read {}", path.display())),
        }
    }

    fn by_digest(&mut self, digest: &Digest) -> anyhow::Result<Found> {
        let known = match *digest == self.algorithm.digest_of_nothing() {
            true => self.lookup.of_size(0)?,
            false => self.lookup.of_digest(digest)?,
        };
        let places: Vec<Place> = known.into_iter().map(|known| self.equal(known)).collect();
        Ok(Found {
            digest: Some(*digest),
            unread: match places.iter().any(|place| place.is_found) {
                true => 0,
                false => self.lookup.unread(),
            },
            places,
        })
    }

    fn by_content(&mut self, path: &Path, size: u64) -> anyhow::Result<Found> {
        let mut asked = Asked::open(path, self.algorithm)?;
        if asked.file.opened_as().meta.size != size {
            anyhow::bail!("it is changing");
        }
        let mut found = Found::default();
        for known in self.lookup.of_size(size)? {
            match self.is_equal(&known, &mut asked) {
                Ok(true) => {
                    let is_itself = self.is_itself(&known, &asked);
                    let place = self.equal(known);
                    found.places.push(Place {
                        is_itself,
                        is_found: place.is_found || is_itself,
                        ..place
                    });
                }
                Ok(false) => {}
                Err(Trouble::Asked(error)) => return Err(error.into()),
                Err(Trouble::Known(now)) => found.places.push(Place {
                    known,
                    now,
                    is_found: false,
                    is_itself: false,
                }),
            }
        }
        found.digest = asked.digest;
        Ok(found)
    }

    /// A file that had the content when it was scanned. Offline it is believed
    /// to have it still; rotten, or in any other state than scanned, it proves
    /// nothing.
    fn equal(&self, known: Known) -> Place {
        let now = self.now(&known);
        Place {
            is_found: matches!(now, Now::AsScanned | Now::Offline),
            is_itself: false,
            known,
            now,
        }
    }

    fn now(&self, known: &Known) -> Now {
        if !self.checker.is_online(&known.path) {
            return Now::Offline;
        }
        match self.checker.look(&known.path, &known.state) {
            Look::Same if known.is_rotten => Now::Rotten,
            Look::Same => Now::AsScanned,
            Look::Changed | Look::Elsewhere => Now::Changed,
            Look::Gone => Now::Gone,
            Look::Failed(why) => Now::Unreadable(why),
        }
    }

    fn is_itself(&self, known: &Known, asked: &Asked) -> bool {
        let opened = asked.file.opened_as();
        known.state.is_of(&opened.meta)
            && self
                .checker
                .stat(&known.path)
                .is_ok_and(|stat| stat.id() == opened.id())
    }

    /// Whether a file of the same size had the same content, by digest where
    /// it has one, and by reading it now otherwise.
    fn is_equal(&self, known: &Known, asked: &mut Asked) -> Result<bool, Trouble> {
        if known.state.size == 0 || self.is_itself(known, asked) {
            return Ok(true);
        }
        if let Some(digest) = known.digest {
            let is_equal = asked.digest()? == digest;
            if is_equal || !known.is_rotten {
                return Ok(is_equal);
            }
            // It may be anything but what its digest says, so it is read.
        } else if known.probe.is_some() && asked.probe()? != known.probe {
            return Ok(false);
        }
        match self.now(known) {
            Now::AsScanned | Now::Rotten => {}
            other => return Err(Trouble::Known(other)),
        }
        let unreadable = |error: io::Error| Trouble::Known(Now::Unreadable(error.to_string()));
        let file = self.checker.open(&known.path).map_err(unreadable)?;
        if !known.state.is_of(&file.opened_as().meta) {
            return Err(Trouble::Known(Now::Changed));
        }
        match content::are_equal(&asked.file, &file) {
            Ok(Some(is_equal)) => Ok(is_equal),
            Ok(None) => Err(Trouble::Known(Now::Changed)),
            Err(error) => Err(unreadable(error)),
        }
    }
}

/// Which file could not be read.
enum Trouble {
    Asked(io::Error),
    Known(Now),
}

/// A file that is asked for, and what was read of it so far.
struct Asked {
    file: OpenFile,
    algorithm: Algorithm,
    digest: Option<Digest>,
    probe: Option<Probe>,
}

impl Asked {
    fn open(path: &Path, algorithm: Algorithm) -> anyhow::Result<Self> {
        let whole = paths::resolve(path)?;
        let (folder, name) = whole
            .parent()
            .zip(whole.file_name())
            .ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
        Ok(Self {
            file: Dir::open_root(folder)?.open_file(name, Links::Refuse)?,
            algorithm,
            digest: None,
            probe: None,
        })
    }

    fn digest(&mut self) -> Result<Digest, Trouble> {
        if let Some(digest) = self.digest {
            return Ok(digest);
        }
        let digest = content::digest_of(&self.file, self.algorithm)
            .and_then(|digest| digest.ok_or_else(|| io::Error::other("it is changing")))
            .map_err(Trouble::Asked)?;
        self.digest = Some(digest);
        Ok(digest)
    }

    fn probe(&mut self) -> Result<Option<Probe>, Trouble> {
        if self.probe.is_none() {
            self.probe = content::probe_of(&self.file).map_err(Trouble::Asked)?;
        }
        Ok(self.probe)
    }
}

impl Now {
    /// The word for programs.
    fn word(&self) -> &'static str {
        match self {
            Self::AsScanned => "as scanned",
            Self::Offline => "offline",
            Self::Rotten => "rotten",
            Self::Changed => "changed",
            Self::Gone => "gone",
            Self::Unreadable(_) => "unreadable",
        }
    }

    /// The words for people.
    fn words(&self) -> &'static str {
        match self {
            Self::Changed => "changed since the scan",
            Self::Gone => "gone since the scan",
            other => other.word(),
        }
    }
}

impl Place {
    /// What people should know about it, where there is something.
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
        if self.is_found {
            "found"
        } else {
            "undetermined"
        }
    }
}

impl Found {
    fn answer(&self) -> &'static str {
        match (self.is_found(), self.unsure()) {
            (true, _) => "found",
            (false, 0) => "not found",
            (false, _) => "undetermined",
        }
    }

    fn is_found(&self) -> bool {
        self.places.iter().any(|place| place.is_found)
    }

    /// Files that may be the same.
    fn unsure(&self) -> u64 {
        let places = self.places.iter().filter(|place| !place.is_found);
        places.count() as u64 + self.unread
    }

    fn sentence(&self) -> String {
        let unsure = |more: &str| {
            let files = counted(self.unsure(), "file", "files");
            let why = self.reasons().join(", ");
            format!("{files}{more} could be the same, which cannot be told ({why})")
        };
        match self.answer() {
            "found" if self.unsure() > 0 => format!("found; {}", unsure(" more")),
            "found" => "found".to_owned(),
            "undetermined" => format!("undetermined: {}", unsure("")),
            _ => "not in the catalog".to_owned(),
        }
    }

    /// Why it cannot be told of how many files.
    fn reasons(&self) -> Vec<String> {
        let mut counts = BTreeMap::<&str, u64>::new();
        for place in self.places.iter().filter(|place| !place.is_found) {
            *counts.entry(place.now.words()).or_default() += 1;
        }
        if self.unread > 0 {
            counts.insert("without a digest", self.unread);
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
            "undetermined" => self.undetermined += 1,
            _ => self.not_found += 1,
        }
    }

    fn sentences(&self) -> Vec<String> {
        vec![format!(
            "{} found, {} not in the catalog, {} undetermined",
            self.found, self.not_found, self.undetermined
        )]
    }
}

fn write(answer: &mut Writing<'_, '_>, wanted: &Wanted, found: &Found) -> anyhow::Result<()> {
    let (file, name) = match wanted {
        Wanted::File(path, _) => (Cell::Path(path.clone()), escape(path)),
        Wanted::Digest(digest) => (Cell::Nothing, digest.to_hex()),
    };
    let digest = || {
        found
            .digest
            .map_or(Cell::Nothing, |digest| Cell::text(digest.to_hex()))
    };
    answer.line(&format!("{name}: {}", found.sentence()))?;
    for place in &found.places {
        let path = &place.known.path;
        if answer.has_room() {
            let mark = place.mark().map(|mark| format!(" ({mark})"));
            answer.line(&format!("    {}{}", escape(path), mark.unwrap_or_default()))?;
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
