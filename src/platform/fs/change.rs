//! Changing names: moves that never replace anything, folders of one's own, and
//! what makes a change outlast a power cut.

use std::ffi::OsStr;
use std::fs::File;
use std::io;

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, RawMode, fdatasync, flock, fsync, mkdirat, openat,
    unlinkat,
};
use rustix::io::{Errno, retry_on_intr};

use super::dir::Dir;
use super::file::OpenFile;
use super::open::plain_name;
use super::resolve::FOLDER;
use super::resolve::PASSAGE;
use super::stat;

/// How a file that this program made is opened: never through a link, and never
/// waiting.
const OWN_FILE: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// Who owns a file or folder, and who may do what with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ownership {
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The permission bits.
    pub mode: u32,
}

impl Ownership {
    fn of(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let stat = rustix::fs::fstat(fd)?;
        Ok(Self {
            uid: stat.st_uid,
            gid: stat.st_gid,
            mode: stat.st_mode & 0o7777,
        })
    }
}

/// The user that this process acts as.
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

impl Dir {
    /// Moves the entry `name` into the folder `to`, as `new_name`. An entry of that
    /// name is never replaced: then it fails with `EEXIST`. Filesystems that cannot
    /// promise it fail with `EINVAL`, other filesystems with `EXDEV`.
    pub fn move_entry(&self, name: &OsStr, to: &Self, new_name: &OsStr) -> io::Result<()> {
        let (name, new_name) = (plain_name(name)?, plain_name(new_name)?);
        Ok(retry_on_intr(|| {
            system::move_entry(self.as_fd(), name, to.as_fd(), new_name)
        })?)
    }

    /// Makes the folder `name` with exactly these permissions, and opens it. One
    /// that exists fails with `EEXIST`.
    pub fn make_folder(&self, name: &OsStr, mode: u32) -> io::Result<Self> {
        let name = plain_name(name)?;
        let mode = Mode::from_raw_mode(RawMode::from(mode));
        retry_on_intr(|| mkdirat(self.as_fd(), name, Mode::RWXU))?;
        let made = self.open_folder(name)?;
        if mode != Mode::RWXU {
            rustix::fs::fchmod(made.as_fd(), mode)?;
        }
        Ok(made)
    }

    /// Opens the folder `name`, which must not be a link.
    pub fn open_folder(&self, name: &OsStr) -> io::Result<Self> {
        let (name, flags) = (plain_name(name)?, FOLDER | OFlags::NOFOLLOW);
        let fd = retry_on_intr(|| openat(self.as_fd(), name, flags, Mode::empty()))?;
        Ok(Self::from_fd(fd))
    }

    /// Opens the folder that this one is in.
    pub fn parent(&self) -> io::Result<Self> {
        let fd = retry_on_intr(|| openat(self.as_fd(), c"..", FOLDER, Mode::empty()))?;
        Ok(Self::from_fd(fd))
    }

    /// The folder that this one is in, only to look at it and to go on from there: it
    /// need not be readable.
    pub fn passage_up(&self) -> io::Result<Self> {
        let fd = retry_on_intr(|| openat(self.as_fd(), c"..", PASSAGE, Mode::empty()))?;
        Ok(Self::from_fd(fd))
    }

    /// Opens the file `name` to add to its end; makes it, private, where there is
    /// none.
    pub fn append_to(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OWN_FILE;
        self.open_own(name, flags)
    }

    /// Opens the file `name` of this program to read it.
    pub fn open_to_read(&self, name: &OsStr) -> io::Result<File> {
        self.open_own(name, OFlags::RDONLY | OWN_FILE)
    }

    fn open_own(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        let (name, mode) = (plain_name(name)?, Mode::RUSR | Mode::WUSR);
        let fd = retry_on_intr(|| openat(self.as_fd(), name, flags, mode))?;
        Ok(File::from(fd))
    }

    /// Deletes the entry `name`, which must not be a folder.
    pub fn delete_entry(&self, name: &OsStr) -> io::Result<()> {
        let name = plain_name(name)?;
        Ok(retry_on_intr(|| {
            unlinkat(self.as_fd(), name, AtFlags::empty())
        })?)
    }

    /// Deletes the folder `name` if it is empty.
    pub fn delete_folder(&self, name: &OsStr) -> io::Result<()> {
        let name = plain_name(name)?;
        Ok(retry_on_intr(|| {
            unlinkat(self.as_fd(), name, AtFlags::REMOVEDIR)
        })?)
    }

    /// Locks it against other processes until it is closed; `WouldBlock` where one
    /// of them has it locked.
    pub fn try_lock(&self) -> io::Result<()> {
        let exclusive = FlockOperation::NonBlockingLockExclusive;
        Ok(retry_on_intr(|| flock(self.as_fd(), exclusive))?)
    }

