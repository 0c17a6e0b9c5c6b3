//! `dupescan report`: prints the duplicate groups of the catalog.

use super::args::ReportArgs;
use super::context::Context;
use super::exit::Exit;

pub(super) fn run(_context: &Context, _args: ReportArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("`report` is not built yet")
}
