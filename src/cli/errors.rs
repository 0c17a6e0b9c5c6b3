//! `dupescan errors`: prints the dead letters.

use super::args::ErrorsArgs;
use super::context::Context;
use super::exit::Exit;

pub(super) fn run(_context: &Context, _args: ErrorsArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("`errors` is not built yet")
}
