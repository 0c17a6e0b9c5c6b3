//! Looks at every file of one side, and at its copies on the other, as they are
//! now.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;

use rayon::prelude::*;

use super::place::Place;
use crate::access::{Checker, Look};
use crate::catalog::{CatalogError, DiffFile, DiffFolder, DiffMatch, PlaceDiff, Unresolved};
use crate::cli::session::Writing;
use crate::model::TOO_YOUNG;
use crate::platform::{Dir, Entries, EntryKind, FileId, Links};
use crate::report::Cell;

/// Copies of a file that are looked at together.
const FEW: u32 = 4;
/// What is said of a file whose content no longer matches its digest.
const ROTTEN: &str = "corrupted (bit rot, see `dupescan audit`)";

/// Files and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl Tally {
    fn add(&mut self, size: u64) {
        self.files += 1;
        self.bytes += size;
    }
}

/// What the files of one side are, seen from the other.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) duplicate: Tally,
    /// Files that the other side does not have.
    pub(crate) only: Tally,
    pub(crate) undetermined: Tally,
    /// Folders that changed since they were listed.
    pub(crate) changed_folders: u64,
    /// Why files count as only on this side although they seem to have a copy.
    pub(crate) why_only: BTreeMap<String, u64>,
    /// Why files are unchecked.
    pub(crate) why_undetermined: BTreeMap<String, u64>,
}

/// What a copy on the other side proves; of several, the first in this order
/// counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Copy {
    /// It has the content.
    Proof,
    /// It was read too shortly after its last change to prove anything.
    Fresh,
    Offline,
    Rotten,
    Changed,
    Gone,
    Unseen(String),
    /// It is the file itself by another path.
    Itself,
}

/// What one file is.
enum Verdict {
    Duplicate,
    /// Nothing on the other side has its content; elsewhere there may be.
    Only(Option<String>),
    Undetermined(String),
}

impl Comparison {
    /// Compares, and writes a row for every file that is not on the other
    /// side for certain.
    pub(crate) fn run(
        sides: &mut PlaceDiff,
        from: &Place,
        to: &Place,
        answer: &mut Writing<'_, '_>,
    ) -> anyhow::Result<Self> {
        let looking = Looking {
            checker: Checker::new(sides.catalog().roots()?),
            from: from.letter,
            to: to.letter,
        };
        let mut found = Self::default();
        let inside = looking.folders(sides, &mut found)?;
        loop {
            let files = sides.next_files()?;
            if files.is_empty() {
                return Ok(found);
            }
            let verdicts = looking.judge_page(sides, &files, &inside)?;
            for (file, verdict) in files.iter().zip(verdicts) {
                found.count(file, &verdict);
                if let Some(row) = row(from, file, &verdict) {
                    answer.row(&row)?;
                }
            }
        }
    }

    /// All files.
    pub(crate) fn all(&self) -> Tally {
        Tally {
            files: self.duplicate.files + self.only.files + self.undetermined.files,
            bytes: self.duplicate.bytes + self.only.bytes + self.undetermined.bytes,
        }
    }

    fn count(&mut self, file: &DiffFile, verdict: &Verdict) {
        let (tally, reasons, reason) = match verdict {
            Verdict::Duplicate => return self.duplicate.add(file.state.size),
            Verdict::Only(reason) => (&mut self.only, &mut self.why_only, reason.as_ref()),
            Verdict::Undetermined(reason) => (
                &mut self.undetermined,
                &mut self.why_undetermined,
                Some(reason),
            ),
        };
        tally.add(file.state.size);
        if let Some(reason) = reason {
            *reasons.entry(reason.clone()).or_default() += 1;
        }
    }
}

fn row(from: &Place, file: &DiffFile, verdict: &Verdict) -> Option<[Cell; 6]> {
    let (answer, reason) = match verdict {
        Verdict::Duplicate => return None,
        Verdict::Only(reason) => (format!("only in {}", from.letter), reason.clone()),
        Verdict::Undetermined(reason) => ("unchecked".to_owned(), Some(reason.clone())),
    };
    Some([
        Cell::text(from.letter.to_lowercase()),
        Cell::text(answer),
        Cell::Size(file.state.size),
        Cell::FileTime(file.state.mtime_ns),
        Cell::Path(file.path.clone()),
        reason.map_or(Cell::Nothing, Cell::text),
    ])
}

/// Looks from one side to the other.
struct Looking {
    checker: Checker,
    from: &'static str,
    to: &'static str,
}

impl Looking {
    /// Looks at all folders of the one side: counts those that changed, and
    /// returns which folders they are. A name in one of them, by whatever path
    /// (bind mount, link), goes when the side goes.
    fn folders(
        &self,
        sides: &mut PlaceDiff,
        found: &mut Comparison,
    ) -> Result<HashSet<FileId>, CatalogError> {
        let mut inside = HashSet::new();
        loop {
            let folders = sides.next_folders()?;
            if folders.is_empty() {
                return Ok(inside);
            }
            let seen: Vec<_> = folders
                .par_iter()
                .map(|folder| {
                    let dir = self.checker.open_folder(&folder.path)?;
                    let stat = dir.stat()?;
                    let times = (stat.meta.mtime_ns, stat.meta.ctime_ns);
                    std::io::Result::Ok((dir, stat.id(), times))
                })
                .collect();
            for (folder, seen) in folders.iter().zip(seen) {
                let is_same = match (seen, folder.times) {
                    (Ok((dir, id, now)), then) => {
                        inside.insert(id);
                        has_only_listed_emptiness(&dir, folder, sides)?
                            && (then == Some(now) || has_listed_names(dir, folder, sides)?)
                    }
                    (Err(_), _) => false,
                };
                found.changed_folders += u64::from(!is_same);
            }
        }
    }

