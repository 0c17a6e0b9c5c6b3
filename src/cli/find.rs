//! `dupescan find FILE…`: is this content anywhere in the catalog?

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use super::answer::{Form, Writing};
use super::args::FindArgs;
use super::check::Checker;
use super::context::Context;
use super::exit::{self, Exit};
use super::{paths, report};
use crate::catalog::{CatalogError, Known, Lookup};
use crate::model::{Algorithm, Digest, Probe};
use crate::platform::{Dir, Links, OpenFile};
use crate::report::text::{counted, escape};
use crate::report::{Cell, Column};
use crate::scan::content;

const COLUMNS: &[Column] = &[
    Column::hidden("file"),
    Column::hidden("digest"),
    Column::hidden("answer"),
    Column::hidden("path"),
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
    /// The files, and whether each is the very file that was asked for.
    files: Vec<(Known, bool)>,
    /// Files that may be the same and could not be read.
    unsure: u64,
    why: Option<String>,
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
        let unread = if known.is_empty() {
            self.lookup.unread()
        } else {
            0
        };
        Ok(Found {
            digest: Some(*digest),
            files: known.into_iter().map(|known| (known, false)).collect(),
            unsure: unread,
            why: (unread > 0).then(|| "the catalog has files without a digest".to_owned()),
        })
    }

    fn by_content(&mut self, path: &Path, size: u64) -> anyhow::Result<Found> {
        let mut asked = Asked::open(path, self.algorithm)?;
        if asked.file.opened_as().meta.size != size {
            anyhow::bail!("it is changing");
        }
        let mut found = Found::default();
        for known in self.lookup.of_size(size)? {
            let is_itself = self.is_itself(&known, &asked);
            match self.is_equal(&known, &mut asked, is_itself) {
                Ok(true) => found.files.push((known, is_itself)),
                Ok(false) => {}
                Err(Trouble::Asked(error)) => return Err(error.into()),
                Err(Trouble::Known(why)) => {
                    found.unsure += 1;
                    found.why = Some(format!("{}: {why}", escape(&known.path)));
                }
            }
        }
        found.digest = asked.digest;
        Ok(found)
    }

    fn is_itself(&self, known: &Known, asked: &Asked) -> bool {
        let opened = asked.file.opened_as();
        known.state.is_of(&opened.meta)
            && self
                .checker
                .stat(&known.path)
                .is_ok_and(|stat| stat.id() == opened.id())
    }

    /// Whether a file of the same size has the same content, by digest where
    /// it has one, and by reading it otherwise.
    fn is_equal(&self, known: &Known, asked: &mut Asked, is_itself: bool) -> Result<bool, Trouble> {
        if is_itself || known.state.size == 0 {
            return Ok(true);
        }
        if let Some(digest) = known.digest {
            return Ok(asked.digest()? == digest);
        }
        if known.probe.is_some() && asked.probe()? != known.probe {
            return Ok(false);
        }
        let file = self.checker.open(&known.path);
        let file = file.map_err(|error| Trouble::Known(error.to_string()))?;
        if !known.state.is_of(&file.opened_as().meta) {
            return Err(Trouble::Known("it changed since the scan".to_owned()));
        }
        match content::are_equal(&asked.file, &file) {
            Ok(Some(is_equal)) => Ok(is_equal),
            Ok(None) => Err(Trouble::Known("it is changing".to_owned())),
            Err(error) => Err(Trouble::Known(error.to_string())),
        }
    }
}

/// Which file could not be read.
enum Trouble {
    Asked(io::Error),
    Known(String),
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

impl Found {
    fn answer(&self) -> &'static str {
        match (self.files.is_empty(), self.unsure) {
            (false, _) => "found",
            (true, 0) => "not found",
            (true, _) => "undetermined",
        }
    }

    fn sentence(&self) -> String {
        let unsure = || {
            let files = counted(self.unsure, "file", "files");
            let why = self.why.as_deref().unwrap_or_default();
            format!("{files} could be the same and could not be read ({why})")
        };
        match self.answer() {
            "found" if self.unsure > 0 => format!("found; {} more", unsure()),
            "found" => "found".to_owned(),
            "undetermined" => format!("undetermined: {}", unsure()),
            _ => "not in the catalog".to_owned(),
        }
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
    for (known, is_itself) in &found.files {
        if answer.has_room() {
            let mark = if *is_itself { " (this file)" } else { "" };
            answer.line(&format!("    {}{mark}", escape(&known.path)))?;
        }
        answer.row(&[
            file.clone(),
            digest(),
            Cell::text("found"),
            Cell::Path(known.path.clone()),
            Cell::Flag(*is_itself),
            Cell::Size(known.state.size),
            Cell::FileTime(known.state.mtime_ns),
            Cell::Nothing,
        ])?;
    }
    if found.files.is_empty() {
        let nothing = || Cell::Nothing;
        let reason = found.why.clone().map_or(Cell::Nothing, Cell::text);
        let answered = Cell::text(found.answer());
        answer.row(&[
            file,
            digest(),
            answered,
            nothing(),
            nothing(),
            nothing(),
            nothing(),
            reason,
        ])?;
    }
    Ok(())
}
