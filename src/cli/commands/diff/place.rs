//! A folder that is compared.

use std::path::PathBuf;

use crate::model::FolderId;

/// A folder that was typed.
pub(crate) struct Place {
    pub(crate) letter: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) tops: Vec<FolderId>,
}
