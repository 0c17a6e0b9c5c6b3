//! Looks at every file of one place, and at its copies in the other, as they
//! are now.

use std::collections::HashSet;
use std::path::Path;

use rayon::prelude::*;

use super::folders::Folders;
use super::verdict::{DiffVerdict, WhyUnchecked};
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
    /// The folders of our place. A name in one of them, by whatever path (bind
    /// mount, link), goes when the place goes.
    inside: HashSet<FileId>,
}

/// A copy in the other place; `None` if it is the file itself by another path.
type Copy = Option<Now>;

impl Comparison {
    pub(crate) fn new(places: PlaceDiff) -> Result<Self, CatalogError> {
        Ok(Self {
            looker: Looker {
                checker: Checker::new(places.catalog().roots()?),
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
                let copies = matches.iter().map(|found| looker.copy(found));
                (looker.own(file), copies.collect())
            })
            .collect();
        let mut judged = Vec::with_capacity(files.len());
        for ((file, mut matches), (own, mut copies)) in files.into_iter().zip(matches).zip(looks) {
            // A few are nearly always enough; without proof, look at all.
            while matches.len() == FEW as usize && !copies.contains(&Some(Now::AsScanned)) {
                matches = places.matches(&file, matches.last(), FEW)?;
                copies.extend(matches.iter().map(|found| looker.copy(found)));
            }
            let verdict = judge(&file, own, copies);
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

    fn copy(&self, found: &DiffMatch) -> Copy {
        let DiffMatch { path, state, .. } = found;
        let look = self.checker.look_outside(path, state, &self.inside);
        if look == Look::Elsewhere {
            return None;
        }
        Some(
            match Now::of(look, path, found.is_corrupted, &self.checker) {
                Now::AsScanned if found.racy => Now::TooYoung,
                now => now,
            },
        )
    }
}

fn judge(file: &DiffFile, own: Now, copies: Vec<Copy>) -> DiffVerdict {
    let is_alias = !copies.is_empty();
    let why = match (own, copies.into_iter().flatten().min()) {
        (Now::AsScanned, Some(Now::AsScanned)) if file.racy => WhyUnchecked::File(Now::TooYoung),
        (Now::AsScanned, Some(Now::AsScanned)) => return DiffVerdict::Duplicate,
        (Now::AsScanned, Some(copy)) => WhyUnchecked::ItsCopy(copy),
        (Now::AsScanned, None) => match file.unresolved {
            Some(unresolved) => WhyUnchecked::NotRead(unresolved),
            None => return DiffVerdict::Only { is_alias },
        },
        (own, _) => WhyUnchecked::File(own),
    };
    DiffVerdict::Unchecked(why)
}
