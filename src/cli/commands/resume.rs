//! `dupescan resume`

use crate::cli::session::{Context, Session, explain};
use crate::cli::terminal::{Exit, output};
use crate::scan;
use crate::scan::Plan;

pub(crate) fn run(context: &Context) -> anyhow::Result<Exit> {
    let session = Session::start(context)?;
    let catalog = context.exclusive("resume")?;
    let sets = scan::unfinished(&catalog).map_err(explain)?;
    if sets.is_empty() {
        output::print("nothing to resume\n")?;
    }
    session.run_each(catalog, "resume", &sets, |catalog, scans| {
        Plan::resume(catalog, scans, &mut |notice| session.notify(&notice))
    })
}
