//! Reading files: samples of those that could be duplicates, and the comparison
//! of those that still agree.

mod at_sight;
mod audit;
mod compare;
mod hash_source;
mod probe;
mod sample;

pub(crate) use at_sight::ListedFolder;
pub(crate) use audit::audit_batch;
pub(crate) use compare::{Buffers, Class, hash_classes};
pub(crate) use hash_source::{Classes, HashSource};
pub(crate) use probe::probe_batch;
pub(crate) use sample::Sampler;
