//! The files of a catalog: which belong to it, and what is checked and created
//! before SQLite opens it.

use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::error::CatalogError;

/// The files that belong to a catalog; a scan skips them.
pub fn own_files(catalog: &Path) -> [PathBuf; 5] {
    [
        catalog.to_owned(),
        with_suffix(catalog, "-wal"),
        with_suffix(catalog, "-shm"),
        with_suffix(catalog, "-journal"),
        lock_path(catalog),
    ]
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// The file that a catalog is locked by.
pub(crate) fn lock_path(catalog: &Path) -> PathBuf {
    with_suffix(catalog, ".lock")
}

pub(crate) fn has_wal(path: &Path) -> bool {
    std::fs::metadata(with_suffix(path, "-wal")).is_ok_and(|wal| wal.len() > 0)
}

/// SQLite would report a disk error.
pub(crate) fn refuse_folder(path: &Path) -> Result<(), CatalogError> {
    match path.is_dir() {
        true => Err(CatalogError::Folder(path.to_owned())),
        false => Ok(()),
    }
}

pub(crate) fn require(path: &Path) -> Result<(), CatalogError> {
    refuse_folder(path)?;
    match path.try_exists() {
        Ok(true) => Ok(()),
        Ok(false) => Err(CatalogError::Missing(path.to_owned())),
        Err(source) => Err(CatalogError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}

pub(crate) fn create_parent(path: &Path) -> Result<(), CatalogError> {
    let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) else {
        return Ok(());
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(parent)
        .map_err(|source| CatalogError::Io {
            path: parent.to_owned(),
            source,
        })
}

/// Creates the file with private permissions before SQLite opens it; SQLite
/// gives its side files the same.
pub(crate) fn create_private(path: &Path) -> Result<(), CatalogError> {
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
    {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(CatalogError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}
