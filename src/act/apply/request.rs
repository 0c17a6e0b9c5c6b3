//! What is asked for, and what became of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::act::progress::ActProgress;
use crate::model::{PlanHeader, PlanTotals, Reclaimable, RunId};

/// Names whose intents are written down, and synced to the disk, together.
pub(crate) const BATCH: usize = 256;

/// How a plan is applied.
pub struct ApplyRequest {
    /// The plan.
    pub plan: PlanHeader,
    /// Threads that compare and move.
    pub threads: usize,
    /// Ends after this many names.
    pub max_files: Option<u64>,
    /// Ends once this many bytes are reclaimed.
    pub max_bytes: Option<u64>,
    /// Whether a group is skipped unless all copies that stay are unchanged, because
    /// more than one was asked for.
    pub needs_all_kept: bool,
    /// Whether to make every check and change nothing.
    pub is_rehearsal: bool,
    /// Folders that are never touched, besides those of the catalog.
    pub protected: Vec<PathBuf>,
    /// Where it says how far it is.
    pub progress: Arc<ActProgress>,
}

impl ApplyRequest {
    /// Says how much there is to do.
    pub(crate) fn expect(&self) {
        let PlanTotals { files, bytes, .. } = self.plan.totals;
        let most = |limit: Option<u64>, all: u64| limit.map_or(all, |most| most.min(all));
        // Where the number of files is limited, their bytes are not known.
        let bytes = if self.max_files.is_some() { 0 } else { bytes };
        self.progress
            .expect(most(self.max_files, files), most(self.max_bytes, bytes));
    }
}

/// What became of it.
#[derive(Debug, Default)]
pub struct Applied {
    /// The run in the journal; `None` for a rehearsal.
    pub run: Option<RunId>,
    /// Names that went, or would have gone.
    pub files: u64,
    /// Bytes that they occupied.
    pub bytes: u64,
    /// What deleting them gives back.
    pub reclaimable: Reclaimable,
    /// How much free space was gained, where files were deleted.
    pub measured: Option<u64>,
    /// Names that were not touched, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Names that are in the trash although they were to be deleted, or to be where
    /// they were.
    pub left: Vec<Left>,
    /// Names that an earlier run of the plan has done.
    pub done_before: u64,
    /// Names that a crash left open, which a rehearsal does not settle.
    pub open: u64,
    /// Whether it was stopped.
    pub is_interrupted: bool,
}

/// A name that is in the trash although it was to be elsewhere.
#[derive(Debug)]
pub struct Left {
    /// The name it had.
    pub path: PathBuf,
    /// The run that moved it.
    pub run: RunId,
    /// Why it is there.
    pub reason: String,
}

impl Applied {
    pub(crate) fn skip(&mut self, reason: &str, names: u64) {
        if names > 0 {
            *self.skipped.entry(reason.to_owned()).or_default() += names;
        }
    }
}
