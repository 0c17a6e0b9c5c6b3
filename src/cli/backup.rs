//! `dupescan backup`: a consistent copy of the catalog.

use super::args::BackupArgs;
use super::context::Context;
use super::exit::{self, Exit};
use super::output;
use crate::catalog::CatalogError;
use crate::report::text::{escape, human_size};

pub(super) fn run(context: &Context, args: &BackupArgs) -> anyhow::Result<Exit> {
    match context.catalog()?.backup(&args.file) {
        Ok(()) => {}
        Err(error @ CatalogError::BadTarget { .. }) => return Err(exit::usage(error)),
        Err(error) => return Err(context.at_catalog(error).into()),
    }
    let size = std::fs::metadata(&args.file).map_or(0, |file| file.len());
    output::print(&format!(
        "copied the catalog to {} ({})\n",
        escape(&args.file),
        human_size(size)
    ))?;
    Ok(Exit::Done)
}
