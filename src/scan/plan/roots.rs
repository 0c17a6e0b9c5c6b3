//! Opening the roots that a run reads: those it lists, and those that hold what
//! their files are compared with.

use std::io;
use std::sync::Arc;

use super::Plan;
use crate::access::{OpenRoot, OpenRoots, online_state, volume_row};
use crate::catalog::{Exclusive, RootRow};
use crate::model::RootId;
use crate::platform::{Dir, Volume, VolumeTable};
use crate::scan::error::ScanError;
use crate::scan::observe::Notice;

/// Opens every root that can be read; says which cannot. Roots that this run
/// lists were examined before.
pub(crate) fn open_roots(
    catalog: &mut Exclusive,
    plan: &Plan,
    volumes: &VolumeTable,
    notify: &mut dyn FnMut(Notice),
) -> Result<OpenRoots, ScanError> {
    let mut open = OpenRoots::new();
    for root in catalog.roots()? {
        let is_planned = plan.roots.iter().any(|planned| planned.root == root.id);
        let state = match is_planned {
            true => Ok(reopen(&root, volumes)?),
            false => online_state(&root, volumes),
        };
        match state {
            Ok((dir, volume)) => {
                let volume = catalog.register_volume(&volume_row(&volume))?;
                let folder = dir.identity().ok().flatten();
                catalog.rehome(root.id, volume, folder)?;
                open.insert(root.id, open_root(dir, &root, plan)?);
            }
            Err(_) if plan.refused.names(&root.path) => {}
            Err(reason) => notify(Notice::PartnerOffline(root.path, reason)),
        }
    }
    Ok(open)
}

/// Opens a root that was examined before.
fn reopen(root: &RootRow, volumes: &VolumeTable) -> Result<(Dir, Arc<Volume>), ScanError> {
    let open = || {
        let dir = Dir::open_root(&root.path)?;
        let volume = volumes.of(&dir, dir.stat()?.dev)?;
        Ok((dir, volume))
    };
    open().map_err(|error: io::Error| ScanError::Offline {
        path: root.path.clone(),
        reason: error.to_string(),
    })
}

fn open_root(dir: Dir, root: &RootRow, plan: &Plan) -> Result<OpenRoot, ScanError> {
    let is_planned = |id: RootId| plan.roots.iter().any(|planned| planned.root == id);
    let follows = root.follow || (is_planned(root.id) && plan.options.listing.follow_links);
    let path = root.path.clone();
    OpenRoot::new(dir, path.clone(), follows)
        .map_err(|source| ScanError::Unreadable { path, source })
}
