//! What the system says about one name or one open file.

use std::io;
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, FileType};

use crate::model::{FileMeta, FolderIdentity};

/// What a name refers to, as far as a scan distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A regular file, the only kind that is ever read.
    File,
    /// A folder.
    Folder,
    /// A symbolic link itself.
    Link,
    /// A FIFO, socket or device.
    Special,
}

impl EntryKind {
    /// The kind that a listing names, `None` where the filesystem leaves it open.
    pub(crate) fn from_hint(file_type: FileType) -> Option<Self> {
        match file_type {
            FileType::Unknown => None,
            FileType::RegularFile => Some(Self::File),
            FileType::Directory => Some(Self::Folder),
            FileType::Symlink => Some(Self::Link),
            _ => Some(Self::Special),
        }
    }

    fn from_type(file_type: FileType) -> Self {
        Self::from_hint(file_type).unwrap_or(Self::Special)
    }
}

/// The state of a file or folder at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: EntryKind,
    /// Size, times, inode and link count.
    pub meta: FileMeta,
    /// Device number: identifies a filesystem while it stays mounted.
    pub dev: u64,
    /// Mount id, `None` if the system does not say. It differs between two
    /// bind mounts of one device, and between a folder and a mount point in it.
    pub mount: Option<u64>,
}

impl Stat {
    /// Whether this is a regular file, the only kind that is ever read.
    pub fn is_file(&self) -> bool {
        self.kind == EntryKind::File
    }

    /// The pair that identifies this file while the system runs.
    pub fn id(&self) -> FileId {
        FileId {
            dev: self.dev,
            ino: self.meta.ino,
        }
    }
}

/// Device and inode: which file a name leads to, while the system runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
}

impl FileId {
    /// The file that `path` leads to, links followed, as an open would find it.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        Ok(of_name(rustix::fs::CWD, path, AtFlags::empty())?.id())
    }
}

/// The state of the file behind `name` in the folder `dir`.
pub(crate) fn of_name<P: rustix::path::Arg>(
    dir: BorrowedFd<'_>,
    name: P,
    flags: AtFlags,
) -> io::Result<Stat> {
    name.into_with_c_str(|name| system::of_name(dir, name, flags))
        .map_err(Into::into)
}

/// The state of the open file or folder `fd`.
pub(crate) fn of_fd(fd: impl AsFd) -> io::Result<Stat> {
    system::of_fd(fd.as_fd()).map_err(Into::into)
}

/// The state of an open file without its mount, which takes a sixth less time
/// and is asked for twice with every file that is read.
pub(crate) fn of_file(fd: impl AsFd) -> io::Result<Stat> {
    portable::of_fd(fd.as_fd()).map_err(Into::into)
}

/// Which folder `fd` is; `None` where the filesystem does not keep when folders were
/// made.
pub(crate) fn folder_identity(fd: impl AsFd) -> io::Result<Option<FolderIdentity>> {
    system::folder_identity(fd.as_fd()).map_err(Into::into)
}

/// Seconds and nanoseconds as one number, clamped to what an `i64` holds (the
/// years 1677 to 2262).
fn nanoseconds(seconds: i64, nanos: i64) -> i64 {
    let exact = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    let clamped = exact.clamp(i64::MIN.into(), i64::MAX.into());
    i64::try_from(clamped).expect("clamped to the range of i64")
}

/// `statx`, which alone returns the mount id, and plain `stat` on kernels and in
/// sandboxes that have none.
#[cfg(target_os = "linux")]
mod system {
    use std::ffi::CStr;

