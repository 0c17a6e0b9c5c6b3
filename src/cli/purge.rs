//! `dupescan purge`: deletes rows flagged removed.

use super::args::PurgeArgs;
use super::context::Context;
use super::exit::Exit;

pub(super) fn run(_context: &Context, _args: PurgeArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("`purge` is not built yet")
}
