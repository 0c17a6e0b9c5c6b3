//! `dupescan status`: what has been scanned, what is unfinished and what is
//! offline.

mod json;
mod table;

use crate::answers::Status;
use crate::cli::args::StatusArgs;
use crate::cli::session::Context;
use crate::cli::terminal::{Exit, output};
use crate::report::Format;

pub(crate) fn run(context: &Context, args: &StatusArgs) -> anyhow::Result<Exit> {
    let status = Status::of(&context.catalog()?)?;
    let text = match args.format.format() {
        Format::Json => json::render(&status)?,
        _ => table::render(&status, context, args.bytes)?,
    };
    output::print(&text)?;
    Ok(Exit::Done)
}
