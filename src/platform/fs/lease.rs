//! Read leases: whether another program has a file open for writing, or begins to.

use super::file::OpenFile;

/// Holds for as long as no program opens the file for writing: whoever wants to
/// waits until the lease is given back, 45 s at most by the defaults of Linux. So
/// keep it for a short time only, and one at a time of each open file.
#[derive(Debug)]
pub struct ReadLease<'f> {
    file: &'f OpenFile,
}

/// Why there is no lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLease {
    /// A program has the file open for writing, or mapped.
    OpenForWriting,
    /// The system does not say: the file belongs to another user, or the filesystem
    /// shows files that can also be reached in another way.
    Unknown,
}

impl OpenFile {
    /// Takes a lease on the file, if no program has it open for writing.
    pub fn lease(&self) -> Result<ReadLease<'_>, NoLease> {
        ReadLease::take(self)
    }

    /// Whether the system says that a program has the file open for writing.
    pub fn is_open_for_writing(&self) -> bool {
        matches!(self.lease(), Err(NoLease::OpenForWriting))
    }
}

impl<'f> ReadLease<'f> {
    /// Takes a lease on a file that no program has open for writing.
    pub(super) fn take(file: &'f OpenFile) -> Result<Self, NoLease> {
        match file.write_traces().in_leases {
            true => system::take(file.fd()).map(|()| Self { file }),
            false => Err(NoLease::Unknown),
        }
    }

    /// Whether no program has tried to open the file for writing since.
    pub fn holds(&self) -> bool {
        system::holds(self.file.fd())
    }
}

impl Drop for ReadLease<'_> {
    fn drop(&mut self) {
        system::give_back(self.file.fd());
    }
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "no safe wrapper knows leases")]
mod system {
    use std::os::fd::{AsRawFd, BorrowedFd};
    use std::sync::Once;

    use super::NoLease;

    pub(super) fn take(fd: BorrowedFd<'_>) -> Result<(), NoLease> {
        ignore_broken_leases();
        match lease(fd, libc::F_RDLCK) {
            Ok(()) => Ok(()),
            Err(libc::EAGAIN) => Err(NoLease::OpenForWriting),
            Err(_) => Err(NoLease::Unknown),
        }
    }

    pub(super) fn holds(fd: BorrowedFd<'_>) -> bool {
        // SAFETY: the descriptor is open, and the command takes no argument.
        let held = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETLEASE) };
        held == libc::F_RDLCK
    }

    pub(super) fn give_back(fd: BorrowedFd<'_>) {
        // Closing the file would do it too.
        lease(fd, libc::F_UNLCK).unwrap_or_default();
    }

    fn lease(fd: BorrowedFd<'_>, kind: libc::c_int) -> Result<(), libc::c_int> {
        // SAFETY: the descriptor is open, and the argument is a number.
        let done = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETLEASE, kind) };
        match done {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        }
    }

    /// Whoever breaks a lease sends SIGIO, which ends a process that does not expect
    /// it.
    fn ignore_broken_leases() {
        static IGNORED: Once = Once::new();
        IGNORED.call_once(|| {
            // SAFETY: no function is installed, and nothing here waits for SIGIO.
            unsafe { libc::signal(libc::SIGIO, libc::SIG_IGN) };
        });
    }
}

/// Other systems have no leases.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::os::fd::BorrowedFd;

    use super::NoLease;

    pub(super) fn take(_fd: BorrowedFd<'_>) -> Result<(), NoLease> {
        Err(NoLease::Unknown)
    }

    pub(super) fn holds(_fd: BorrowedFd<'_>) -> bool {
        false
    }

    pub(super) fn give_back(_fd: BorrowedFd<'_>) {}
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs::{self, File, OpenOptions};
    use std::io::ErrorKind;
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;
    use crate::platform::testing::skipped;
    use crate::platform::{Dir, Links};

    fn file_in(folder: &std::path::Path) -> OpenFile {
        fs::write(folder.join("file"), "content").unwrap();
        let dir = Dir::open_root(folder).unwrap();
        dir.open_file("file".as_ref(), Links::Refuse).unwrap()
    }

    #[test]
    fn a_lease_tells_who_has_a_file_open_for_writing() {
        let folder = tempfile::tempdir().unwrap();
        let file = file_in(folder.path());
        let name = folder.path().join("file");
        let writer = OpenOptions::new().append(true).open(&name).unwrap();
        match file.lease() {
            Err(NoLease::OpenForWriting) => {}
            other => return skipped(&format!("the filesystem has no leases: {other:?}")),
        }
        drop(writer);
        let _reader = File::open(&name).unwrap();
        assert!(file.lease().unwrap().holds());
        // The lease was given back.
        OpenOptions::new().append(true).open(&name).unwrap();
    }

    #[test]
    fn a_broken_lease_no_longer_holds_and_ends_no_process() {
        let folder = tempfile::tempdir().unwrap();
        let file = file_in(folder.path());
        let Ok(lease) = file.lease() else {
            return skipped("the filesystem has no leases");
        };
        assert!(lease.holds());
        let mut writer = OpenOptions::new();
        writer.append(true).custom_flags(libc::O_NONBLOCK);
        let refused = writer.open(folder.path().join("file")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::WouldBlock);
        assert!(!lease.holds());
    }
}
