//! The lock that every command changing the catalog holds: `flock` on a side
//! file, so that it dies with its holder. The catalog itself is never opened
//! for this, because closing a second descriptor would drop SQLite's locks.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::CatalogError;

/// Exclusive use of a catalog, for as long as the value lives.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock at once, or names the process that holds it.
    pub fn take(catalog: &Path, command: &str) -> Result<Self, CatalogError> {
        let path = lock_path(catalog);
        let failed = |source| CatalogError::NotWritable {
            path: catalog.to_owned(),
            source,
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(CatalogError::Locked {
                    path: catalog.to_owned(),
                    holder: holder(&mut file),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        sign(&mut file, command).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

/// The side file of a catalog.
pub(crate) fn lock_path(catalog: &Path) -> PathBuf {
    super::open::with_suffix(catalog, ".lock")
}

fn sign(file: &mut File, command: &str) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "process {} (dupescan {command})", std::process::id())
}

/// What the holder wrote about itself; it may just be starting.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.take(200).read_to_string(&mut text) {
        Ok(read) if read > 0 => text,
        _ => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_is_told_who_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = folder.path().join("catalog.db");
        let first = Lock::take(&catalog, "scan").unwrap();
        let error = Lock::take(&catalog, "purge").unwrap_err().to_string();
        assert!(
            error.contains(&format!("process {} (dupescan scan)", std::process::id())),
            "{error}"
        );
        drop(first);
        Lock::take(&catalog, "purge").unwrap();
    }
}
