//! The files of a catalog: which belong to it, and what is checked and created
//! before SQLite opens it.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::error::CatalogError;

/// The files that belong to a catalog; a scan skips them. They are beside what a
/// link leads to.
pub fn own_files(catalog: &Path) -> [PathBuf; 5] {
    let catalog = &real_path(catalog).unwrap_or_else(|_| catalog.to_owned());
    [
        catalog.clone(),
        with_suffix(catalog, "-wal"),
        with_suffix(catalog, "-shm"),
        with_suffix(catalog, "-journal"),
        lock_path(catalog),
    ]
}

/// Whether a path is one of the catalog's files, or would become one.
pub fn belongs_to(catalog: &Path, path: &Path) -> bool {
    let files = own_files(catalog);
    let real = real_path(path).unwrap_or_else(|_| path.to_owned());
    files.contains(&real) || fs::metadata(path).is_ok_and(|found| is_one_of(&found, &files))
}

fn is_one_of(found: &Metadata, files: &[PathBuf]) -> bool {
    let is_found = |file: Metadata| (file.dev(), file.ino()) == (found.dev(), found.ino());
    let mut files = files.iter().map(fs::metadata);
    files.any(|file| file.is_ok_and(is_found))
}

/// The path of a file without links: under two paths a catalog would have two
/// locks. There need not be a file yet, only its folder.
pub(crate) fn real_path(file: &Path) -> io::Result<PathBuf> {
    match (file.canonicalize(), file.file_name()) {
        (Err(error), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
            let folder = file.parent().filter(|p| !p.as_os_str().is_empty());
            Ok(folder.unwrap_or(Path::new(".")).canonicalize()?.join(name))
        }
        (path, _) => path,
    }
}

/// Where a catalog is, or will be, once nothing there was found that somebody
/// planted: whoever may write to its folder must not lead a command elsewhere.
pub(crate) fn locate(catalog: &Path) -> Result<PathBuf, CatalogError> {
    refuse_folder(catalog)?;
    let io_error = |source| CatalogError::Io {
        path: catalog.to_owned(),
        source,
    };
    let real = real_path(catalog).map_err(io_error)?;
    let files = own_files(&real);
    let owner = fs::metadata(&real).ok().map(|found| found.uid());
    for file in files {
        match fs::symlink_metadata(&file) {
            Ok(found) => refuse_planted(&file, &found, owner)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(CatalogError::Io { path: file, source }),
        }
    }
    Ok(real)
}

/// Refuses what this program did not make. `owner` is the catalog's: root may
/// work on the catalog of somebody else, and leaves files of its own there.
pub(crate) fn refuse_planted(
    path: &Path,
    found: &Metadata,
    owner: Option<u32>,
) -> Result<(), CatalogError> {
    let uid = found.uid();
    let problem = if found.is_symlink() {
        "it is a symbolic link"
    } else if !found.is_file() {
        "it is not a regular file"
    } else if found.nlink() > 1 {
        "it has another name (a hard link)"
    } else if uid != 0 && uid != geteuid().as_raw() && Some(uid) != owner {
        "it belongs to another user"
    } else {
        return Ok(());
    };
    Err(CatalogError::Planted {
        path: path.to_owned(),
        problem,
    })
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
fn refuse_folder(path: &Path) -> Result<(), CatalogError> {
    match path.is_dir() {
        true => Err(CatalogError::Folder(path.to_owned())),
        false => Ok(()),
    }
}

/// Where an existing catalog is.
pub(crate) fn require(path: &Path) -> Result<PathBuf, CatalogError> {
    match path.try_exists() {
        Ok(true) => locate(path),
        Ok(false) => Err(CatalogError::Missing(path.to_owned())),
        Err(error) => Err(CatalogError::io(path)(error)),
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
        .map_err(CatalogError::io(parent))
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
        Err(error) => Err(CatalogError::io(path)(error)),
    }
}
