//! `dupescan status`: prints roots, volumes and scans.

use super::args::StatusArgs;
use super::context::Context;
use super::exit::Exit;

pub(super) fn run(_context: &Context, _args: StatusArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("`status` is not built yet")
}
