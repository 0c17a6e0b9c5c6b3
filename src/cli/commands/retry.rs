//! `dupescan retry [ID…]`

use crate::cli::args::RetryArgs;
use crate::cli::session::{Context, Session, explain};
use crate::cli::terminal::{Exit, output};
use crate::scan;
use crate::scan::Plan;

pub(crate) fn run(context: &Context, args: &RetryArgs) -> anyhow::Result<Exit> {
    let session = Session::start(context)?;
    let catalog = context.exclusive("retry")?;
    let retries = scan::retries(&catalog, &args.ids).map_err(explain)?;
    if retries.is_empty() {
        output::print("nothing to retry\n")?;
    }
    session.run_each(catalog, "retry", &retries, |catalog, (root, faults)| {
        Plan::retry(catalog, root, faults)
    })
}
