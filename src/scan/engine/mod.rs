//! The orchestrator: feeds the pool from a source of work, takes in what
//! workers report, decides what becomes of failures, and watches for stalls.
//! How an item is done is not its business.

mod crew;
mod device_check;
mod disk_order;
mod faults;
mod in_order;
mod item;
mod orchestrator;
mod report;
mod retry;
mod sources;
mod trial;

pub(crate) use disk_order::DiskOrder;
pub(crate) use faults::Undone;
pub(crate) use in_order::{Feed, InOrder, Probes};
pub(crate) use item::{
    ClassSpan, Expected, FromParent, Item, ListItem, Origin, Place, ReadItem, Task, Whole, Work,
};
pub use orchestrator::Controls;
pub(crate) use orchestrator::{Engine, Setup, StageEnd};
pub use report::{AuditVerdict, Audited};
pub(crate) use report::{Failure, ItemReport, ItemResult};
pub(crate) use sources::{Held, ListSource, ListStart, Seeds, Source};
pub(crate) use trial::Trials;
