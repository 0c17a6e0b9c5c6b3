//! Duplicate groups as they are now: without the copies that are offline,
//! missing or changed since the scan.

use std::path::PathBuf;

use crate::access::Checker;
use crate::catalog::{
    CatalogError, GroupFilter, GroupList, ReadOnly, Whereabouts, folder_of, wants_places,
};
use crate::model::{CopyEntry, Group, KeepOrder, ScanId, Totals};

/// The groups of a report, one after the other.
pub(crate) struct Groups {
    list: GroupList,
    check: Option<Check>,
    marking: Option<Marking>,
    /// The groups returned so far.
    shown: Totals,
    skipped: Skipped,
}

/// What the limit and the check kept out of a report.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Skipped {
    /// Groups beyond the limit; not known with a check.
    pub(crate) groups: u64,
    /// Copies whose root is offline.
    pub(crate) offline: u64,
    /// Copies that are missing or changed since the scan.
    pub(crate) outdated: u64,
    /// Whether the limit was reached before all groups were checked.
    pub(crate) is_cut: bool,
}

/// What must hold for the copies of a group that are still there.
struct Check {
    checker: Checker,
    min_count: u64,
    below: Vec<PathBuf>,
    across: bool,
    /// The limit is on groups that pass.
    limit: Option<u64>,
}

impl Groups {
    /// The groups that the filter wants; with `check`, as they are now.
    pub(crate) fn new(
        catalog: ReadOnly,
        mut filter: GroupFilter,
        check: bool,
    ) -> Result<Self, CatalogError> {
        let check = match check {
            true => Some(Check {
                checker: Checker::of(&catalog)?,
                min_count: filter.min_count,
                below: filter.below.clone(),
                across: filter.across,
                limit: filter.limit.take(),
            }),
            false => None,
        };
        Ok(Self {
            list: GroupList::build(catalog, filter)?,
            check,
            marking: None,
            shown: Totals::default(),
            skipped: Skipped::default(),
        })
    }

    /// Marks the copy of each group that comes first in an order.
    pub(crate) fn marking(mut self, catalog: ReadOnly, order: KeepOrder) -> Self {
        self.marking = Some(Marking { catalog, order });
        self
    }

    pub(crate) fn next_group(&mut self) -> Result<Option<Group>, CatalogError> {
        while let Some(group) = self.list.next_group()? {
            let group = match &self.check {
                Some(check) if check.limit == Some(self.shown.groups) => {
                    self.skipped.is_cut = true;
                    return Ok(None);
                }
                Some(check) => check.current(group, &mut self.skipped),
                None => Some(group),
            };
            if let Some(mut group) = group {
                if let Some(marking) = &self.marking {
                    group.kept = marking.kept(&group.copies)?;
                }
                self.shown.groups += 1;
                self.shown.copies += group.copies.len() as u64;
                let reclaimable = self.shown.reclaimable;
                self.shown.reclaimable = reclaimable.saturating_add(group.reclaimable());
                return Ok(Some(group));
            }
        }
        Ok(None)
    }

    /// The sums under the report, once it is at its end, and what it skipped.
    pub(crate) fn end(self) -> (Totals, Skipped) {
        let all = self.list.totals();
        let totals = match self.check {
            Some(_) => Totals {
                unchecked: all.unchecked,
                ..self.shown
            },
            None => all,
        };
        let skipped = Skipped {
            groups: totals.groups - self.shown.groups,
            ..self.skipped
        };
        (totals, skipped)
    }
}

/// The order that marks the copy to keep.
struct Marking {
    catalog: ReadOnly,
    order: KeepOrder,
}

impl Marking {
    fn kept(&self, copies: &[CopyEntry]) -> Result<Option<usize>, CatalogError> {
        let mut best = None;
        for (at, copy) in copies.iter().enumerate() {
            let place = self.order.place(copy, self.first_scan(copy)?);
            let is_better = best.as_ref().is_none_or(|(known, _)| place < *known);
            if is_better {
                best = Some((place, at));
            }
        }
        Ok(best.map(|(_, at)| at))
    }

    /// The scan that found a copy, where a rule asks.
    fn first_scan(&self, copy: &CopyEntry) -> Result<ScanId, CatalogError> {
        let row = match self.order.wants_first_scan() {
            true => self.catalog.current_file(&copy.path)?,
            false => None,
        };
        Ok(row.map_or(ScanId(0), |row| row.first_scan))
    }
}

impl Check {
    /// The group without the copies that are not as they were, if it is still
    /// wanted then.
    fn current(&self, group: Group, skipped: &mut Skipped) -> Option<Group> {
        let copies = group.copies.len() as u64;
        let is_offline = |copy: &&CopyEntry| !copy.names().any(|name| self.checker.is_online(name));
        let offline = group.copies.iter().filter(is_offline).count() as u64;
        let group = self.checker.current(group);
        skipped.offline += offline;
        skipped.outdated += copies - offline - group.copies.len() as u64;
        self.is_wanted(&group).then_some(group)
    }

    /// The filter must still hold for the copies that passed the check.
    fn is_wanted(&self, group: &Group) -> bool {
        let first_root = group.copies.first().map(|copy| &copy.root);
        let names = group.copies.iter().flat_map(CopyEntry::names);
        let places = names.map(|path| Whereabouts {
            // Whether it is the first one is all that matters.
            root: first_root.is_some_and(|root| path.starts_with(root)),
            folder: folder_of(&self.below, path),
        });
        group.copies.len() as u64 >= self.min_count
            && wants_places(self.across, &self.below, places)
    }
}
