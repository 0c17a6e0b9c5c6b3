//! Compares dupescan with every installed program of its kind, on the same
//! tree, in turns: time, processor time, peak memory, bytes read, and whether
//! all find the same groups.
//!
//! `cargo bench --bench peers -- --kind small --size full`; see docs/BENCHMARKS.md.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_precision_loss,
    reason = "a program for developers that prints figures"
)]

use std::io;
use std::process::ExitCode;

mod competitor;
mod contenders;
mod floor;
mod ground;
mod groups;
mod machine;
mod measure;
mod options;
mod output;
mod race;
mod results;
mod table;
mod targets;
#[path = "../trees/mod.rs"]
mod trees;

use ground::Ground;
use options::{Options, USAGE};
use race::Race;
use results::Results;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let tree = || arguments.get(1).map_or("", String::as_str);
    match arguments.first().map(String::as_str) {
        Some(measure::RUN_MEASURED) => return measure::run_measured(&arguments[1..]),
        Some(floor::LIST_AND_STAT) => return floor::walk(tree(), floor::Files::Skip),
        Some(floor::LIST_STAT_AND_READ) => return floor::walk(tree(), floor::Files::Read),
        Some("--help" | "-h") => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let options = match Options::parse(arguments.into_iter()) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match compare(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(options: &Options) -> io::Result<()> {
    let kept = options.dir.join("results");
    if !options.render {
        for ground in grounds(options) {
            Race::new(options, ground?).run()?.save(&kept)?;
        }
    }
    let all = Results::load_all(&kept, options.size.name())?;
    let tables = table::render(&all, options.size, &options.dir);
    println!("\n{tables}");
    match &options.markdown {
        Some(document) => table::write_into(document, &tables),
        None => Ok(()),
    }
}

/// The trees to measure on, each made when its turn comes.
fn grounds<'o>(options: &'o Options) -> Box<dyn Iterator<Item = io::Result<Ground>> + 'o> {
    if let Some(tree) = &options.tree {
        return Box::new(std::iter::once(Ok(Ground::real(tree))));
    }
    let make = |kind: &&'static trees::Kind| Ground::make(kind, options.size, &options.dir);
    Box::new(options.kinds.iter().map(make))
}
