//! `dupescan purge`: deletes what is remembered of removed files.

use super::args::PurgeArgs;
use super::context::Context;
use super::exit::Exit;
use super::output;
use crate::report::text::{counted, human_size};

pub(super) fn run(context: &Context, args: &PurgeArgs) -> anyhow::Result<Exit> {
    let purged = context
        .exclusive("purge")?
        .purge(args.before)
        .map_err(|error| context.at_catalog(error))?;
    if (purged.files, purged.folders, purged.bytes) == (0, 0, 0) {
        output::print("there is nothing to purge\n")?;
        return Ok(Exit::Done);
    }
    output::print(&format!(
        "purged {} and {}; the catalog is {} smaller\n",
        counted(purged.files, "removed file", "removed files"),
        counted(purged.folders, "removed folder", "removed folders"),
        human_size(purged.bytes)
    ))?;
    Ok(Exit::Done)
}
