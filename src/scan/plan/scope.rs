//! What of a root is compared from a scan on: the scope that the user asked for, or
//! the one it has.

use std::path::Path;

use super::request::Request;
use crate::catalog::{Exclusive, Placement};
use crate::model::{ListingOptions, RootScope};
use crate::scan::error::ScanError;
use crate::scan::scope::Scope;

/// Makes sure that all globs can be compiled.
pub(super) fn check_globs(request: &Request) -> Result<(), ScanError> {
    let scope = request.scope(&RootScope::default());
    compile(&request.options.within(&scope).listing).map(drop)
}

/// Compiles the name filters.
pub(super) fn compile(listing: &ListingOptions) -> Result<Scope, ScanError> {
    Scope::new(listing).map_err(|(glob, reason)| ScanError::BadGlob { glob, reason })
}

/// Refuses a folder that its root excludes: what is excluded from a root must not
/// depend on which part of it was scanned last.
pub(super) fn refuse_excluded(
    catalog: &Exclusive,
    request: &Request,
    path: &Path,
) -> Result<(), ScanError> {
    for root in catalog.roots()? {
        let excludes = request.scope(&root.scope).excludes.compile();
        let below = path.strip_prefix(&root.path);
        if below.is_ok_and(|below| excludes.matches_file(below)) {
            return Err(ScanError::Excluded {
                path: path.to_owned(),
                root: root.path,
            });
        }
    }
    Ok(())
}

/// Gives the root of a place the scope that this scan asks for; returns the request
/// with the options that result for it.
pub(super) fn rescope(
    catalog: &mut Exclusive,
    request: &Request,
    placement: &Placement,
) -> Result<Request, ScanError> {
    let roots = catalog.roots()?.into_iter();
    let mut options = request.options.clone();
    for root in roots.filter(|root| root.id == placement.root) {
        let scope = request.scope(&root.scope);
        catalog.set_scope(&root, &scope, !placement.absorbed.is_empty())?;
        options = options.within(&scope);
    }
    Ok(Request {
        options,
        ..request.clone()
    })
}
