//! Output files, written atomically: a file appears under its name only when it
//! is complete.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::process::geteuid;
use tempfile::NamedTempFile;

use super::{exit, unfinished};
use crate::catalog::belongs_to;

/// Links in a row before they are taken for a loop, as in the kernel.
const MOST_LINKS: usize = 40;

/// Lets `write` fill the file at `path`. A device or pipe is written directly;
/// the files of `catalog` are refused.
pub(crate) fn fill<T>(
    path: &Path,
    catalog: &Path,
    write: impl FnOnce(&mut File) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let cannot = || format!("cannot write {}", path.display());
    let target = target_of(path).with_context(cannot)?;
    let path = target.as_path();
    if belongs_to(catalog, path) {
        return Err(exit::usage(format_args!(
            "{} belongs to the catalog: choose another file",
            path.display()
        )));
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(exit::usage(format_args!(
            "{} is a folder: expected a file",
            path.display()
        ))),
        Ok(found) if !found.is_file() => {
            let mut file = File::options()
                .write(true)
                .open(path)
                .with_context(cannot)?;
            write(&mut file).with_context(cannot)
        }
        _ => replace(path, write).with_context(cannot),
    }
}

/// The file that a path leads to. A link is followed, not replaced; but not one
/// that another user made, who could lead us to any file that only we can write.
pub(crate) fn target_of(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let found = match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => found,
            _ => return Ok(path),
        };
        if found.uid() != 0 && found.uid() != geteuid().as_raw() {
            return Err(io::Error::other("it is a symbolic link of another user"));
        }
        path = folder_of(&path).join(fs::read_link(&path)?);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// A temporary file beside `path`, to be renamed over it. It gets the permissions
/// and the owner of the file that it replaces, and else what the user's umask
/// gives any new file.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let file = tempfile::Builder::new()
        .prefix(".dupescan-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder_of(path))
        .map_err(|error| plain(&error))?;
    if let Ok(replaced) = fs::metadata(path) {
        // Only root may give a file away; others keep it for themselves.
        fchown(file.as_file(), Some(replaced.uid()), Some(replaced.gid())).ok();
        file.as_file().set_permissions(replaced.permissions())?;
    }
    Ok(file)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn replace<T>(
    path: &Path,
    write: impl FnOnce(&mut File) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let pending = unfinished::pending();
    let mut file = beside(path)?;
    let _unfinished = pending.file(file.path());
    let result = write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(result)
}

/// The system's error without the temporary file's name.
fn plain(error: &io::Error) -> io::Error {
    let text = error.to_string();
    let plain = text.split(" at path ").next().unwrap_or_default();
    io::Error::new(error.kind(), plain.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_file_is_replaced_only_when_all_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.csv");
        let catalog = Path::new("/no/catalog.db");
        fs::write(&path, "old").unwrap();
        let failed = fill(&path, catalog, |file| -> anyhow::Result<()> {
            file.write_all(b"half")?;
            anyhow::bail!("disk full")
        });
        let error = format!("{:#}", failed.unwrap_err());
        assert!(
            error.contains("report.csv") && error.contains("disk full"),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"old");
        fill(&path, catalog, |file| Ok(file.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), 1);
    }

    #[test]
    fn links_are_written_through_and_devices_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let catalog = Path::new("/no/catalog.db");
        fill(&link, catalog, |file| Ok(file.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        fill(Path::new("/dev/null"), catalog, |file| {
            Ok(file.write_all(b"x")?)
        })
        .unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn a_file_of_the_catalog_is_known_through_a_linked_folder() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        fs::create_dir(folder.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        // Neither file is there yet.
        assert!(belongs_to(&link.join("c.db"), &link.join("c.db-wal")));
        assert!(!belongs_to(&link.join("c.db"), &link.join("metrics")));
    }

    #[test]
    fn the_catalog_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = folder.path().join("catalog.db");
        fs::write(&catalog, "precious").unwrap();
        for path in [catalog.as_path(), folder.path()] {
            assert!(fill(path, &catalog, |_| Ok(())).is_err());
        }
        assert_eq!(fs::read(&catalog).unwrap(), b"precious");
    }
}
