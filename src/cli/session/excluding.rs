//! What a user should know about the globs that were typed: which of them begin
//! with the path of a root, and which match nothing.

use std::path::PathBuf;

use super::context::Context;
use crate::catalog::{CatalogError, FileFilter, ReadOnly};
use crate::cli::args::{FilterArgs, excluded};
use crate::model::{Globs, meant_below};
use crate::scan::Notice;

/// The globs of `--exclude` of one answer.
pub(crate) struct Excluding<'a> {
    context: &'a Context,
    roots: Vec<PathBuf>,
    pub(crate) globs: Globs,
}

impl<'a> Excluding<'a> {
    /// Compiles the globs, and warns of those with the path of a root.
    pub(crate) fn by(
        context: &'a Context,
        catalog: &ReadOnly,
        args: &FilterArgs,
    ) -> anyhow::Result<Self> {
        args.check()?;
        let roots = roots(catalog)?;
        for root in &roots {
            for notice in Notice::of_whole_paths(&args.exclude, root) {
                context.note(&notice.to_string());
            }
        }
        let globs = excluded(&args.exclude)?;
        Ok(Self {
            context,
            roots,
            globs,
        })
    }

    /// The filter with these globs; the others are those of `args`.
    pub(crate) fn filter(&self, args: &FilterArgs) -> FileFilter {
        args.filter(&self.globs)
    }

    /// Says which globs skipped nothing, after all files were looked at. They may
    /// match files that the answer is not about.
    pub(crate) fn note_unmatched(&self) {
        for glob in self.globs.unmatched() {
            note_glob(
                self.context,
                &self.roots,
                (glob, &format!("--exclude '{glob}' skips nothing here")),
            );
        }
    }
}

/// Says `what` is wrong with a glob, unless a warning has said why.
pub(crate) fn note_glob(context: &Context, roots: &[PathBuf], (glob, what): (&str, &str)) {
    if roots.iter().any(|root| meant_below(glob, root).is_some()) {
        return;
    }
    let looks_absolute = glob.starts_with('/') && glob.trim_matches('/').contains('/');
    let why = match looks_absolute {
        true => ": globs match paths below a root, not absolute paths",
        false => "",
    };
    context.note(&format!("{what}{why}"));
}

/// The paths of the roots.
pub(crate) fn roots(catalog: &ReadOnly) -> Result<Vec<PathBuf>, CatalogError> {
    let roots = catalog.roots()?.into_iter();
    Ok(roots.map(|root| root.path).collect())
}
