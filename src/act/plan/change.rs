//! Changing a plan that nothing was done of yet. A group of which anything more
//! than before could go is checked again, against the catalog and the disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::PlanRequest;
use super::check::Check;
use super::import::{RefusedRow, groups_of};
use super::lookup::Lookup;
use super::measure::measure;
use crate::access::Checker;
use crate::act::progress::ActProgress;
use crate::catalog::{CatalogError, Exclusive, ReadOnly};
use crate::model::{KeepOrder, PlanId, PlannedGroup, Role};

/// Groups that are read from a plan at a time: those that change are looked up in
/// one pass over the catalog.
const PAGE: u32 = 16 << 10;

/// What a change makes of a group of a plan.
#[derive(Debug)]
pub enum GroupChange {
    /// Copies have another role, or are no longer in it.
    To(PlannedGroup),
    /// The copy with this name is kept, instead of others as far as that is allowed.
    KeepInstead(PathBuf),
}

/// What a change did.
#[derive(Debug, Default)]
pub struct PlanChanged {
    /// Names that were to go, and now stay as the copy to compare with.
    pub kept: u64,
    /// Names that were to stay, and now go.
    pub go: u64,
    /// Names that are no longer in the plan.
    pub left_alone: u64,
    /// Rows for which the change is refused; if there are any, nothing was changed.
    pub refused: Vec<RefusedRow>,
    /// Whether the plan has been applied, so that nothing was changed.
    pub is_applied: bool,
}

/// Changes groups of a plan, given by their numbers: all of them, or none.
pub fn change_plan(
    catalog: &mut Exclusive,
    (plan, request): (PlanId, &PlanRequest),
    mut changes: BTreeMap<u64, GroupChange>,
) -> Result<PlanChanged, CatalogError> {
    let reader = catalog.reader()?;
    let checker = Checker::of(&reader)?;
    let (scope, limits, order) = (request.scope(), request.limits(), KeepOrder::default());
    let lookup = Lookup::new(&reader, &scope, &order)?;
    let mut check = Check::new(&reader, &checker, lookup, &limits)?;
    let mut changed = PlanChanged::default();
    let mut groups = Vec::new();
    let mut after = 0;
    while !changes.is_empty() {
        let page = reader.plan_groups(plan, after, PAGE)?;
        let Some(last) = page.last() else {
            break;
        };
        after = last.number;
        let pending = page.into_iter().filter_map(|before| {
            let change = changes.remove(&before.number)?;
            Some((before, change))
        });
        let pending = pending.collect();
        groups.extend(settle(&reader, request, &mut check, pending, &mut changed)?);
    }
    if changed.refused.is_empty() && !groups.is_empty() {
        changed.is_applied = !catalog.change_plan(plan, &groups)?;
        if !changed.is_applied {
            measure(catalog, plan, &ActProgress::default())?;
        }
    }
    Ok(changed)
}

/// The groups as they are to be stored. What is refused is noted.
fn settle(
    catalog: &ReadOnly,
    request: &PlanRequest,
    check: &mut Check<'_>,
    pending: Vec<(PlannedGroup, GroupChange)>,
    changed: &mut PlanChanged,
) -> Result<Vec<PlannedGroup>, CatalogError> {
    if pending.is_empty() {
        return Ok(Vec::new());
    }
    let befores: Vec<PlannedGroup> = pending.iter().map(|(before, _)| before.clone()).collect();
    let mut known = groups_of(catalog, request, &befores)?;
    let mut settled = Vec::new();
    for (before, change) in pending {
        let content = known.remove(&(before.digest, before.size));
        let wanted = match change {
            GroupChange::To(group) => group,
            GroupChange::KeepInstead(path) => {
                check.keep_instead(&before, &path, content.as_ref())?
            }
        };
        let after = match is_less(&before, &wanted) {
            true => wanted,
            false => {
                let checked = check.group(&wanted, content)?;
                let refused = checked.refused.into_iter();
                changed
                    .refused
                    .extend(refused.map(|(path, reason)| RefusedRow {
                        group: before.number,
                        path,
                        reason,
                    }));
                checked.group.unwrap_or(PlannedGroup {
                    copies: Vec::new(),
                    ..wanted
                })
            }
        };
        changed.count(&before, &after);
        settled.push(after);
    }
    Ok(settled)
}

/// The roles of the copies, by path.
fn roles(group: &PlannedGroup) -> BTreeMap<&Path, Role> {
    let copies = group.copies.iter();
    copies
        .map(|one| (one.copy.path.as_path(), one.role))
        .collect()
}

/// Whether all that a change does is to leave copies alone that were to go.
fn is_less(before: &PlannedGroup, after: &PlannedGroup) -> bool {
    let (before, after) = (roles(before), roles(after));
    let stays = |(path, role): (&&Path, &Role)| *role == Role::Act || after.contains_key(*path);
    after
        .iter()
        .all(|(path, role)| before.get(path) == Some(role))
        && before.iter().all(stays)
}

impl PlanChanged {
    fn count(&mut self, before: &PlannedGroup, after: &PlannedGroup) {
        let after = roles(after);
        for planned in &before.copies {
            let names = planned.copy.names().count() as u64;
            match (planned.role, after.get(planned.copy.path.as_path())) {
                (Role::Act, Some(Role::Keep)) => self.kept += names,
                (Role::Keep, Some(Role::Act)) => self.go += names,
                // A group of which nothing goes is no longer in the plan.
                (Role::Act, None) => self.left_alone += names,
                _ => {}
            }
        }
    }
}
