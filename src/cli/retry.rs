//! `dupescan retry`: tries dead letters again.

use super::args::RetryArgs;
use super::context::Context;
use super::exit::Exit;

pub(super) fn run(_context: &Context, _args: RetryArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("`retry` is not built yet")
}