    /// Waits until the names in it are on the disk.
    pub fn sync(&self) -> io::Result<()> {
        Ok(retry_on_intr(|| fsync(self.as_fd()))?)
    }

    /// Waits until everything on its filesystem is on the disk.
    pub fn sync_filesystem(&self) -> io::Result<()> {
        system::sync_filesystem(self.as_fd())
    }

    /// Free bytes of its filesystem, those reserved for root included.
    pub fn free_bytes(&self) -> io::Result<u64> {
        let filesystem = rustix::fs::fstatvfs(self.as_fd())?;
        Ok(filesystem.f_bfree.saturating_mul(filesystem.f_frsize))
    }

    /// Its owner and permissions.
    pub fn ownership(&self) -> io::Result<Ownership> {
        Ownership::of(self.as_fd())
    }

    /// Gives it to another owner and group; only root may.
    pub fn give_to(&self, owner: Ownership) -> io::Result<()> {
        let (uid, gid) = (
            rustix::fs::Uid::from_raw(owner.uid),
            rustix::fs::Gid::from_raw(owner.gid),
        );
        Ok(rustix::fs::fchown(self.as_fd(), Some(uid), Some(gid))?)
    }
}

impl OpenFile {
    /// Waits until its content is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        match retry_on_intr(|| fdatasync(self.as_fd())) {
            // A file on a filesystem that only reads is there already.
            Err(Errno::ROFS | Errno::INVAL) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Its owner and permissions.
    pub fn ownership(&self) -> io::Result<Ownership> {
        Ownership::of(self.as_fd())
    }

    /// Its present state with its mount, which [`OpenFile::stat`] leaves away.
    pub fn stat_with_mount(&self) -> io::Result<stat::Stat> {
        stat::of_fd(self.as_fd())
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::OsStr;
    use std::io;

    use rustix::fd::BorrowedFd;
    use rustix::fs::{RenameFlags, renameat_with, syncfs};

    pub(super) fn move_entry(
        from: BorrowedFd<'_>,
        name: &OsStr,
        to: BorrowedFd<'_>,
        new_name: &OsStr,
    ) -> rustix::io::Result<()> {
        renameat_with(from, name, to, new_name, RenameFlags::NOREPLACE)
    }

    pub(super) fn sync_filesystem(fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(syncfs(fd)?)
    }
}

/// Other systems are not known to move without replacing.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::ffi::OsStr;
    use std::io;

    use rustix::fd::BorrowedFd;
    use rustix::io::Errno;

    pub(super) fn move_entry(
        _: BorrowedFd<'_>,
        _: &OsStr,
        _: BorrowedFd<'_>,
        _: &OsStr,
    ) -> rustix::io::Result<()> {
        Err(Errno::NOSYS)
    }

    pub(super) fn sync_filesystem(fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(rustix::fs::fsync(fd)?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree() -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("a"), "one").unwrap();
        fs::write(temp.path().join("b"), "two").unwrap();
        let dir = Dir::open_root(temp.path()).unwrap();
        (temp, dir)
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_move_never_replaces() {
        let (temp, dir) = tree();
        let folder = dir.make_folder("f".as_ref(), 0o700).unwrap();
        let taken = dir.move_entry("a".as_ref(), &dir, "b".as_ref());
        assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        dir.move_entry("a".as_ref(), &folder, "1".as_ref()).unwrap();
        assert_eq!(fs::read(temp.path().join("f/1")).unwrap(), b"one");
        assert_eq!(fs::read(temp.path().join("b")).unwrap(), b"two");
        folder.sync().unwrap();
        folder.sync_filesystem().unwrap();
    }

    #[test]
    fn a_folder_is_made_once_with_its_permissions() {
        let (_temp, dir) = tree();
        let made = dir.make_folder("f".as_ref(), 0o750).unwrap();
        assert_eq!(made.ownership().unwrap().mode, 0o750);
        assert_eq!(made.ownership().unwrap().uid, effective_user());
        let again = dir.make_folder("f".as_ref(), 0o700).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(
            made.parent().unwrap().stat().unwrap().id(),
            dir.stat().unwrap().id()
        );
    }

    #[test]
    fn links_and_paths_are_no_folders_to_open() {
        let (temp, dir) = tree();
        std::os::unix::fs::symlink("/", temp.path().join("link")).unwrap();
        assert!(dir.open_folder("link".as_ref()).is_err());
        assert!(dir.open_folder("..".as_ref()).is_err());
        assert!(dir.delete_entry("f/a".as_ref()).is_err());
    }
}
