//! What a worker reports about an item. Everything worth keeping was sent to
//! the writer before.

use std::path::PathBuf;

use super::item::{Item, ListItem, Place};
use crate::catalog::{CatalogError, WorkName};
use crate::model::{Digest, Fault, FileState, Probe, VolumeId};

/// What a worker reports about an item.
#[derive(Debug, Default)]
pub(crate) struct ItemReport {
    /// What the source of the item asked for.
    pub(crate) found: ItemResult,
    /// What failed.
    pub(crate) failures: Vec<Failure>,
    /// Files that were not in the state the catalog held, or changed while
    /// they were read.
    pub(crate) changed: Vec<WorkName>,
    /// Folders skipped because of their filesystem: path and type.
    pub(crate) skipped: Vec<(PathBuf, String)>,
    /// Mount points on which nothing is mounted any more.
    pub(crate) offline: Vec<PathBuf>,
    /// The catalog failed under the worker.
    pub(crate) fatal: Option<CatalogError>,
}

impl ItemReport {
    /// Adds a copy that was read again.
    pub(crate) fn push_audited(&mut self, audited: Audited) {
        match &mut self.found {
            ItemResult::Audited(all) => all.push(audited),
            other => *other = ItemResult::Audited(vec![audited]),
        }
    }
}

/// What the source of an item asked for.
#[derive(Debug, Default)]
pub(crate) enum ItemResult {
    /// Nothing: all went to the writer.
    #[default]
    Nothing,
    /// Subfolders to list.
    Subfolders(Vec<ListItem>),
    /// Where files begin on their disk, by number; `None` where nobody tells.
    Located(Vec<(usize, Option<u64>)>),
    /// Copies that were read again in an audit.
    Audited(Vec<Audited>),
}

/// Something in an item that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Where.
    pub(crate) place: Place,
    /// The path, for the log.
    pub(crate) path: PathBuf,
    /// The volume it lies on.
    pub(crate) volume: VolumeId,
    /// What went wrong.
    pub(crate) fault: Fault,
    /// What to retry, if that makes sense.
    pub(crate) again: Option<Item>,
}

/// What reading a file again showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditVerdict {
    /// Its content is what its digest says.
    Sound,
    /// It had no digest, and has one now.
    New(Digest, Option<Probe>),
    /// Its content differs though its metadata does not: this is its digest.
    Corrupted(Digest),
    /// It was changed since it was scanned.
    Changed,
    /// It is gone.
    Gone,
}

/// One copy that was looked at.
#[derive(Debug)]
pub struct Audited {
    /// The first of its names.
    pub path: PathBuf,
    /// What its digest should be, where there is one.
    pub expected: Option<Digest>,
    /// Size and times as scanned.
    pub state: FileState,
    /// What was found.
    pub verdict: AuditVerdict,
    pub(crate) names: Vec<WorkName>,
    pub(crate) racy: bool,
}
