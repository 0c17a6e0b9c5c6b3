//! `dupescan retry [ID…]`

use std::io::Write;

use super::args::RetryArgs;
use super::context::Context;
use super::session::{Session, explain};
use super::{Exit, output};
use crate::catalog::Exclusive;
use crate::scan::Plan;

pub(super) fn run(context: &Context, args: &RetryArgs) -> anyhow::Result<Exit> {
    let session = Session::start(context)?;
    let mut catalog = Exclusive::open(&context.config.db, "retry")?;
    match Plan::for_retry(&mut catalog, &args.ids).map_err(explain)? {
        Some(plan) => session.run(catalog, &plan),
        None => {
            let mut out = output::stdout();
            writeln!(out, "There is nothing to try again.")?;
            out.flush()?;
            Ok(Exit::Done)
        }
    }
}
