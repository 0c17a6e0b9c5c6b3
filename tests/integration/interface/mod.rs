//! What is common to all commands: settings, exit codes, progress, logs, metrics.

mod config;
mod events;
mod exit_codes;
mod filters;
mod metrics;
mod progress;
pub(crate) mod stats;
