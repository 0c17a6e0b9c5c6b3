//! The orchestrator: feeds the pool from a source of work, takes in what
//! workers report, decides what becomes of failures, and watches for stalls.
//! How an item is done is not its business.

mod device_check;
mod faults;
mod item;
mod orchestrator;
mod report;
mod retry;
mod sources;

pub(crate) use faults::Undone;
pub(crate) use item::{
    ClassSpan, Expected, FromParent, Item, ListItem, Origin, Place, ReadItem, Task, Work,
};
pub use orchestrator::Controls;
pub(crate) use orchestrator::{Engine, Setup, StageEnd};
pub use report::{AuditVerdict, Audited};
pub(crate) use report::{Failure, ItemReport, ItemResult};
pub(crate) use sources::{DeferredSource, ListSource, ListStart, ProbeSource, Seeds, Source};
