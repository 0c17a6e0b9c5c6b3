//! `dupescan resume`

use std::io::Write;

use super::context::Context;
use super::session::{Session, explain};
use super::{Exit, output};
use crate::catalog::Exclusive;
use crate::scan::Plan;

pub(super) fn run(context: &Context) -> anyhow::Result<Exit> {
    let session = Session::start(context)?;
    let mut catalog = Exclusive::open(&context.config.db, "resume")?;
    let mut notify = |notice| session.notify(&notice);
    let requests = Plan::for_resume(&mut catalog, &mut notify).map_err(explain)?;
    let mut worst = Exit::Done;
    if requests.is_empty() {
        let mut out = output::stdout();
        writeln!(out, "There is no unfinished scan.")?;
        out.flush()?;
    }
    let mut catalog = Some(catalog);
    for request in &requests {
        let mut open = match catalog.take() {
            Some(open) => open,
            None => Exclusive::open(&context.config.db, "resume")?,
        };
        let plan = Plan::for_scan(&mut open, request, &mut notify).map_err(explain)?;
        let exit = session.run(open, &plan)?;
        if exit == Exit::Interrupted {
            return Ok(exit);
        }
        worst = worst.or(exit);
    }
    Ok(worst)
}
