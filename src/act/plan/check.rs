//! Checking what someone else decided: a plan from a file, or one that was
//! changed by hand. A row only says which copy it means and what is to happen to
//! it; everything that is stored comes from the catalog, as the disk is now.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::choose::Limits;
use super::lookup::Lookup;
use crate::access::Checker;
use crate::catalog::{CatalogError, ReadOnly};
use crate::model::{CopyEntry, Group, PlannedCopy, PlannedGroup, Role, is_trash};

/// What was made of a group that someone else decided about.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// The rows that hold; `None` where nothing would go.
    pub(crate) group: Option<PlannedGroup>,
    /// The first name of each copy that is refused, with the reason.
    pub(crate) refused: Vec<(PathBuf, String)>,
}

/// A group as the catalog has it, and those of its copies that are on the disk as
/// they were scanned.
struct Known {
    /// By each of their names.
    copies: HashMap<PathBuf, Rc<CopyEntry>>,
    /// By the first of their names.
    now: HashMap<PathBuf, CopyEntry>,
}

impl Known {
    fn of(group: Option<Group>, checker: &Checker) -> Self {
        let mut copies = HashMap::new();
        for copy in group.iter().flat_map(|group| &group.copies) {
            let copy = Rc::new(copy.clone());
            copies.extend(copy.names().map(|name| (name.clone(), Rc::clone(&copy))));
        }
        let now = group.map_or_else(Vec::new, |group| checker.current(group).copies);
        Self {
            copies,
            now: now
                .into_iter()
                .map(|copy| (copy.path.clone(), copy))
                .collect(),
        }
    }
}

/// Checks groups against the catalog, the disk, and the limits of a plan.
pub(crate) struct Check<'c> {
    catalog: &'c ReadOnly,
    checker: &'c Checker,
    lookup: Lookup<'c>,
    limits: &'c Limits,
    roots: Vec<PathBuf>,
}

impl<'c> Check<'c> {
    pub(crate) fn new(
        catalog: &'c ReadOnly,
        checker: &'c Checker,
        lookup: Lookup<'c>,
        limits: &'c Limits,
    ) -> Result<Self, CatalogError> {
        let roots = catalog.roots()?.into_iter().map(|root| root.path);
        Ok(Self {
            roots: roots.collect(),
            catalog,
            checker,
            lookup,
            limits,
        })
    }

    /// Checks a group; `known` is the group of its content, if the catalog has
    /// one that the filters of the plan want.
    pub(crate) fn group(
        &mut self,
        wanted: &PlannedGroup,
        known: Option<Group>,
    ) -> Result<Checked, CatalogError> {
        let known = Known::of(known, self.checker);
        let mut checked = Checked::default();
        let mut copies: Vec<(&Path, PlannedCopy)> = Vec::new();
        for row in &wanted.copies {
            let typed = row.copy.path.as_path();
            match self.copy(row, wanted, &known)? {
                Ok(copy) => copies.push((
                    typed,
                    PlannedCopy {
                        role: row.role,
                        copy,
                    },
                )),
                Err(reason) => checked.refused.push((typed.to_owned(), reason)),
            }
        }
        refuse_repeated(&mut copies, &mut checked.refused);
        let (typed, mut copies): (Vec<&Path>, Vec<PlannedCopy>) = copies.into_iter().unzip();
        if let Some(reason) = self.broken_limit(&copies) {
            for (typed, _) in typed
                .into_iter()
                .zip(copies.drain(..))
                .filter(|(_, one)| one.role == Role::Act)
            {
                checked.refused.push((typed.to_owned(), reason.to_owned()));
            }
        }
        copies.sort_by_key(|planned| planned.role);
        let acts = copies.iter().any(|planned| planned.role == Role::Act);
        checked.group = acts.then_some(PlannedGroup { copies, ..*wanted });
        Ok(checked)
    }

    /// The group with the copy of this name kept, and as many as possible of those
    /// that were kept instead of it going.
    pub(crate) fn keep_instead(
        &mut self,
        group: &PlannedGroup,
        path: &Path,
        known: Option<&Group>,
    ) -> Result<PlannedGroup, CatalogError> {
        let mut group = group.clone();
        let mut before = Vec::new();
        let known = known.map_or_else(HashMap::new, |group| {
            let copies = group.copies.iter();
            copies.map(|copy| (copy.path.as_path(), copy)).collect()
        });
        for (at, planned) in group.copies.iter_mut().enumerate() {
            if planned.copy.names().any(|name| name == path) {
                planned.role = Role::Keep;
            } else if planned.role == Role::Keep {
                let candidate = match known.get(planned.copy.path.as_path()) {
                    Some(copy) => self.lookup.candidate((*copy).clone())?,
                    None => None,
                };
                if candidate.is_some_and(|candidate| candidate.spared.is_none()) {
                    before.push(at);
                }
            }
        }
        // The copies that were kept first stay longest.
        for at in before.into_iter().rev() {
            group.copies[at].role = Role::Act;
            if self.broken_limit(&group.copies).is_some() {
                group.copies[at].role = Role::Keep;
            }
        }
        Ok(group)
    }

