//! The integration tests: one binary, a folder for each subject, and the
//! environment they share (`env`).

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test that meets something unexpected has to stop"
)]

mod act;
mod commands;
mod env;
mod faults;
mod house;
mod interface;
mod scan;
