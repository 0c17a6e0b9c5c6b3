//! Reading files: samples of those that could be duplicates, and the comparison
//! of those that still agree.

mod ahead;
mod at_sight;
mod audit;
mod compare;
mod hash_source;
mod probe;
mod sample;
mod visit;

use crate::scan::context::ItemContext;
use crate::scan::engine::{ReadItem, Task};
pub(crate) use at_sight::ListedFolder;
use audit::audit_batch;
pub(crate) use compare::Buffers;
use compare::{Class, hash_classes};
pub(crate) use hash_source::{Classes, HashSource};
use probe::probe_batch;
pub(crate) use sample::Sampler;
use visit::{locate_batch, try_disk, visit_batch};

/// Reads the files of an item for what its task says.
pub(crate) fn read(
    context: &mut ItemContext<'_>,
    item: &ReadItem,
    sampler: &mut Sampler,
    buffers: &mut Buffers,
) {
    let ReadItem { task, copies } = item;
    match task {
        Task::Probe => probe_batch(context, copies, sampler),
        Task::Locate(numbers) => locate_batch(context, copies, numbers),
        Task::Trial => try_disk(context, copies),
        Task::Visit(whole) => visit_batch(context, copies, *whole, sampler, buffers),
        Task::Hash(spans) => hash_classes(context, &Class::all(copies, spans), buffers),
        Task::Audit(expected) => audit_batch(context, copies, expected, buffers),
    }
}
