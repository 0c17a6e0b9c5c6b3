//! `dupescan resume`: goes on with every interrupted scan.

use super::args::ResumeArgs;
use super::context::Context;
use super::exit::Exit;

pub(super) fn run(_context: &Context, _args: ResumeArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("`resume` is not built yet")
}
