//! Looks at every file of one place, and at its copies in the other, as they
//! are now.

use std::collections::HashSet;
use std::ffi::OsString;

use rayon::prelude::*;

use super::verdict::{DiffVerdict, WhyUnchecked};
use crate::access::{Checker, Look};
use crate::answers::now::Now;
use crate::catalog::{CatalogError, DiffFile, DiffFolder, DiffMatch, PlaceDiff};
use crate::platform::{Dir, Entries, EntryKind, FileId, Links};

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

    /// Looks at all folders of our place, before any file. Returns how many
    /// changed since they were listed.
    pub(crate) fn look_at_folders(&mut self) -> Result<u64, CatalogError> {
        let Self { places, looker } = self;
        let mut changed = 0;
        loop {
            let folders = places.next_folders()?;
            if folders.is_empty() {
                return Ok(changed);
            }
            let seen: Vec<_> = folders
                .par_iter()
                .map(|folder| {
                    let dir = looker.checker.open_folder(&folder.path)?;
                    let stat = dir.stat()?;
                    let times = (stat.meta.mtime_ns, stat.meta.ctime_ns);
                    std::io::Result::Ok((dir, stat.id(), times))
                })
                .collect();
            for (folder, seen) in folders.iter().zip(seen) {
                let is_same = match seen {
                    Ok((dir, id, now)) => {
                        looker.inside.insert(id);
                        has_only_listed_emptiness(&dir, folder, places)?
                            && (folder.times == Some(now) || has_listed_names(dir, folder, places)?)
                    }
                    Err(_) => false,
                };
                changed += u64::from(!is_same);
            }
        }
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

/// Whether the files that were empty still are. They are not compared, so one
/// that got content would be lost.
fn has_only_listed_emptiness(
    dir: &Dir,
    folder: &DiffFolder,
    places: &PlaceDiff,
) -> Result<bool, CatalogError> {
    let names = places.catalog().empty_files_of(folder.id)?;
    Ok(names
        .iter()
        .all(|name| match dir.stat_entry(name, Links::Refuse) {
            Ok(stat) => stat.kind == EntryKind::File && stat.meta.size == 0,
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }))
}

/// Whether a folder whose times moved, or were too fresh to prove anything,
/// contains exactly the files and folders that were listed. Together with the
/// states of the files, that says as much as its times would.
fn has_listed_names(
    mut dir: Dir,
    folder: &DiffFolder,
    places: &PlaceDiff,
) -> Result<bool, CatalogError> {
    let names = places.catalog().live_names(folder.id)?;
    let known: HashSet<OsString> = names.into_iter().collect();
    Ok(has_names(&mut dir, &known).unwrap_or(false))
}

fn has_names(dir: &mut Dir, known: &HashSet<OsString>) -> std::io::Result<bool> {
    let mut found = 0;
    let mut entries = Entries::of(dir)?;
    while let Some(entry) = entries.next().transpose()? {
        if known.contains(&*entry.name) {
            found += 1;
            continue;
        }
        let kind = match entry.kind_hint {
            Some(kind) => kind,
            None => {
                let stat = entries.dir().stat_entry(&entry.name, Links::Refuse)?;
                stat.kind
            }
        };
        if matches!(kind, EntryKind::File | EntryKind::Folder) {
            return Ok(false);
        }
    }
    Ok(found == known.len())
}
