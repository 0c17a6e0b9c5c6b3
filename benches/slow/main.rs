//! Compares dupescan with fclones where storage is slow: on a disk with a moving
//! head, and on a filesystem on which every call takes its time. Both are emulated,
//! which needs root, gcc and FUSE; `emulate` beside this file says how.
//!
//! Every run starts from a cold cache. What matters are ratios within one call.

#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "../peers/groups.rs"]
#[allow(dead_code, reason = "shared with the comparison with other programs")]
mod groups;
mod options;
#[path = "../peers/output.rs"]
#[allow(dead_code, reason = "shared with the comparison with other programs")]
mod output;
mod run;
mod storage;
mod workloads;

use std::process::ExitCode;

use options::Options;
use workloads::WORKLOADS;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{}", options::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprint!("{message}\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    for workload in WORKLOADS.iter().filter(|it| options.wants(it.name)) {
        println!("\n### {}: {}\n", workload.name, workload.title);
        println!("| | time | of fclones | seeks | MB | largest RSS | groups |");
        println!("|---|---|---|---|---|---|---|");
        if let Err(error) = (workload.run)(&options) {
            eprintln!("{}: {error}", workload.name);
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
