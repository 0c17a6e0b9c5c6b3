//! The integration tests: one binary, a module per command, and the
//! environment they share.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test that meets something unexpected has to stop"
)]

mod audit;
mod backup;
mod benches;
mod breaker;
mod config;
mod diff;
mod env;
mod errors;
mod events;
mod exit_codes;
mod export;
mod faults;
mod find;
mod first_sight;
mod folders;
mod forget;
mod generate;
mod hazards;
mod history;
mod house;
mod html;
mod in_step;
mod large_files;
mod metrics;
mod names;
mod offline;
mod oracle;
mod progress;
mod properties;
mod pty;
mod purge;
mod report;
mod report_json;
mod rescan;
mod resume;
mod roots;
mod run;
mod scan;
mod scan_options;
mod stats;
mod status;
mod unique;
mod upgrade;
mod verify;
mod wal;
