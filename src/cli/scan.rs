//! `dupescan scan PATH…`

use super::args::ScanArgs;
use super::catalog::open_or_create;
use super::context::Context;
use super::session::{Session, explain};
use super::{Exit, exit};
use crate::scan::{Plan, Request};

pub(super) fn run(context: &Context, args: &ScanArgs) -> anyhow::Result<Exit> {
    let session = Session::start(context)?;
    let options = args.options(&context.config.scan);
    // Looked at before a catalog is created for nothing.
    for path in &args.paths {
        if path.as_os_str().is_empty() {
            return Err(exit::usage("an empty PATH names no folder"));
        }
    }
    let mut catalog = open_or_create(&context.config.db, "scan", options.algorithm)?;
    let request = Request {
        paths: args.paths.clone(),
        options,
        restart: args.restart,
        allow_empty: args.allow_empty,
        moved: args.moved,
    };
    let plan = Plan::for_scan(&mut catalog, &request, &mut |notice| {
        session.notify(&notice);
    })
    .map_err(explain)?;
    session.run(catalog, &plan)
}
