//! Reading files: which could be duplicates, their probes, and the comparison
//! of those that still agree.

mod audit;
mod compare;
mod hash_source;
mod probe;
mod probed;
mod sampler;
mod samples;
mod sift;
mod sizes;

pub(crate) use audit::audit_batch;
pub(crate) use compare::{Buffers, hash_classes};
pub(crate) use hash_source::{Classes, HashSource};
pub(crate) use probe::probe_batch;
pub(crate) use probed::Probed;
pub(crate) use sampler::{Sampler, probed_copies};
pub(crate) use samples::SampleReader;
pub(crate) use sift::sift_batch;
pub(crate) use sizes::Sizes;
