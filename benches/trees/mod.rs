//! Trees of files to measure on: seeded, and byte-identical on every machine.
//! What a tree holds is planned first, from the seed and whole numbers alone,
//! and written afterwards, by as many threads as there are cores.
//!
//! Shared by the benches, and by the integration tests for its own tests.

// Each bench uses its part of this.
#![allow(dead_code)]

mod content;
mod kinds;
mod plan;
mod random;
#[cfg(test)]
#[allow(unused, reason = "benches are built with cfg(test), but run no tests")]
mod tests;
mod write;

pub(crate) use kinds::{KINDS, Kind, Size};
pub(crate) use plan::Tree;