    fn judge_page(
        &self,
        sides: &mut PlaceDiff,
        files: &[DiffFile],
        inside: &HashSet<FileId>,
    ) -> Result<Vec<Verdict>, CatalogError> {
        let matches: Vec<Vec<DiffMatch>> = files
            .iter()
            .map(|file| sides.matches(file, None, FEW))
            .collect::<Result<_, _>>()?;
        let looks: Vec<(Look, Vec<Copy>)> = files
            .par_iter()
            .zip(&matches)
            .map(|(file, matches)| {
                let own = self.checker.look(&file.path, &file.state);
                let others = matches.iter().map(|found| self.other(found, inside));
                (own, others.collect())
            })
            .collect();
        let mut verdicts = Vec::with_capacity(files.len());
        for ((file, mut matches), (own, mut others)) in files.iter().zip(matches).zip(looks) {
            // A few are nearly always enough; without proof, look at all.
            while matches.len() == FEW as usize && !others.contains(&Copy::Proof) {
                matches = sides.matches(file, matches.last(), FEW)?;
                others.extend(matches.iter().map(|found| self.other(found, inside)));
            }
            verdicts.push(self.judge(file, &own, &others));
        }
        Ok(verdicts)
    }

    fn other(&self, found: &DiffMatch, inside: &HashSet<FileId>) -> Copy {
        match self.checker.look_outside(&found.path, &found.state, inside) {
            Look::Same if found.is_corrupted => Copy::Rotten,
            Look::Same if found.racy => Copy::Fresh,
            Look::Same => Copy::Proof,
            Look::Gone if !self.checker.is_online(&found.path) => Copy::Offline,
            Look::Changed => Copy::Changed,
            Look::Gone => Copy::Gone,
            Look::Failed(why) => Copy::Unseen(why),
            Look::Elsewhere => Copy::Itself,
        }
    }

    fn judge(&self, file: &DiffFile, own: &Look, others: &[Copy]) -> Verdict {
        let (from, to) = (self.from, self.to);
        let undetermined = |why: &str| Verdict::Undetermined(why.to_owned());
        match own {
            Look::Same => {}
            Look::Changed | Look::Elsewhere => return undetermined("changed since the scan"),
            Look::Gone if !self.checker.is_online(&file.path) => {
                return Verdict::Undetermined(format!("{from} is offline"));
            }
            Look::Gone => return undetermined("missing"),
            Look::Failed(why) => return Verdict::Undetermined(format!("cannot check it: {why}")),
        }
        if file.is_corrupted {
            return undetermined(ROTTEN);
        }
        let its_copy = |state: &str| undetermined(&format!("its copy in {to} {state}"));
        match others.iter().min() {
            Some(Copy::Proof) if file.racy => return undetermined(&scanned_too_young()),
            Some(Copy::Proof) => return Verdict::Duplicate,
            Some(Copy::Fresh) => return its_copy(&format!("was {}", scanned_too_young())),
            Some(Copy::Offline) => return its_copy("is offline"),
            Some(Copy::Rotten) => return its_copy(&format!("is {ROTTEN}")),
            Some(Copy::Changed) => return its_copy("changed since the scan"),
            Some(Copy::Gone) => return its_copy("is missing"),
            Some(Copy::Unseen(why)) => return its_copy(&format!("cannot be checked: {why}")),
            Some(Copy::Itself) | None => {}
        }
        match file.unresolved {
            Some(Unresolved::NotRead) => {
                Verdict::Undetermined(format!("not read, and {to} has a file of the same size"))
            }
            Some(Unresolved::PartnerNotRead) => {
                Verdict::Undetermined(format!("a file of the same size in {to} was not read"))
            }
            None if others.is_empty() => Verdict::Only(None),
            None => Verdict::Only(Some(format!("in {to} only as another path into {from}"))),
        }
    }
}

/// Why a file may have changed although its times have not.
fn scanned_too_young() -> String {
    let span = TOO_YOUNG.as_secs();
    format!("scanned less than {span} s after its last change: scan again")
}

/// Whether the files that were empty still are. They are not compared, so one
/// that got content would be lost.
fn has_only_listed_emptiness(
    dir: &Dir,
    folder: &DiffFolder,
    sides: &PlaceDiff,
) -> Result<bool, CatalogError> {
    let names = sides.catalog().empty_files_of(folder.id)?;
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
    sides: &PlaceDiff,
) -> Result<bool, CatalogError> {
    let names = sides.catalog().live_names(folder.id)?;
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
                let stat = entries
                    .dir()
                    .stat_entry(&entry.name, crate::platform::Links::Refuse)?;
                stat.kind
            }
        };
        if matches!(kind, EntryKind::File | EntryKind::Folder) {
            return Ok(false);
        }
    }
    Ok(found == known.len())
}
