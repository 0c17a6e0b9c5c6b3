//! Making a plan: every group that the filter wants, as it is on the disk now,
//! with what happens to each of its copies.

mod change;
mod check;
mod choose;
mod import;
mod lookup;
mod measure;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use change::{GroupChange, PlanChanged, change_plan};
pub use choose::Spared;
pub use import::{PlanImported, RefusedRow, import_plan};

use choose::{Candidate, Chosen, Limits, choose};
use lookup::{Lookup, Scope};
use measure::measure;

use crate::access::Checker;
use crate::act::progress::ActProgress;
use crate::catalog::{
    CatalogError, Exclusive, GroupFilter, GroupList, Whereabouts, folder_of, wants_places,
};
use crate::model::{
    Action, Globs, Group, KeepOrder, KeepRule, PlanId, PlanOptions, PlanTotals, PlannedCopy,
    PlannedGroup, Reclaimable, Role,
};
use crate::pool::Shutdown;

/// Groups that a summary names.
const LARGEST: usize = 10;

/// What a plan is made of.
pub struct PlanRequest {
    /// What happens to the copies that go.
    pub action: Action,
    /// How it was asked for.
    pub options: PlanOptions,
    /// Which copies stay, as the options say; the first difference decides.
    pub rules: Vec<KeepRule>,
    /// Files that take no part, as the options say.
    pub exclude: Globs,
    /// Folders that no plan touches.
    pub protected: Vec<PathBuf>,
}

impl PlanRequest {
    /// How many copies stay.
    fn limits(&self) -> Limits {
        let PlanOptions {
            copies,
            per_volume,
            isolate,
            skip_ties,
            ..
        } = self.options;
        Limits {
            copies,
            per_volume,
            isolate: match isolate {
                true => self.options.paths.clone(),
                false => Vec::new(),
            },
            skip_ties,
        }
    }

    /// Which copies take part.
    fn scope(&self) -> Scope {
        let own = self.options.protect.iter();
        Scope {
            within: self.options.paths.clone(),
            from: self.options.from.clone(),
            matching: self.options.matching.clone(),
            protected: own.chain(&self.protected).cloned().collect(),
            include_guarded: self.options.include_guarded,
        }
    }

    /// Whether a group is wanted with those of its copies that are still there.
    fn wants(&self, group: &Group) -> bool {
        let below = &self.options.paths;
        let places = group.copies.iter().map(|copy| Whereabouts {
            root: copy.root.as_path(),
            folder: folder_of(below, &copy.path),
        });
        !self.options.across || wants_places(true, below, places)
    }

    /// Which groups are looked at.
    fn filter(&self) -> GroupFilter {
        let PlanOptions {
            paths,
            from,
            min_size,
            max_size,
            ext,
            across,
            ..
        } = &self.options;
        let globs = self.exclude.clone();
        GroupFilter {
            min_size: *min_size,
            max_size: *max_size,
            extensions: ext.clone(),
            across: *across,
            below: if from.is_empty() { paths } else { from }.clone(),
            exclude: (!globs.is_empty())
                .then(|| Box::new(move |path: &Path| globs.matches_file(path)) as _),
            ..GroupFilter::default()
        }
    }
}

/// A plan that was made.
#[derive(Debug, Default)]
pub struct PlanMade {
    /// Its number; `None` where nothing is to be done, and no plan is stored.
    pub id: Option<PlanId>,
    /// Its totals.
    pub totals: PlanTotals,
    /// What carrying it out gives back.
    pub reclaimable: Reclaimable,
    /// Copies that stay for another reason than being kept: how many, and their
    /// bytes.
    pub spared: BTreeMap<Spared, (u64, u64)>,
    /// Copies that are offline, or changed since the scan.
    pub outdated: u64,
    /// The first path and the bytes of the groups that reclaim most.
    pub largest: Vec<(PathBuf, u64)>,
    /// Whether it was stopped, so that no plan is stored.
    pub is_interrupted: bool,
}

/// Makes a plan and stores it, unless it is stopped before its end.
pub fn make_plan(
    catalog: &mut Exclusive,
    request: &PlanRequest,
    shutdown: &Shutdown,
    progress: &ActProgress,
) -> Result<PlanMade, CatalogError> {
    let reader = catalog.reader()?;
    let checker = Checker::of(&reader)?;
    let scope = request.scope();
    let mut order = KeepOrder::of(request.rules.clone());
    reader.count_for(&mut order, || request.filter())?;
    let mut lookup = Lookup::new(&reader, &scope, &order)?;
    let mut groups = GroupList::build(reader.sibling()?, request.filter())?;
    progress.expect(groups.totals().groups, 0);
    let limits = request.limits();
    let mut made = PlanMade::default();
    let mut writer = catalog.begin_plan(request.action, &request.options)?;
    while let Some(group) = groups.next_group()? {
        if shutdown.is_stopped() {
            made.is_interrupted = true;
            return Ok(made);
        }
        progress.dealt_with(1);
        let most = request.options.max_bytes;
        if most.is_some_and(|most| made.totals.bytes >= most) {
            break;
        }
        let copies = group.copies.len();
        let group = checker.current(group);
        if !request.wants(&group) {
            continue;
        }
        made.outdated += (copies - group.copies.len()) as u64;
        if let Some(planned) = plan_group(group, &limits, &mut lookup, &mut made)? {
            made.note(&planned);
            writer.add(&planned)?;
        }
    }
    if made.totals.groups > 0 {
        let id = writer.finish()?;
        made.id = Some(id);
        progress.measure(made.totals.groups);
        made.reclaimable = measure(catalog, id, progress)?;
    }
    Ok(made)
}

/// What happens to the copies of one group; `None` if nothing does.
fn plan_group(
    group: Group,
    limits: &Limits,
    lookup: &mut Lookup<'_>,
    made: &mut PlanMade,
) -> Result<Option<PlannedGroup>, CatalogError> {
    let (digest, size) = (group.digest, group.size);
    let mut candidates: Vec<Candidate> = Vec::with_capacity(group.copies.len());
    for copy in group.copies {
        candidates.extend(lookup.candidate(copy)?);
    }
    if candidates.len() < 2 {
        return Ok(None);
    }
    let chosen = choose(candidates, limits);
    for one in &chosen {
        made.spare(one);
    }
    let mut copies: Vec<PlannedCopy> = chosen
        .into_iter()
        .filter_map(|one| one.role.map(|role| (role, one.copy)))
        .map(|(role, copy)| PlannedCopy { role, copy })
        .collect();
    copies.sort_by_key(|planned| planned.role);
    let acts = copies.iter().any(|planned| planned.role == Role::Act);
    Ok(acts.then_some(PlannedGroup {
        number: 0,
        digest,
        size,
        copies,
    }))
}

impl PlanMade {
    fn spare(&mut self, one: &Chosen) {
        let Some(reason) = &one.spared else {
            return;
        };
        if !matches!(reason, Spared::Kept | Spared::Elsewhere) {
            let (copies, bytes) = self.spared.entry(reason.clone()).or_default();
            *copies += 1;
            *bytes = bytes.saturating_add(one.copy.occupied);
        }
    }

    fn note(&mut self, planned: &PlannedGroup) {
        let totals = planned.totals();
        self.totals.add(totals);
        if self.largest.len() < LARGEST {
            let first = planned.with_role(Role::Act).next();
            self.largest
                .extend(first.map(|one| (one.copy.path.clone(), totals.bytes)));
        }
    }
}
