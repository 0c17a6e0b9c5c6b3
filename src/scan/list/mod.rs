//! Listing one folder: open it, decide whether it is to be listed, and tell the
//! writer what differs from the catalog.

mod contents;
mod diff;
mod entries;
mod folder;
mod inodes;
mod stats;
mod subfolders;
mod visit;

use std::path::PathBuf;

use crate::model::FaultClass;
use crate::scan::context::ItemContext;
use crate::scan::engine::{Failure, Item, ListItem, Place};
use crate::scan::read::Sampler;
use contents::Contents;
use folder::{Folder, Verdict};
use visit::{Stop, Visit};

/// Lists the folder and reports its subfolders. On the last attempt, entries
/// that cannot be examined are reported one by one instead of failing all.
pub(crate) fn list(
    context: &mut ItemContext<'_>,
    item: &ListItem,
    is_last_attempt: bool,
    sampler: &mut Sampler,
) {
    let mut visit = Visit {
        listing: context.run.listing(),
        context,
        item,
        is_last_attempt,
        sampler,
        path: PathBuf::new(),
    };
    let ended = run(&mut visit);
    let report = &mut visit.context.report;
    match ended {
        Ok(()) => {}
        Err(Stop::Catalog(error)) => report.fatal = Some(error),
        Err(Stop::Fault(fault)) if fault.class == FaultClass::Vanished => {
            // Its parent's next complete listing will say so.
            visit.hand_in_visited();
        }
        Err(Stop::Fault(fault)) => report.failures.push(Failure {
            place: Place::folder(item.folder),
            path: visit.path,
            volume: item.volume,
            fault,
            again: Some(Item::List(item.again())),
        }),
    }
}

fn run(visit: &mut Visit<'_, '_>) -> Result<(), Stop> {
    let folder = Folder::open(visit)?;
    visit.context.worker.set_path(&visit.path);
    let verdict = folder.verdict(visit)?;
    let report = &mut visit.context.report;
    match verdict {
        Verdict::List => return Contents::new(visit, folder)?.list(),
        Verdict::Unchanged => return Ok(()),
        Verdict::OutOfScope => {}
        Verdict::Skip(fstype) => report.skipped.push((visit.path.clone(), fstype)),
        Verdict::Offline => report.offline.push(visit.path.clone()),
    }
    visit.hand_in_visited();
    Ok(())
}
