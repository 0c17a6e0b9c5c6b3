//! What carrying out a plan gives back to the disks, by the blocks of its files
//! as they are now.

use crate::act::files::Reach;
use crate::act::progress::ActProgress;
use crate::act::space::Blocks;
use crate::catalog::{CatalogError, Exclusive};
use crate::model::{PlanId, PlannedCopy, PlannedGroup, Reclaimable, Role};
use crate::platform::{OpenFile, Unwritten};

/// Groups that are read from a plan at a time.
const PAGE: u32 = 256;

/// Measures a plan, and stores the result with it; `progress` counts its groups.
pub(crate) fn measure(
    catalog: &mut Exclusive,
    plan: PlanId,
    progress: &ActProgress,
) -> Result<Reclaimable, CatalogError> {
    let reader = catalog.reader()?;
    let reach = Reach::of(&reader, &[])?;
    let (mut blocks, mut sum) = (Blocks::new(Unwritten::Write), Reclaimable::default());
    let mut after = 0;
    loop {
        let groups = reader.plan_groups(plan, after, PAGE)?;
        let Some(last) = groups.last() else {
            break;
        };
        after = last.number;
        for group in &groups {
            progress.dealt_with(1);
            for kept in group.with_role(Role::Keep) {
                let kept = open(&reach, group, kept);
                kept.iter().for_each(|file| blocks.stays(file));
            }
            for planned in group.with_role(Role::Act) {
                sum.add(match open(&reach, group, planned) {
                    Some(file) => blocks.goes(&file),
                    None => Reclaimable::between(0, planned.copy.occupied),
                });
            }
        }
    }
    catalog.set_reclaimable(plan, sum)?;
    Ok(sum)
}

/// A copy, if it is as it was scanned.
fn open(reach: &Reach, group: &PlannedGroup, planned: &PlannedCopy) -> Option<OpenFile> {
    let state = planned.state(group.size);
    let found = reach.open(&planned.copy.path, &state);
    found.ok().map(|found| found.file)
}
