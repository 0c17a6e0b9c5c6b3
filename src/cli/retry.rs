//! `dupescan retry [ID…]`

use super::args::RetryArgs;
use super::context::Context;
use super::session::{Session, explain};
use super::{Exit, output};
use crate::scan::{self, Plan};

pub(super) fn run(context: &Context, args: &RetryArgs) -> anyhow::Result<Exit> {
    let session = Session::start(context)?;
    let catalog = context.exclusive("retry")?;
    let retries = scan::retries(&catalog, &args.ids).map_err(explain)?;
    if retries.is_empty() {
        output::print("There is nothing to try again.\n")?;
    }
    session.run_each(catalog, "retry", &retries, |catalog, (root, faults)| {
        Plan::retry(catalog, root, faults)
    })
}
