//! `dupescan roots`: lists the roots, and moves one to another mount point.

use super::args::RootsArgs;
use super::context::Context;
use super::exit::Exit;

pub(super) fn run(_context: &Context, _args: RootsArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("`roots` is not built yet")
}
