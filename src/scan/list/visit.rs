//! One attempt at listing one folder: what it is given, and why it may end early.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use super::entries::Found;
use crate::catalog::{CatalogError, Record};
use crate::model::{Fault, FaultClass, Step};
use crate::scan::context::{HandIn, ItemContext, ListingContext};
use crate::scan::engine::{Failure, ListItem, Origin, Place};
use crate::scan::read::Sampler;

/// One attempt at one folder.
pub(super) struct Visit<'a, 'c> {
    pub(super) context: &'a mut ItemContext<'c>,
    pub(super) listing: &'a ListingContext,
    pub(super) item: &'a ListItem,
    /// Whether entries that cannot be examined are reported one by one instead of
    /// failing all.
    pub(super) is_last_attempt: bool,
    pub(super) sampler: &'a mut Sampler,
    /// The folder's path, as far as it is known.
    pub(super) path: PathBuf,
}

impl Visit<'_, '_> {
    /// Whether an interrupted scan listed the folder before.
    pub(super) fn is_repeat(&self) -> bool {
        matches!(self.item.origin, Origin::Listed)
    }

    /// Notes an entry that cannot be examined, unless it is gone, or trying the
    /// folder again may help.
    pub(super) fn note_unexamined(
        &mut self,
        name: &OsStr,
        error: &io::Error,
        found: &mut Found,
    ) -> Result<(), Stop> {
        let fault = Fault::from_io(Step::Stat, error);
        match fault.class {
            FaultClass::Vanished => return Ok(()),
            class if class.is_retried() && !self.is_last_attempt => return Err(Stop::Fault(fault)),
            _ => {}
        }
        found.unsure_files.push(name.to_owned());
        found.unsure_folders.push(name.to_owned());
        self.context.report.failures.push(Failure {
            path: self.path.join(name),
            place: Place {
                folder: self.item.folder,
                name: name.to_owned(),
            },
            volume: self.item.volume,
            again: None,
            fault,
        });
        Ok(())
    }

    /// Notes that the folder was looked at, and is not listed.
    pub(super) fn hand_in_visited(&mut self) {
        let record = Record::Visited {
            folder: self.item.folder,
            scan: self.item.scan,
        };
        self.context.hand_in(record, HandIn::Last);
    }
}

/// Why a listing ended early.
pub(super) enum Stop {
    /// Something failed on the folder itself.
    Fault(Fault),
    /// The catalog failed.
    Catalog(CatalogError),
}

impl From<CatalogError> for Stop {
    fn from(error: CatalogError) -> Self {
        Self::Catalog(error)
    }
}

/// Stops because of an error in this step.
pub(super) fn fault(step: Step) -> impl Fn(io::Error) -> Stop {
    move |error| Stop::Fault(Fault::from_io(step, &error))
}
