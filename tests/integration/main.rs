//! The integration tests: one binary, a module per command, and the
//! environment they share.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test that meets something unexpected has to stop"
)]

mod env;
mod layers;
mod oracle;
mod report_json;
mod run;
mod source;
