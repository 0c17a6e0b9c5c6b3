//! Looks at every file of one place, and at its copies in the other, as they
//! are now.

use std::collections::HashSet;
use std::path::Path;

use rayon::prelude::*;

use super::folders::Folders;
use super::verdict::{DiffVerdict, SharedView, WhyUnchecked};
use crate::access::{Checker, Look};
use crate::answers::now::Now;
use crate::catalog::{CatalogError, DiffFile, DiffMatch, PlaceDiff};
use crate::platform::FileId;

/// Copies of a file that are looked at together.
const FEW: u32 = 4;

/// The files of one place, compared with another.
pub(crate) struct Comparison {
    places: PlaceDiff,
    looker: Looker,
}

/// Looks at files of both places, from several threads.
struct Looker {
    checker: Checker,
    /// Whether to trust that the places are separate storage.
    assume_separate: bool,
    /// The folders of our place. A name in one of them, by whatever path (bind
    /// mount, link), goes when the place goes.
    inside: HashSet<FileId>,
}

/// A file of the other place that had the content when it was scanned.
#[derive(PartialEq, Eq)]
enum Copy {
    /// The file itself by another path.
    Itself,
    /// As scanned, but nothing proves that it is not the file itself.
    MaybeItself(SharedView),
    Another(Now),
}

impl Copy {
    const PROOF: Self = Self::Another(Now::AsScanned);
}

impl Comparison {
    pub(crate) fn new(places: PlaceDiff, assume_separate: bool) -> Result<Self, CatalogError> {
        Ok(Self {
            looker: Looker {
                checker: Checker::of(places.catalog())?,
                assume_separate,
                inside: HashSet::new(),
            },
            places,
        })
    }

    /// Looks at all folders of the place at `path`, before any file.
    pub(crate) fn look_at_folders(&mut self, path: &Path) -> Result<Folders, CatalogError> {
        let mut folders = Folders::look(&mut self.places, path, &self.looker.checker)?;
        self.looker.inside = std::mem::take(&mut folders.inside);
        Ok(folders)
    }

    /// The next files of our place, and what they are; none at the end.
    pub(crate) fn next_files(&mut self) -> Result<Vec<(DiffFile, DiffVerdict)>, CatalogError> {
        let Self { places, looker } = self;
        let files = places.next_files()?;
        let matches: Vec<Vec<DiffMatch>> = files
            .iter()
            .map(|file| places.matches(file, None, FEW))
            .collect::<Result<_, _>>()?;
        let looks: Vec<(Now, Vec<Copy>)> = files
            .par_iter()
            .zip(&matches)
            .map(|(file, matches)| {
                let copies = matches.iter().map(|found| looker.copy(file, found));
                (looker.own(file), copies.collect())
            })
            .collect();
        let mut judged = Vec::with_capacity(files.len());
        for ((file, mut matches), (own, mut copies)) in files.into_iter().zip(matches).zip(looks) {
            // A few are nearly always enough; without proof, look at all.
            while matches.len() == FEW as usize && !copies.contains(&Copy::PROOF) {
                matches = places.matches(&file, matches.last(), FEW)?;
                copies.extend(matches.iter().map(|found| looker.copy(&file, found)));
            }
            let verdict = match file.is_not_compared {
                true => DiffVerdict::NotCompared,
                false => judge(&file, own, copies),
            };
            judged.push((file, verdict));
        }
        Ok(judged)
    }
}

impl Looker {
    fn own(&self, file: &DiffFile) -> Now {
        let look = self.checker.look(&file.path, &file.state);
        Now::of(look, &file.path, file.is_corrupted, &self.checker)
    }

    fn copy(&self, file: &DiffFile, found: &DiffMatch) -> Copy {
        let DiffMatch { path, state, .. } = found;
        let look = self.checker.look_outside(path, state, &self.inside);
        if look == Look::Elsewhere {
            return Copy::Itself;
        }
        match Now::of(look, path, found.is_corrupted, &self.checker) {
            Now::AsScanned if found.racy => Copy::Another(Now::TooYoung),
            Now::AsScanned => match self.shared_view(&file.path, path) {
                Some(view) => Copy::MaybeItself(view),
                None => Copy::PROOF,
            },
            now => Copy::Another(now),
        }
    }

    /// Why the two files may be one, if they may.
    fn shared_view(&self, ours: &Path, theirs: &Path) -> Option<SharedView> {
        if self.assume_separate {
            return None;
        }
        let volumes = (self.checker.volume(ours), self.checker.volume(theirs));
        let (Ok(ours), Ok(theirs)) = volumes else {
            // It was there a moment ago; what cannot be asked proves nothing.
            return Some(SharedView::Theirs("an unknown filesystem"));
        };
        match ours.is_separate_from(&theirs) {
            true => None,
            false if theirs.own_storage => Some(SharedView::Ours(ours.fstype)),
            false => Some(SharedView::Theirs(theirs.fstype)),
        }
    }
}

fn judge(file: &DiffFile, own: Now, copies: Vec<Copy>) -> DiffVerdict {
    let is_alias = !copies.is_empty();
    let view = copies.iter().find_map(|copy| match copy {
        Copy::MaybeItself(view) => Some(*view),
        Copy::Itself | Copy::Another(_) => None,
    });
    let others = copies.into_iter().filter_map(|copy| match copy {
        Copy::Another(now) => Some(now),
        Copy::Itself | Copy::MaybeItself(_) => None,
    });
    let why = match (own, others.min(), view) {
        (Now::AsScanned, Some(Now::AsScanned), _) if file.racy => WhyUnchecked::File(Now::TooYoung),
        (Now::AsScanned, Some(Now::AsScanned), _) => return DiffVerdict::Duplicate,
        (Now::AsScanned, _, Some(view)) => WhyUnchecked::MaybeItself(view),
        (Now::AsScanned, Some(copy), None) => WhyUnchecked::ItsCopy(copy),
        (Now::AsScanned, None, None) => match file.unresolved {
            Some(unresolved) => WhyUnchecked::NotRead(unresolved),
            None => return DiffVerdict::Only { is_alias },
        },
        (own, _, _) => WhyUnchecked::File(own),
    };
    DiffVerdict::Unchecked(why)
}
