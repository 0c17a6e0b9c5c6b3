//! Opening the roots that a run reads: those it lists, and those that hold what
//! their files are compared with.

use super::Plan;
use crate::access::{OpenRoot, OpenRoots, online_state, volume_row};
use crate::catalog::{Exclusive, RootRow};
use crate::model::RootId;
use crate::platform::{Dir, VolumeTable};
use crate::scan::error::ScanError;
use crate::scan::observe::Notice;

/// Opens every root that can be read; says which cannot. Roots that this run
/// lists were examined before.
pub(crate) fn open_roots(
    catalog: &mut Exclusive,
    plan: &Plan,
    notify: &mut dyn FnMut(Notice),
) -> Result<OpenRoots, ScanError> {
    let volumes = VolumeTable::new();
    let mut open = OpenRoots::new();
    for root in catalog.roots()? {
        let is_planned = plan.roots.iter().any(|planned| planned.root == root.id);
        if is_planned {
            let dir = Dir::open_root(&root.path).map_err(|error| ScanError::Offline {
                path: root.path.clone(),
                reason: error.to_string(),
            })?;
            open.insert(root.id, open_root(dir, &root, plan)?);
            continue;
        }
        match online_state(&root, &volumes) {
            Ok((dir, volume)) => {
                let volume = catalog.register_volume(&volume_row(&volume))?;
                catalog.rehome(root.id, volume)?;
                open.insert(root.id, open_root(dir, &root, plan)?);
            }
            Err(_) if plan.refused.names(&root.path) => {}
            Err(reason) => notify(Notice::PartnerOffline(root.path, reason)),
        }
    }
    Ok(open)
}

fn open_root(dir: Dir, root: &RootRow, plan: &Plan) -> Result<OpenRoot, ScanError> {
    let is_planned = |id: RootId| plan.roots.iter().any(|planned| planned.root == id);
    let follows = root.follow || (is_planned(root.id) && plan.options.listing.follow_links);
    let path = root.path.clone();
    OpenRoot::new(dir, path.clone(), follows)
        .map_err(|source| ScanError::Unreadable { path, source })
}
