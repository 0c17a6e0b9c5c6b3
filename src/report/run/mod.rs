//! What a scan did, for people and programs: summary, statistics, metrics.

pub(crate) mod prometheus;
pub(crate) mod stats;
pub(crate) mod summary;
