//! `dupescan backup`: a consistent copy of the catalog.

use crate::catalog::CatalogError;
use crate::cli::args::BackupArgs;
use crate::cli::session::Context;
use crate::cli::terminal::{Exit, exit, output, unfinished};
use crate::model::escape;
use crate::report::text::human_size;

pub(crate) fn run(context: &Context, args: &BackupArgs) -> anyhow::Result<Exit> {
    let catalog = context.catalog()?;
    let pending = unfinished::pending();
    match catalog.backup(&args.file, |copy| pending.file(copy)) {
        Ok(()) => {}
        Err(error @ CatalogError::BadTarget { .. }) => return Err(exit::usage(error)),
        Err(error) => return Err(error.into()),
    }
    let size = std::fs::metadata(&args.file).map_or(0, |file| file.len());
    output::print(format!(
        "backed up the catalog to {} ({})\n",
        escape(&args.file),
        human_size(size)
    ))?;
    Ok(Exit::Done)
}
