//! What is asked about folders.

use std::path::PathBuf;

use crate::folders::Similarity;
use crate::model::{Filters, Globs};

/// What is asked.
pub(crate) struct FolderQuestion<'a> {
    /// Folders that an answer must touch; none for all.
    pub(crate) paths: &'a [PathBuf],
    /// Which files take part.
    pub(crate) filters: &'a Filters,
    /// The globs of the filters.
    pub(crate) exclude: Globs,
    /// Whether files must have the same names too.
    pub(crate) same_names: bool,
    /// How similar folders must be; identical ones are searched without it.
    pub(crate) similarity: Option<Similarity>,
    /// Whether the differences of each pair are listed.
    pub(crate) detail: bool,
    /// Groups or pairs at most.
    pub(crate) limit: Option<u64>,
}
