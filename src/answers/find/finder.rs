//! Looks for content: by digest where the catalog has one, and by comparing
//! the files byte for byte where it has none.

use std::io;
use std::path::Path;

use super::sought::{FindError, Sought};
use crate::access::{Checker, content, is_in_state};
use crate::answers::now::Now;
use crate::answers::place::resolve;
use crate::catalog::{CatalogError, Known, Lookup, ReadOnly};
use crate::model::{Algorithm, Digest, Probe};
use crate::platform::{Dir, Links, OpenFile};

/// Why there is no answer about a file that changes while it is read.
const CHANGING: &str = "it keeps changing";

/// What the catalog has of it.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) digest: Option<Digest>,
    /// Where it is, or could be.
    pub(crate) files: Vec<FoundFile>,
    /// Whether the file itself is in the catalog and does not count.
    pub(crate) is_only_itself: bool,
    /// Files anywhere in the catalog that could be it, since they have no digest.
    pub(crate) unread: u64,
    /// Why there is no answer: the file itself cannot be read.
    pub(crate) failure: Option<String>,
}

/// Whether the catalog has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FindVerdict {
    Found,
    NotFound,
    Unchecked,
}

impl Found {
    pub(crate) fn verdict(&self) -> FindVerdict {
        if self.files.iter().any(|file| file.is_found) {
            FindVerdict::Found
        } else if self.failure.is_none() && self.possible() == 0 {
            FindVerdict::NotFound
        } else {
            FindVerdict::Unchecked
        }
    }

    /// Files that could be a copy.
    pub(crate) fn possible(&self) -> u64 {
        let files = self.files.iter().filter(|file| !file.is_found);
        files.count() as u64 + self.unread
    }
}

/// A catalogued file that is, or may be, what was asked for.
pub(crate) struct FoundFile {
    pub(crate) known: Known,
    pub(crate) now: Now,
    /// Whether it has the content that was asked for; it may have otherwise.
    pub(crate) is_found: bool,
    /// Whether it is the same file that was asked for.
    pub(crate) is_itself: bool,
    /// The type of the filesystem that may show the file that was asked for
    /// under another path.
    pub(crate) shared_view: Option<&'static str>,
}

/// Looks for content in the catalog.
pub(crate) struct Finder {
    lookup: Lookup,
    checker: Checker,
    algorithm: Algorithm,
    counts: Counts,
}

/// Which places count as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    /// All that have the content, or had it when their disk was last seen.
    Any,
    /// Only other copies than the file itself.
    Elsewhere {
        /// Also those that nobody can look at now.
        offline: bool,
        /// Also those that may be the file itself, seen through another
        /// filesystem.
        assume_separate: bool,
    },
}

impl Finder {
    /// Prepares to look for these things and no others.
    pub(crate) fn new(
        catalog: ReadOnly,
        wanted: &[Sought],
        counts: Counts,
    ) -> Result<Self, CatalogError> {
        let algorithm = catalog.algorithm()?;
        let (mut sizes, mut digests) = (Vec::new(), Vec::new());
        for one in wanted {
            match one {
                Sought::File(_, size) => sizes.push(*size),
                Sought::Unreadable(..) | Sought::NoDigest(_) => {}
                // Empty files are known by their size.
                Sought::Digest(digest) if *digest == algorithm.digest_of_nothing() => sizes.push(0),
                Sought::Digest(digest) => digests.push(*digest),
            }
        }
        Ok(Self {
            checker: Checker::of(&catalog)?,
            lookup: Lookup::build(catalog, &sizes, &digests)?,
            algorithm,
            counts,
        })
    }

    /// Looks for one thing. That it cannot be read is part of the answer; an
    /// error is one of the catalog.
    pub(crate) fn find(&mut self, wanted: &Sought) -> Result<Found, CatalogError> {
        match wanted {
            Sought::Digest(digest) => self.by_digest(digest),
            Sought::Unreadable(_, why) => Ok(failed(why)),
            Sought::NoDigest(_) => Ok(Found {
                unread: self.lookup.unread(),
                ..Found::default()
            }),
            Sought::File(path, size) => match Asked::open(path, *size, self.algorithm) {
                Ok(mut asked) => self.by_content(&mut asked),
                Err(error) => Ok(failed(&error)),
            },
        }
    }

    fn by_digest(&mut self, digest: &Digest) -> Result<Found, CatalogError> {
        let known = match *digest == self.algorithm.digest_of_nothing() {
            true => self.lookup.of_size(0)?,
            false => self.lookup.of_digest(digest)?,
        };
        let files: Vec<FoundFile> = known.into_iter().map(|known| self.equal(known)).collect();
        Ok(Found {
            digest: Some(*digest),
            unread: match files.iter().any(|file| file.is_found) {
                true => 0,
                false => self.lookup.unread(),
            },
            files,
            ..Found::default()
        })
    }

    fn by_content(&mut self, asked: &mut Asked) -> Result<Found, CatalogError> {
        let mut found = Found::default();
        for known in self.lookup.of_size(asked.file.opened_as().meta.size)? {
            match self.is_equal(&known, asked) {
                Ok(true) => {
                    let is_itself = self.is_itself(&known, asked);
                    if is_itself && self.counts != Counts::Any {
                        found.is_only_itself = true;
                        continue;
                    }
                    let file = self.equal(known);
                    let shared_view = self.shared_view(&file, asked);
                    let is_found = file.is_found && shared_view.is_none();
                    found.files.push(FoundFile {
                        is_itself,
                        is_found: is_itself || is_found && !self.is_unknown(&file.known),
                        shared_view,
                        ..file
                    });
                }
                Ok(false) => {}
                Err(ReadFailure::Asked(error)) => return Ok(failed(&error)),
                Err(ReadFailure::Known(now)) => found.files.push(FoundFile {
                    known,
                    now,
                    is_found: false,
                    is_itself: false,
                    shared_view: None,
                }),
            }
        }
        found.is_only_itself &= found.files.is_empty();
        found.digest = asked.digest;
        Ok(found)
    }

