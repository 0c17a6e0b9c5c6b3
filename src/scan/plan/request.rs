//! What the user asked a scan for.

use std::path::PathBuf;

use crate::model::{Excludes, RootScope, ScanOptions};

/// The excludes that were typed at a scan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TypedExcludes {
    /// The globs; `None` keeps those of the root.
    pub globs: Option<Vec<String>>,
    /// Ignore the configured ones.
    pub only: bool,
}

/// What the user asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The folders, as typed.
    pub paths: Vec<PathBuf>,
    /// What to do with them. The excludes among them are the configured ones.
    pub options: ScanOptions,
    /// The excludes that were typed.
    pub excludes: TypedExcludes,
    /// List again even where an unfinished scan could be resumed.
    pub restart: bool,
    /// Accept a root that is empty, or a mount point without its filesystem.
    pub allow_empty: bool,
    /// Accept a root that is on another filesystem than last time.
    pub moved: bool,
}

impl Request {
    /// The scope of a root from this scan on, given the one it has.
    pub(crate) fn scope(&self, before: &RootScope) -> RootScope {
        let configured = &self.options.listing.exclude;
        RootScope {
            excludes: Excludes {
                configured: match self.excludes.only {
                    true => Vec::new(),
                    false => configured.clone(),
                },
                given: match &self.excludes.globs {
                    Some(globs) => globs.clone(),
                    None => before.excludes.given.clone(),
                },
            },
            sizes: self.options.sizes(),
        }
    }
}
