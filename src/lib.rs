//! dupescan finds duplicate files, remembers what it learned in one SQLite
//! catalog, and goes on where it was stopped.
//!
//! The layers point one way (`tests/integration/layers.rs` checks it):
//!
//! ```text
//! cli ──► config ──► scan ──┐
//!  └────► report ───────────┴─► catalog ──► model, fault
//!         cli, scan ───────► platform ─► model
//!         cli, report ─────► folders ──► model
//!         cli, scan ───────► globs
//!         report, scan ────► escape
//! ```
//!
//! Nothing below [`cli`] prints or exits, only `catalog` contains SQL, and
//! only `platform` contains `unsafe` code.

pub mod catalog;
pub mod cli;
pub mod config;
pub mod escape;
pub mod fault;
pub mod folders;
pub mod globs;
pub mod model;
pub mod platform;
pub mod report;
pub mod scan;