    /// A file that had the content when it was scanned. An offline one may be
    /// trusted to still have it; a corrupted one, or one in any other state than
    /// scanned, proves nothing.
    fn equal(&self, known: Known) -> FoundFile {
        let now = self.now(&known);
        FoundFile {
            is_found: match now {
                Now::AsScanned => true,
                Now::Offline => !matches!(self.counts, Counts::Elsewhere { offline: false, .. }),
                _ => false,
            },
            is_itself: false,
            shared_view: None,
            known,
            now,
        }
    }

    /// Whether a file counts as unknown, although it is there: it is not compared
    /// with others.
    fn is_unknown(&self, known: &Known) -> bool {
        self.counts != Counts::Any && (known.is_excluded || known.is_not_compared)
    }

    /// The type of the filesystem through which a file that is there may be the
    /// one that was asked for, if that matters.
    fn shared_view(&self, file: &FoundFile, asked: &Asked) -> Option<&'static str> {
        let matters = matches!(
            self.counts,
            Counts::Elsewhere {
                assume_separate: false,
                ..
            }
        );
        if !matters || file.now != Now::AsScanned {
            return None;
        }
        let own = self.checker.volume_of_folder(&asked.folder);
        let (Ok(own), Ok(other)) = (own, self.checker.volume(&file.known.path)) else {
            // It was there a moment ago; what cannot be asked proves nothing.
            return Some("an unknown filesystem");
        };
        match own.is_separate_from(&other) {
            true => None,
            false if other.own_storage => Some(own.fstype),
            false => Some(other.fstype),
        }
    }

    fn now(&self, known: &Known) -> Now {
        let look = self.checker.look(&known.path, &known.state);
        Now::of(look, &known.path, known.is_corrupted, &self.checker)
    }

    fn is_itself(&self, known: &Known, asked: &Asked) -> bool {
        let opened = asked.file.opened_as();
        is_in_state(opened, &known.state)
            && self
                .checker
                .stat(&known.path)
                .is_ok_and(|stat| stat.id() == opened.id())
    }

    /// Whether a file of the same size had the same content, by digest where
    /// it has one, and by reading it now otherwise.
    fn is_equal(&self, known: &Known, asked: &mut Asked) -> Result<bool, ReadFailure> {
        if known.state.size == 0 || self.is_itself(known, asked) {
            return Ok(true);
        }
        if let Some(digest) = known.digest {
            let is_equal = asked.digest()? == digest;
            if is_equal || !known.is_corrupted {
                return Ok(is_equal);
            }
            // Its digest no longer holds, so it is read.
        } else if known.probe.is_some() && asked.probe()? != known.probe {
            return Ok(false);
        }
        match self.now(known) {
            Now::AsScanned | Now::Corrupted => {}
            other => return Err(ReadFailure::Known(other)),
        }
        let unreadable = |error: io::Error| ReadFailure::Known(Now::Unreadable(error.to_string()));
        let file = self.checker.open(&known.path).map_err(unreadable)?;
        if !is_in_state(file.opened_as(), &known.state) {
            return Err(ReadFailure::Known(Now::Changed));
        }
        match content::are_equal(&asked.file, &file) {
            Ok(Some(is_equal)) => Ok(is_equal),
            Ok(None) => Err(ReadFailure::Known(Now::Changed)),
            Err(error) => Err(unreadable(error)),
        }
    }
}

/// No answer about a file, and why.
fn failed(why: &impl ToString) -> Found {
    Found {
        failure: Some(why.to_string()),
        ..Found::default()
    }
}

/// Which file cannot be read.
enum ReadFailure {
    Asked(io::Error),
    Known(Now),
}

/// A file that is asked for, and what was read of it so far.
struct Asked {
    folder: Dir,
    file: OpenFile,
    algorithm: Algorithm,
    digest: Option<Digest>,
    probe: Option<Probe>,
}

impl Asked {
    fn open(path: &Path, size: u64, algorithm: Algorithm) -> Result<Self, FindError> {
        let whole = resolve(path)?;
        let (folder, name) = whole
            .parent()
            .zip(whole.file_name())
            .ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
        let folder = Dir::open_root(folder)?;
        let file = folder.open_file(name, Links::Refuse)?;
        if file.opened_as().meta.size != size {
            return Err(io::Error::other(CHANGING).into());
        }
        Ok(Self {
            folder,
            file,
            algorithm,
            digest: None,
            probe: None,
        })
    }

    fn digest(&mut self) -> Result<Digest, ReadFailure> {
        if let Some(digest) = self.digest {
            return Ok(digest);
        }
        let digest = content::digest_of(&self.file, self.algorithm)
            .and_then(|digest| digest.ok_or_else(|| io::Error::other(CHANGING)))
            .map_err(ReadFailure::Asked)?;
        self.digest = Some(digest);
        Ok(digest)
    }

    fn probe(&mut self) -> Result<Option<Probe>, ReadFailure> {
        if self.probe.is_none() {
            self.probe = content::probe_of(&self.file).map_err(ReadFailure::Asked)?;
        }
        Ok(self.probe)
    }
}
