//! `dupescan backup`: copies the catalog while it is in use.

use super::args::BackupArgs;
use super::context::Context;
use super::exit::Exit;

pub(super) fn run(_context: &Context, _args: BackupArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("`backup` is not built yet")
}
