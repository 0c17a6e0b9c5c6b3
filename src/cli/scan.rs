//! `dupescan scan`: scans roots and prints what would be freed.

use super::args::ScanArgs;
use super::context::Context;
use super::exit::Exit;

pub(super) fn run(_context: &Context, _args: ScanArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("`scan` is not built yet")
}
