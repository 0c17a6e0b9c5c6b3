//! dupescan finds duplicate files, remembers what it learned in one SQLite
//! catalog, and resumes where it was stopped.
//!
//! The rooms, and the one direction in which they use each other
//! (`tests/integration/house/layers.rs` checks it):
//!
//! ```text
//! cli ──► scan, answers ──► access ──► catalog, platform, hash ──► model
//!  ├────► report, answers ──► folders ───────────────────────────► model
//!  ├────► settings ──────────────────────────────────────────────► model
//!  └────► act ──► access, pool
//!         scan ──► pool, which uses nothing
//! ```
//!
//! Nothing below [`cli`] prints or exits, only `catalog` contains SQL, and
//! only `platform` contains `unsafe` code.

pub mod access;
pub mod act;
pub mod answers;
pub mod catalog;
pub mod cli;
pub mod folders;
pub mod hash;
pub mod model;
pub mod platform;
pub mod pool;
pub mod report;
pub mod scan;
pub mod settings;
#[cfg(test)]
mod testing;
