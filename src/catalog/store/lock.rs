//! The lock of every command that changes the catalog: `flock` on a file beside
//! it, which ends with its holder. The catalog itself is never opened
//! for this, because closing a second descriptor would drop SQLite's locks.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;

use super::error::CatalogError;
use super::files::{lock_path, refuse_planted};

/// Longer than checking the holder takes.
const LOOK: Duration = Duration::from_millis(50);

/// Exclusive use of a catalog, for as long as the value lives.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Closing the file is not enough: a process started by another thread holds a
/// copy of the descriptor until it runs its own program.
impl Drop for Lock {
    fn drop(&mut self) {
        self.file.unlock().ok();
    }
}

impl Lock {
    /// Takes the lock at once, or names the process that holds it.
    pub fn take(catalog: &Path, command: &str) -> Result<Self, CatalogError> {
        let failed = |source| CatalogError::NotWritable {
            path: catalog.to_owned(),
            source,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let mut file = open(catalog, &mut options).map_err(failed)?;
        let mut taken = file.try_lock();
        if matches!(taken, Err(TryLockError::WouldBlock)) {
            // Somebody may only be checking who holds it.
            std::thread::sleep(LOOK);
            taken = file.try_lock();
        }
        match taken {
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
        Ok(Self { file })
    }

    /// Who holds the lock of a catalog, if anybody does. An error means that
    /// this user cannot tell.
    pub fn holder(catalog: &Path) -> io::Result<Option<String>> {
        let mut file = match open(catalog, OpenOptions::new().read(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(holder(&mut file))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Opens the lock file. What somebody planted in its place is neither followed
/// nor waited for, nor changed.
fn open(catalog: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let path = lock_path(catalog);
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let file = options.custom_flags(flags.cast_signed()).open(&path)?;
    let owner = catalog.metadata().ok().map(|found| found.uid());
    refuse_planted(&path, &file.metadata()?, owner).map_err(io::Error::other)?;
    Ok(file)
}

fn sign(file: &mut File, command: &str) -> io::Result<()> {
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
        let holder = Lock::holder(&catalog).unwrap().unwrap();
        assert!(holder.ends_with("(dupescan scan)"), "{holder}");
        drop(first);
        assert_eq!(Lock::holder(&catalog).unwrap(), None);
        Lock::take(&catalog, "purge").unwrap();
    }

    #[test]
    fn a_copy_of_the_descriptor_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = folder.path().join("catalog.db");
        let first = Lock::take(&catalog, "scan").unwrap();
        let _copy_of_a_child = first.file.try_clone().unwrap();
        drop(first);
        Lock::take(&catalog, "purge").unwrap();
    }

    #[test]
    fn a_look_at_the_holder_keeps_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = folder.path().join("catalog.db");
        let holder = Lock::holder(&catalog).unwrap();
        assert_eq!(holder, None, "no lock was ever taken");
        drop(Lock::take(&catalog, "scan").unwrap());
        let taken_beside_a_look = || {
            let looking = File::open(lock_path(&catalog)).unwrap();
            looking.try_lock_shared().unwrap();
            std::thread::scope(|scope| {
                let taking = scope.spawn(|| Lock::take(&catalog, "scan").is_ok());
                drop(looking);
                taking.join().unwrap()
            })
        };
        // On a busy machine a look may take long.
        assert!((0..5).any(|_| taken_beside_a_look()));
    }
}
