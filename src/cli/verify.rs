//! `dupescan verify`: checks the catalog.

use super::args::VerifyArgs;
use super::context::Context;
use super::exit::Exit;

pub(super) fn run(_context: &Context, _args: VerifyArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("`verify` is not built yet")
}
