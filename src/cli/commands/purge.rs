//! `dupescan purge`: drops the records of deleted files.

use crate::cli::args::PurgeArgs;
use crate::cli::session::Context;
use crate::cli::terminal::{Exit, output};
use crate::report::text::{counted, human_size};

pub(crate) fn run(context: &Context, args: &PurgeArgs) -> anyhow::Result<Exit> {
    let purged = context.exclusive("purge")?.purge(args.before)?;
    if (purged.files, purged.folders, purged.bytes) == (0, 0, 0) {
        output::print("nothing to purge\n")?;
        return Ok(Exit::Done);
    }
    output::print(format!(
        "purged {} and {}; the catalog is {} smaller\n",
        counted(purged.files, "deleted file", "deleted files"),
        counted(purged.folders, "deleted folder", "deleted folders"),
        human_size(purged.bytes)
    ))?;
    Ok(Exit::Done)
}
