//! Importing a plan: each row that someone else decided about is checked, and
//! what holds becomes a new plan.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::PlanRequest;
use super::check::{Check, Checked};
use super::lookup::Lookup;
use super::measure::measure;
use crate::access::Checker;
use crate::act::progress::ActProgress;
use crate::catalog::{CatalogError, Exclusive, GroupList, ReadOnly};
use crate::model::{Digest, Group, KeepOrder, PlanId, PlanTotals, PlannedGroup, Reclaimable};

/// Groups that are looked up in one pass over the catalog.
const PAGE: usize = 16 << 10;

/// A plan that was imported.
#[derive(Debug, Default)]
pub struct PlanImported {
    /// Its number; `None` where no row holds, and no plan is stored.
    pub id: Option<PlanId>,
    /// Its totals.
    pub totals: PlanTotals,
    /// What carrying it out gives back.
    pub reclaimable: Reclaimable,
    /// The rows that are refused.
    pub refused: Vec<RefusedRow>,
}

/// A row that is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRow {
    /// The number of its group among those that were given, from 1.
    pub group: u64,
    /// The first name of the copy.
    pub path: PathBuf,
    /// Why, in words.
    pub reason: String,
}

impl RefusedRow {
    /// Rows that are refused for the same reason with others of their group, said
    /// once: the first of them, and how many follow it.
    pub fn together(rows: &[Self]) -> impl Iterator<Item = (&Self, usize)> {
        let is_same = |a: &Self, b: &Self| (a.group, &a.reason) == (b.group, &b.reason);
        rows.chunk_by(is_same)
            .map(|same| (&same[0], same.len() - 1))
    }
}

/// Checks groups, and stores those rows of them that hold as a new plan. If `next`
/// fails, nothing is stored.
pub fn import_plan<E: From<CatalogError>>(
    catalog: &mut Exclusive,
    request: &PlanRequest,
    next: &mut dyn FnMut() -> Result<Option<PlannedGroup>, E>,
) -> Result<PlanImported, E> {
    let reader = catalog.reader()?;
    let checker = Checker::of(&reader)?;
    let (scope, limits, order) = (request.scope(), request.limits(), KeepOrder::default());
    let lookup = Lookup::new(&reader, &scope, &order)?;
    let mut check = Check::new(&reader, &checker, lookup, &limits)?;
    let mut imported = PlanImported::default();
    let mut contents = HashSet::new();
    let mut writer = catalog.begin_plan(request.action, &request.options)?;
    let mut number = 0;
    let mut is_end = false;
    while !is_end {
        let mut page = Vec::new();
        while !is_end && page.len() < PAGE {
            let group = next()?;
            is_end = group.is_none();
            page.extend(group);
        }
        let mut known = groups_of(&reader, request, &page)?;
        for group in &page {
            number += 1;
            let content = (group.digest, group.size);
            let checked = match contents.insert(content) {
                true => check.group(group, known.remove(&content))?,
                false => refused(group, "its content has a line of its own before this one"),
            };
            imported.refused.extend(
                checked
                    .refused
                    .into_iter()
                    .map(|(path, reason)| RefusedRow {
                        group: number,
                        path,
                        reason,
                    }),
            );
            if let Some(group) = checked.group {
                imported.totals.add(group.totals());
                writer.add(&group)?;
            }
        }
    }
    if imported.totals.groups > 0 {
        let id = writer.finish()?;
        imported.id = Some(id);
        imported.reclaimable = measure(catalog, id, &ActProgress::default())?;
    }
    Ok(imported)
}

/// The groups of the catalog with the contents of these.
pub(crate) fn groups_of(
    catalog: &ReadOnly,
    request: &PlanRequest,
    wanted: &[PlannedGroup],
) -> Result<HashMap<(Digest, u64), Group>, CatalogError> {
    let contents: HashSet<_> = wanted
        .iter()
        .map(|group| (group.digest, group.size))
        .collect();
    let contents: Vec<_> = contents.into_iter().collect();
    let mut list = GroupList::of_contents(catalog.sibling()?, request.filter(), &contents)?;
    let mut known = HashMap::new();
    while let Some(group) = list.next_group()? {
        known.insert((group.digest, group.size), group);
    }
    Ok(known)
}

/// A group of which nothing is taken.
fn refused(group: &PlannedGroup, reason: &str) -> Checked {
    let copies = group.copies.iter();
    Checked {
        group: None,
        refused: copies
            .map(|planned| (planned.copy.path.clone(), reason.to_owned()))
            .collect(),
    }
}