    /// The copy that a row means, or why the row is refused.
    fn copy(
        &mut self,
        row: &PlannedCopy,
        group: &PlannedGroup,
        known: &Known,
    ) -> Result<Result<CopyEntry, String>, CatalogError> {
        let Some(copy) = known.copies.get(&row.copy.path) else {
            return Ok(Err(self.why_unknown(row, group)?));
        };
        if !is_same_state(&row.copy, copy) {
            return Ok(Err("a newer scan found that it has changed".to_owned()));
        }
        let names: BTreeSet<&PathBuf> = row.copy.names().collect();
        if names != copy.names().collect() {
            return Ok(Err(
                "it has other names (hard links) than these: all of them or none".to_owned(),
            ));
        }
        let now = known.now.get(&copy.path);
        let Some(now) = now.filter(|now| now.links == copy.links) else {
            return Ok(Err(
                "it is offline, or has changed since the scan".to_owned()
            ));
        };
        let Some(candidate) = self.lookup.candidate(now.clone())? else {
            return Ok(Err("it is outside the folders of the plan".to_owned()));
        };
        Ok(match (row.role, candidate.spared) {
            (Role::Act, Some(reason)) => Err(format!("it cannot go: {}", reason.words())),
            (Role::Keep, _) if !candidate.may_keep => Err(
                "it cannot stand for the others: it is outside the folders of the plan, in a tree \
                 that belongs to a program, or where files cannot be told apart reliably"
                    .to_owned(),
            ),
            _ => Ok(candidate.copy),
        })
    }

    /// Why a path leads to no copy of the group.
    fn why_unknown(&self, row: &PlannedCopy, group: &PlannedGroup) -> Result<String, CatalogError> {
        let path = &row.copy.path;
        if path.iter().any(is_trash) {
            return Ok("it is in a trash folder".to_owned());
        }
        if !self.roots.iter().any(|root| path.starts_with(root)) {
            return Ok("it is outside the folders that were scanned".to_owned());
        }
        let Some(file) = self.catalog.current_file(path)? else {
            return Ok("the catalog knows no such file, or does not compare it".to_owned());
        };
        let reason = match file.digest {
            _ if file.is_corrupted => "it is corrupted",
            None => "it has not been read by a scan",
            Some(digest) if digest != group.digest || file.state.size != group.size => {
                "the catalog knows it with another content"
            }
            Some(_) => "nothing equals it any more, or the filters of the plan exclude it",
        };
        Ok(reason.to_owned())
    }

    /// Why nothing of a group may go, if what stays is too little.
    fn broken_limit(&self, copies: &[PlannedCopy]) -> Option<&'static str> {
        let with = |role| {
            let copies = copies.iter().filter(move |one| one.role == role);
            copies.map(|one| &one.copy)
        };
        let units: BTreeSet<&Path> = with(Role::Keep).map(|kept| self.unit(kept)).collect();
        let mut on_volume: BTreeMap<&str, u64> = BTreeMap::new();
        for kept in with(Role::Keep) {
            *on_volume.entry(&kept.volume).or_default() += 1;
        }
        let is_bare = |copy: &CopyEntry| {
            let kept = on_volume.get(copy.volume.as_str());
            kept.copied().unwrap_or(0) < self.limits.per_volume
        };
        let splits_unit =
            |copy: &CopyEntry| self.unit(copy) != copy.path && units.contains(self.unit(copy));
        if units.is_empty() {
            return Some("no copy would stay that it can be compared with");
        }
        if (units.len() as u64) < self.limits.copies {
            return Some("fewer copies would stay than the plan asks for (--copies)");
        }
        if with(Role::Act).any(is_bare) {
            return Some("fewer copies would stay on its volume than asked for (--per-volume)");
        }
        with(Role::Act)
            .any(splits_unit)
            .then_some("another copy in the same folder would stay (--isolate)")
    }

    /// The folder that counts as one copy with all that is in it, or the copy.
    fn unit<'p>(&'p self, copy: &'p CopyEntry) -> &'p Path {
        let mut folders = self.limits.isolate.iter();
        let folder = folders.find(|folder| copy.path.starts_with(folder));
        folder.map_or(&copy.path, PathBuf::as_path)
    }
}

/// A copy that is listed twice may be meant to stay and to go: nothing is done
/// with it.
fn refuse_repeated(copies: &mut Vec<(&Path, PlannedCopy)>, refused: &mut Vec<(PathBuf, String)>) {
    let mut times: HashMap<PathBuf, u64> = HashMap::new();
    for (_, one) in &*copies {
        *times.entry(one.copy.path.clone()).or_default() += 1;
    }
    copies.retain(|(typed, one)| {
        let is_once = times.get(&one.copy.path) == Some(&1);
        if !is_once {
            refused.push((
                (*typed).to_owned(),
                "it is listed more than once".to_owned(),
            ));
        }
        is_once
    });
}

fn is_same_state(row: &CopyEntry, known: &CopyEntry) -> bool {
    let state = |copy: &CopyEntry| (copy.inode, copy.mtime_ns, copy.ctime_ns);
    state(row) == state(known) && row.volume == known.volume
}
