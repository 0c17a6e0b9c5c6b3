//! The `dupescan` binary: maps the outcome to an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    dupescan::cli::run(std::env::args_os()).into()
}
