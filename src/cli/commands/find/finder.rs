//! Looks for content: by digest where the catalog has one, and by comparing
//! the files byte for byte where it has none.

use std::io;
use std::path::{Path, PathBuf};

use crate::access::{Checker, Look, content};
use crate::catalog::{CatalogError, Known, Lookup};
use crate::model::{Algorithm, Digest, Probe};
use crate::platform::{Dir, Links, OpenFile};

/// Why there is no answer about a file that changes while it is read.
const CHANGING: &str = "it keeps changing";

/// Something that is looked for.
pub(crate) enum Wanted {
    /// A file, and its size.
    File(PathBuf, u64),
    /// A file that cannot be looked at, and why.
    Unseen(PathBuf, String),
    Digest(Digest),
    /// The start of a digest that no file in the catalog has.
    NoDigest(String),
}

/// What the catalog has of it.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) digest: Option<Digest>,
    /// Where it is, or could be.
    pub(crate) places: Vec<Place>,
    /// Whether the file itself is in the catalog and does not count.
    pub(crate) is_only_itself: bool,
    /// Files anywhere in the catalog that could be it, since they have no digest.
    pub(crate) unread: u64,
    /// Why there is no answer: the file itself cannot be read.
    pub(crate) trouble: Option<String>,
}

/// A catalogued file that is, or may be, what was asked for.
pub(crate) struct Place {
    pub(crate) known: Known,
    pub(crate) now: Now,
    /// Whether it has the content that was asked for; it may have otherwise.
    pub(crate) is_found: bool,
    /// Whether it is the same file that was asked for.
    pub(crate) is_itself: bool,
}

/// How a catalogued file is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Now {
    AsScanned,
    Offline,
    /// As scanned, but an audit found that its content is corrupted.
    Rotten,
    Changed,
    Gone,
    Unreadable(String),
}

/// Looks for content in the catalog.
pub(crate) struct Finder {
    pub(crate) lookup: Lookup,
    pub(crate) checker: Checker,
    pub(crate) algorithm: Algorithm,
    /// Whether a file that is asked for does not count as found itself.
    pub(crate) elsewhere: bool,
}

impl Finder {
    /// Looks for one thing. That it cannot be read is part of the answer; an
    /// error is one of the catalog.
    pub(crate) fn find(&mut self, wanted: &Wanted) -> Result<Found, CatalogError> {
        let unseen = |why: String| {
            Ok(Found {
                trouble: Some(why),
                ..Found::default()
            })
        };
        match wanted {
            Wanted::Digest(digest) => self.by_digest(digest),
            Wanted::Unseen(_, why) => unseen(why.clone()),
            Wanted::NoDigest(_) => Ok(Found {
                unread: self.lookup.unread(),
                ..Found::default()
            }),
            Wanted::File(path, size) => match Asked::open(path, *size, self.algorithm) {
                Ok(mut asked) => match self.by_content(&mut asked)? {
                    Ok(found) => Ok(found),
                    Err(error) => unseen(error.to_string()),
                },
                Err(error) => unseen(error.to_string()),
            },
        }
    }

    fn by_digest(&mut self, digest: &Digest) -> Result<Found, CatalogError> {
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
            ..Found::default()
        })
    }

    /// Looks for a file; the inner error is that of reading it.
    fn by_content(&mut self, asked: &mut Asked) -> Result<io::Result<Found>, CatalogError> {
        let mut found = Found::default();
        for known in self.lookup.of_size(asked.file.opened_as().meta.size)? {
            match self.is_equal(&known, asked) {
                Ok(true) => {
                    let is_itself = self.is_itself(&known, asked);
                    if is_itself && self.elsewhere {
                        found.is_only_itself = true;
                        continue;
                    }
                    let place = self.equal(known);
                    found.places.push(Place {
                        is_itself,
                        is_found: place.is_found || is_itself,
                        ..place
                    });
                }
                Ok(false) => {}
                Err(Trouble::Asked(error)) => return Ok(Err(error)),
                Err(Trouble::Known(now)) => found.places.push(Place {
                    known,
                    now,
                    is_found: false,
                    is_itself: false,
                }),
            }
        }
        found.is_only_itself &= found.places.is_empty();
        found.digest = asked.digest;
        Ok(Ok(found))
    }

    /// A file that had the content when it was scanned. An offline one is
    /// trusted to still have it; a corrupted one, or one in any other state than
    /// scanned, proves nothing.
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
            Look::Same if known.is_corrupted => Now::Rotten,
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
            if is_equal || !known.is_corrupted {
                return Ok(is_equal);
            }
            // Its digest no longer holds, so it is read.
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

/// Which file cannot be read.
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
    fn open(path: &Path, size: u64, algorithm: Algorithm) -> anyhow::Result<Self> {
        let whole = crate::answers::resolve(path)?;
        let (folder, name) = whole
            .parent()
            .zip(whole.file_name())
            .ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
        let file = Dir::open_root(folder)?.open_file(name, Links::Refuse)?;
        anyhow::ensure!(file.opened_as().meta.size == size, CHANGING);
        Ok(Self {
            file,
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
            .and_then(|digest| digest.ok_or_else(|| io::Error::other(CHANGING)))
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
