//! Copies the catalog while it is in use. The copy is written atomically, and
//! never replaces anything but an older copy.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempPath;

use crate::catalog::store::{CatalogError, ReadOnly, belongs_to, has_wal, schema};

impl ReadOnly {
    /// Writes a consistent copy of the catalog to `to`, atomically replacing an
    /// older copy; works while a scan writes. What `guard` returns lives as long as
    /// the temporary file that it is given.
    pub fn backup<G>(&self, to: &Path, guard: impl FnOnce(&Path) -> G) -> Result<(), CatalogError> {
        // Follow a link, or a nightly job would replace the link.
        let target = fs::canonicalize(to).unwrap_or_else(|_| to.to_owned());
        self.refuse_unsafe(&target)?;
        let failed = CatalogError::io(&target);
        let copy = private_file_beside(&target).map_err(&failed)?;
        let _guard = guard(&copy);
        self.copy_into(&copy).map_err(|error| error.at(&target))?;
        File::open(&copy)
            .and_then(|file| file.sync_all())
            .map_err(&failed)?;
        copy.persist(&target).map_err(|error| failed(error.error))?;
        File::open(folder_of(&target))
            .and_then(|folder| folder.sync_all())
            .map_err(&failed)
    }

    /// All pages in one step: one snapshot, which does not hold up the writer. The
    /// file is never created here: a signal may just have removed it.
    fn copy_into(&self, path: &Path) -> Result<(), CatalogError> {
        let mut copy = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // The copy counts only once it is synced and renamed: no journal is needed.
        copy.pragma_update(None, "journal_mode", "OFF")?;
        copy.pragma_update(None, "synchronous", "OFF")?;
        Backup::new(&self.connection, &mut copy)?.step(-1)?;
        Ok(())
    }

    fn refuse_unsafe(&self, target: &Path) -> Result<(), CatalogError> {
        let refuse = |reason: &str| {
            Err(CatalogError::BadTarget {
                path: target.to_owned(),
                reason: reason.to_owned(),
            })
        };
        if belongs_to(self.path(), target) {
            return refuse("it belongs to the catalog itself");
        }
        let found = match fs::metadata(target) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(CatalogError::io(target)(error)),
        };
        if !found.is_file() {
            return refuse("it is not a regular file");
        }
        if found.len() > 0 && !is_catalog(target).map_err(CatalogError::io(target))? {
            return refuse("it is not a dupescan catalog");
        }
        // SQLite would play the leftover changes into the new file.
        if has_wal(target) {
            return refuse("it is a catalog in use");
        }
        Ok(())
    }
}

/// An empty file with mode 0600 that is deleted unless it is persisted.
fn private_file_beside(target: &Path) -> io::Result<TempPath> {
    tempfile::Builder::new()
        .prefix(".dupescan-backup-")
        .tempfile_in(folder_of(target))
        .map(tempfile::NamedTempFile::into_temp_path)
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Whether the head of a file is that of a catalog. Not for a catalog that
/// this process has open: closing the file would drop SQLite's locks.
fn is_catalog(path: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(path)?.take(100).read_to_end(&mut head)?;
    let application = head.get(68..72).map(<[u8]>::to_vec);
    Ok(head.starts_with(b"SQLite format 3\0")
        && application == Some(schema::APPLICATION_ID.to_be_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::catalog::testing::{Bed, file};

    fn drop_nothing(_: &Path) {}

    fn names_in(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_copy_is_private_complete_and_alone() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a", 10, 1), file("b", 10, 2)]);
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("copy.db");
        for _ in 0..2 {
            bed.reader().backup(&to, drop_nothing).unwrap();
            assert_eq!(names_in(folder.path()), ["copy.db"]);
        }
        let mode = fs::metadata(&to).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let copy = ReadOnly::open(&to).unwrap();
        assert_eq!(copy.verify().unwrap(), []);
        assert_eq!(copy.roots().unwrap()[0].files, 2);
    }

    #[test]
    fn a_copy_that_was_removed_is_not_made_again() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a", 10, 1)]);
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("copy.db");
        let remove = |copy: &Path| fs::remove_file(copy).unwrap();
        assert!(bed.reader().backup(&to, remove).is_err());
        assert_eq!(names_in(folder.path()), [""; 0]);
    }

    #[test]
    fn a_copy_made_while_a_scan_writes_is_consistent() {
        let bed = Bed::new();
        bed.scan("/r", &[file("first", 10, 1)]);
        let folder = tempfile::tempdir().unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..40 {
                    let name = format!("d{n}/f");
                    bed.scan("/r", &[file(&name, 20, 100 + n)]);
                }
                done.store(true, Ordering::Relaxed);
            });
            let to = folder.path().join("copy.db");
            while !done.load(Ordering::Relaxed) {
                bed.reader().backup(&to, drop_nothing).unwrap();
                assert_eq!(ReadOnly::open(&to).unwrap().verify().unwrap(), []);
            }
        });
    }

    #[test]
    fn nothing_but_an_older_copy_is_replaced() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a", 10, 1)]);
        let folder = tempfile::tempdir().unwrap();
        let letter = folder.path().join("letter.txt");
        fs::write(&letter, "Dear Ann").unwrap();
        let alias = folder.path().join("alias");
        std::os::unix::fs::symlink(bed.path(), &alias).unwrap();
        let lock = crate::catalog::store::lock_path(bed.path());
        for (to, reason) in [
            (letter.as_path(), "not a dupescan catalog"),
            (folder.path(), "not a regular file"),
            (bed.path(), "the catalog itself"),
            (&alias, "the catalog itself"),
            (&lock, "the catalog itself"),
            (Path::new("/dev/null"), "not a regular file"),
        ] {
            let error = bed
                .reader()
                .backup(to, drop_nothing)
                .unwrap_err()
                .to_string();
            assert!(error.contains(reason), "{error}");
        }
        assert_eq!(fs::read(&letter).unwrap(), b"Dear Ann");
        let missing = folder.path().join("no/such/folder/copy.db");
        let error = bed
            .reader()
            .backup(&missing, drop_nothing)
            .unwrap_err()
            .to_string();
        assert!(error.contains("no/such/folder"), "{error}");
        assert_eq!(names_in(folder.path()), ["alias", "letter.txt"]);
    }

    #[test]
    fn a_catalog_in_use_is_not_replaced() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a", 10, 1)]);
        let other = Bed::new();
        let writer = other.open();
        writer.mark_orphans().unwrap();
        writer
            .connection
            .execute("UPDATE catalog SET unsettled = 1", [])
            .unwrap();
        let error = bed
            .reader()
            .backup(other.path(), drop_nothing)
            .unwrap_err()
            .to_string();
        assert!(error.contains("in use"), "{error}");
    }
}
