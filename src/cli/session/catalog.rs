//! Opening the catalog for a command that changes it.

use std::path::Path;

use crate::catalog::{CatalogError, Exclusive};
use crate::model::Algorithm;
use crate::platform::{Dir, Volume};

/// Opens the catalog for `command`, or creates it with `algorithm`.
pub(crate) fn open_or_create(
    path: &Path,
    command: &str,
    algorithm: Option<Algorithm>,
) -> Result<Exclusive, CatalogError> {
    refuse_network(path)?;
    Exclusive::open_or_create(path, command, algorithm.unwrap_or(Algorithm::Sha256))
}

/// SQLite's WAL needs shared memory and locks that network filesystems do not
/// have. Where the folder does not exist yet, its nearest ancestor decides.
fn refuse_network(path: &Path) -> Result<(), CatalogError> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let volume = absolute
        .ancestors()
        .skip(1)
        .find_map(|folder| Dir::open_root(folder).ok())
        .and_then(|dir| Volume::of(&dir, dir.stat().ok()?.dev).ok());
    match volume {
        Some(volume) if volume.network => Err(CatalogError::NotLocal {
            path: path.to_owned(),
            fstype: volume.fstype.to_owned(),
        }),
        _ => Ok(()),
    }
}
