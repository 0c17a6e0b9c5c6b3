//! `dupescan forget`: removes a root and all its rows.

use super::args::ForgetArgs;
use super::context::Context;
use super::exit::Exit;

pub(super) fn run(_context: &Context, _args: ForgetArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("`forget` is not built yet")
}
