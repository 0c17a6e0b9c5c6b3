//! `dupescan scan PATH…`

use crate::cli::args::ScanArgs;
use crate::cli::session::{Context, Session, explain, open_or_create};
use crate::cli::terminal::{Exit, exit};
use crate::scan::{Plan, Request, check_paths};

pub(crate) fn run(context: &Context, args: &ScanArgs) -> anyhow::Result<Exit> {
    let session = Session::start(context)?;
    let session = session
        .with_stats(args.stats)
        .with_globs(args.settings.globs());
    let options = args.options(&context.config.scan);
    let excludes = args.settings.excludes().map_err(exit::usage)?;
    if !context.config.db.exists() {
        // No catalog is created for a mistyped path.
        check_paths(&args.paths).map_err(explain)?;
    }
    let mut catalog = open_or_create(&context.config.db, "scan", options.algorithm)?;
    let request = Request {
        paths: args.paths.clone(),
        options,
        excludes,
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
