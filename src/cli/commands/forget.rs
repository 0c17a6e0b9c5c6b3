//! `dupescan forget`: removes a root from the catalog.

use crate::answers::root_named;
use crate::cli::args::ForgetArgs;
use crate::cli::session::Context;
use crate::cli::terminal::{Exit, output};
use crate::model::escape;
use crate::report::text::{counted, human_size};

pub(crate) fn run(context: &Context, args: &ForgetArgs) -> anyhow::Result<Exit> {
    let mut catalog = context.exclusive("forget")?;
    let roots = catalog.roots()?;
    let root = root_named(&roots, &args.path)?;
    let rows = catalog.forget(&root.path)?;
    let mut line = format!(
        "forgot {}: {}, {}",
        escape(&root.path),
        counted(root.files, "file", "files"),
        human_size(root.bytes)
    );
    let removed = rows.saturating_sub(root.files);
    if removed > 0 {
        line += &format!(
            ", and {}",
            counted(removed, "deleted file", "deleted files")
        );
    }
    output::print(&(line + "; no file on disk was touched\n"))?;
    Ok(Exit::Done)
}
