//! `dupescan purge`: deletes what is remembered of removed files.

use crate::cli::args::PurgeArgs;
use crate::cli::session::Context;
use crate::cli::terminal::{Exit, output};
use crate::report::{counted, human_size};

pub(crate) fn run(context: &Context, args: &PurgeArgs) -> anyhow::Result<Exit> {
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