    use rustix::fd::BorrowedFd;
    use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, StatxTimestamp, makedev};
    use rustix::io::{Errno, Result, retry_on_intr};

    use super::{EntryKind, Stat, nanoseconds, portable};
    use crate::model::{FileMeta, FolderIdentity};

    const FIELDS: StatxFlags = StatxFlags::TYPE
        .union(StatxFlags::NLINK)
        .union(StatxFlags::MTIME)
        .union(StatxFlags::CTIME)
        .union(StatxFlags::INO)
        .union(StatxFlags::SIZE)
        .union(StatxFlags::BLOCKS)
        .union(StatxFlags::MNT_ID);

    /// As fresh as `stat` would be: cheaper cached answers of network
    /// filesystems would hide changes. And like `stat`, never mount anything.
    const FLAGS: AtFlags = AtFlags::STATX_SYNC_AS_STAT.union(AtFlags::NO_AUTOMOUNT);

    pub(crate) fn of_name(dir: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> Result<Stat> {
        match retry_on_intr(|| rustix::fs::statx(dir, name, flags | FLAGS, FIELDS)) {
            Ok(statx) => Ok(from_statx(&statx)),
            Err(Errno::NOSYS) => portable::of_name(dir, name, flags),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn of_fd(fd: BorrowedFd<'_>) -> Result<Stat> {
        match retry_on_intr(|| rustix::fs::statx(fd, c"", FLAGS | AtFlags::EMPTY_PATH, FIELDS)) {
            Ok(statx) => Ok(from_statx(&statx)),
            Err(Errno::NOSYS) => portable::of_fd(fd),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn folder_identity(fd: BorrowedFd<'_>) -> Result<Option<FolderIdentity>> {
        const ASKED: StatxFlags = StatxFlags::INO.union(StatxFlags::BTIME);
        match retry_on_intr(|| rustix::fs::statx(fd, c"", FLAGS | AtFlags::EMPTY_PATH, ASKED)) {
            Ok(statx) => {
                let is_told = StatxFlags::from_bits_retain(statx.stx_mask).contains(ASKED);
                Ok(is_told.then(|| FolderIdentity {
                    ino: statx.stx_ino,
                    born_ns: time(&statx.stx_btime),
                }))
            }
            Err(Errno::NOSYS) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn time(at: &StatxTimestamp) -> i64 {
        nanoseconds(at.tv_sec, at.tv_nsec.into())
    }

    fn from_statx(statx: &Statx) -> Stat {
        let answered = StatxFlags::from_bits_retain(statx.stx_mask);
        Stat {
            kind: EntryKind::from_type(FileType::from_raw_mode(statx.stx_mode.into())),
            meta: FileMeta {
                size: statx.stx_size,
                allocated: statx.stx_blocks.saturating_mul(512),
                mtime_ns: time(&statx.stx_mtime),
                ctime_ns: time(&statx.stx_ctime),
                ino: statx.stx_ino,
                nlink: statx.stx_nlink.into(),
            },
            dev: makedev(statx.stx_dev_major, statx.stx_dev_minor),
            mount: answered
                .contains(StatxFlags::MNT_ID)
                .then_some(statx.stx_mnt_id),
        }
    }
}

#[cfg(not(target_os = "linux"))]
use portable as system;

/// `stat` as every Unix has it.
mod portable {
    use std::ffi::CStr;

    use rustix::fd::BorrowedFd;
    use rustix::fs::{AtFlags, FileType};
    use rustix::io::{Result, retry_on_intr};

    use super::{EntryKind, Stat, nanoseconds};
    use crate::model::FileMeta;

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn folder_identity(
        _fd: BorrowedFd<'_>,
    ) -> Result<Option<crate::model::FolderIdentity>> {
        Ok(None)
    }

    pub(crate) fn of_name(dir: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> Result<Stat> {
        retry_on_intr(|| rustix::fs::statat(dir, name, flags)).map(|stat| from_stat(&stat))
    }

    pub(crate) fn of_fd(fd: BorrowedFd<'_>) -> Result<Stat> {
        retry_on_intr(|| rustix::fs::fstat(fd)).map(|stat| from_stat(&stat))
    }

    /// The field types differ from system to system, and none is wider or
    /// negative where it counts, so that plain casts are right on all of them.
    #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation)]
    #[allow(clippy::cast_possible_wrap, clippy::unnecessary_cast)]
    fn from_stat(stat: &rustix::fs::Stat) -> Stat {
        Stat {
            kind: EntryKind::from_type(FileType::from_raw_mode(stat.st_mode)),
            meta: FileMeta {
                size: stat.st_size as u64,
                allocated: (stat.st_blocks as u64).saturating_mul(512),
                mtime_ns: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
                ctime_ns: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
                ino: stat.st_ino as u64,
                nlink: stat.st_nlink as u64,
            },
            dev: stat.st_dev as u64,
            mount: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use super::*;

    #[test]
    fn times_are_signed_and_clamped() {
        assert_eq!(nanoseconds(0, 1), 1);
        assert_eq!(nanoseconds(-1, 999_999_999), -1);
        assert_eq!(nanoseconds(-2, 500_000_000), -1_500_000_000);
        assert_eq!(nanoseconds(i64::MAX, 0), i64::MAX);
        assert_eq!(nanoseconds(i64::MIN, 999_999_999), i64::MIN);
    }

    fn stat_with_mtime(mtime: SystemTime) -> Stat {
        let file = tempfile::tempfile().unwrap();
        file.set_modified(mtime).unwrap();
        let stat = of_fd(&file).unwrap();
        assert_eq!(of_file(&file).unwrap().meta, stat.meta);
        stat
    }

    #[test]
    fn times_before_1970_and_in_the_future_are_exact() {
        let old = stat_with_mtime(UNIX_EPOCH - Duration::new(1_000_000, 250));
        assert_eq!(old.meta.mtime_ns, -1_000_000_000_000_250);
        let far = stat_with_mtime(UNIX_EPOCH + Duration::new(7_000_000_000, 1));
        assert_eq!(far.meta.mtime_ns, 7_000_000_000_000_000_001);
    }

    #[test]
    fn a_sparse_file_has_less_allocated_than_its_size() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(100 << 20).unwrap();
        let stat = of_fd(&file).unwrap();
        assert_eq!(stat.meta.size, 100 << 20);
        assert!(stat.meta.allocated < stat.meta.size, "{stat:?}");
    }

    #[test]
    fn statx_and_stat_agree() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![1; 5000]).unwrap();
        let mut expected = of_fd(&file).unwrap();
        expected.mount = None;
        assert_eq!(portable::of_fd(file.as_fd()).unwrap(), expected);
        assert_eq!(FileId::of_path(file.path()).unwrap(), expected.id());
    }

    #[test]
    fn a_file_id_follows_links_and_hard_links() {
        let dir = tempfile::tempdir().unwrap();
        let [file, hard, soft] = ["file", "hard", "soft"].map(|name| dir.path().join(name));
        drop(File::create(&file).unwrap());
        std::fs::hard_link(&file, &hard).unwrap();
        std::os::unix::fs::symlink(&file, &soft).unwrap();
        let id = FileId::of_path(&file).unwrap();
        assert_eq!(FileId::of_path(&hard).unwrap(), id);
        assert_eq!(FileId::of_path(&soft).unwrap(), id);
        assert_ne!(FileId::of_path(dir.path()).unwrap(), id);
        assert!(FileId::of_path(&dir.path().join("none")).is_err());
    }
}
