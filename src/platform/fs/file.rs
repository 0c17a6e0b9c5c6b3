//! Reading one regular file.

use std::io;
use std::num::NonZeroU64;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, retry_on_intr};

use super::stat;
use super::stat::{EntryKind, Stat};
use crate::platform::volumes::{Nature, WriteTraces, identity};

/// A regular file open for reading, together with its state when it was opened.
#[derive(Debug)]
pub struct OpenFile {
    fd: OwnedFd,
    opened_as: Stat,
}

impl OpenFile {
    /// Takes over a descriptor; refuses anything but a regular file, with the
    /// `errno` that the system itself has for such a name.
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        let opened_as = stat::of_file(&fd)?;
        Self::opened(fd, opened_as)
    }

    /// A descriptor whose state was asked for by the caller.
    pub(crate) fn opened(fd: OwnedFd, opened_as: Stat) -> io::Result<Self> {
        match opened_as.kind {
            EntryKind::File => Ok(Self { fd, opened_as }),
            EntryKind::Folder => Err(Errno::ISDIR.into()),
            EntryKind::Link => Err(Errno::LOOP.into()),
            EntryKind::Special => Err(Errno::NXIO.into()),
        }
    }

    /// The state at the time of opening: compare it before reading.
    pub fn opened_as(&self) -> &Stat {
        &self.opened_as
    }

    /// The present state: compare it after reading.
    pub fn stat(&self) -> io::Result<Stat> {
        stat::of_file(&self.fd)
    }

    /// Fills `buffer` from `offset` on; fewer bytes than asked for mean the end
    /// of the file. After an error the buffer's content is unspecified.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let rest = &mut buffer[filled..];
            match retry_on_intr(|| rustix::io::pread(&self.fd, &mut *rest, offset + filled as u64))?
            {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }

    /// Whether the file may have holes, and the system can be trusted to tell
    /// them from data: less is allocated than it is long.
    pub fn has_holes(&self) -> bool {
        self.opened_as.meta.allocated < self.opened_as.meta.size && tells_holes(&self.fd)
    }

    /// The hole or the data at `offset`. If the system cannot say, it counts as
    /// data.
    pub fn extent_at(&self, offset: u64) -> FileExtent {
        extent_at(&self.fd, offset)
    }

    /// How its filesystem shows that the file is being written.
    pub fn write_traces(&self) -> WriteTraces {
        WriteTraces::of(self.fd(), self.opened_as.dev)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Tells the system that the file will be read from front to back.
    pub fn advise_sequential(&self) {
        advise(&self.fd, Pattern::Sequential, 0, None);
    }

    /// Asks the system to drop its cached pages of the file, so that
    /// reading asks the disk. Pages that are not written yet, or that another
    /// process has mapped, stay.
    pub fn forget_cached(&self) {
        advise(&self.fd, Pattern::Forget, 0, None);
    }

    /// Tells the system not to read ahead.
    pub fn advise_random(&self) {
        advise(&self.fd, Pattern::Random, 0, None);
    }

    /// Asks the system to read a stretch into memory, without waiting for it.
    pub fn advise_will_need(&self, offset: u64, length: u64) {
        if let Some(length) = NonZeroU64::new(length) {
            advise(&self.fd, Pattern::WillNeed, offset, Some(length));
        }
    }
}

impl AsFd for OpenFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A stretch of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileExtent {
    /// Whether it reads as zeros because nothing was ever written there.
    pub is_hole: bool,
    /// Where it ends.
    pub end: u64,
}

impl FileExtent {
    /// Data to the end of the file.
    pub const DATA: Self = Self {
        is_hole: false,
        end: u64::MAX,
    };
}

/// Zeros are only taken for granted where the kernel itself keeps the files.
/// Servers and FUSE daemons are not asked, and neither is ZFS: before 2.2.2
/// it called data a hole that was not yet on the disk.
fn tells_holes(fd: &OwnedFd) -> bool {
    identity::fstype(fd.as_fd())
        .is_ok_and(|fstype| fstype.nature == Nature::Local && fstype.name != "zfs")
}

#[cfg(target_os = "linux")]
fn extent_at(fd: &OwnedFd, offset: u64) -> FileExtent {
    use rustix::fs::{SeekFrom, seek};
    // Reading is by offset, so that moving the descriptor's position is free.
    match seek(fd, SeekFrom::Data(offset)) {
        Ok(data) if data > offset => FileExtent {
            is_hole: true,
            end: data,
        },
        // No data from here to the end.
        Err(Errno::NXIO) => FileExtent {
            is_hole: true,
            end: u64::MAX,
        },
        Ok(_) => seek(fd, SeekFrom::Hole(offset)).map_or(FileExtent::DATA, |hole| FileExtent {
            is_hole: false,
            end: hole.max(offset + 1),
        }),
        Err(_) => FileExtent::DATA,
    }
}

#[cfg(not(target_os = "linux"))]
fn extent_at(_fd: &OwnedFd, _offset: u64) -> FileExtent {
    FileExtent::DATA
}

#[derive(Clone, Copy)]
enum Pattern {
    Sequential,
    Random,
    WillNeed,
    Forget,
}

/// Advice may fail: reading works without it.
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn advise(fd: &OwnedFd, pattern: Pattern, offset: u64, length: Option<NonZeroU64>) {
    use rustix::fs::Advice;
    let advice = match pattern {
        Pattern::Sequential => Advice::Sequential,
        Pattern::Random => Advice::Random,
        Pattern::WillNeed => Advice::WillNeed,
        Pattern::Forget => Advice::DontNeed,
    };
    rustix::fs::fadvise(fd, offset, length, advice).ok();
}

/// Elsewhere the system's own guess at the pattern has to do.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn advise(_fd: &OwnedFd, pattern: Pattern, _offset: u64, _length: Option<NonZeroU64>) {
    match pattern {
        Pattern::Sequential | Pattern::Random | Pattern::WillNeed | Pattern::Forget => {}
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn open(content: &[u8]) -> (OpenFile, std::fs::File) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let opened = OpenFile::new(file.try_clone().unwrap().into()).unwrap();
        (opened, file)
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn holes_are_told_from_data() {
        use std::os::unix::fs::FileExt;
        const MIB: u64 = 1 << 20;
        let file = tempfile::tempfile().unwrap();
        file.set_len(8 * MIB).unwrap();
        file.write_all_at(b"data", 4 * MIB).unwrap();
        let opened = OpenFile::new(file.try_clone().unwrap().into()).unwrap();
        if !opened.extent_at(0).is_hole {
            crate::platform::testing::skipped("this filesystem does not tell holes");
            return;
        }
        assert!(opened.has_holes());
        let first = opened.extent_at(0);
        assert!(first.end <= 4 * MIB && first.end > 3 * MIB, "{first:?}");
        let data = opened.extent_at(4 * MIB);
        assert!(
            !data.is_hole && data.end > 4 * MIB && data.end < 5 * MIB,
            "{data:?}"
        );
        assert!(opened.extent_at(5 * MIB).is_hole);
        assert_eq!(opened.extent_at(5 * MIB).end, u64::MAX);
        let (full, _keep) = open(&[1; 10_000]);
        assert!(!full.extent_at(0).is_hole);
    }

    #[test]
    fn read_at_fills_the_buffer_or_ends_at_the_end() {
        let (file, _keep) = open(b"0123456789");
        file.advise_sequential();
        file.advise_random();
        file.forget_cached();
        let mut buffer = [0; 4];
        assert_eq!(file.read_at(&mut buffer, 2).unwrap(), 4);
        assert_eq!(&buffer, b"2345");
        assert_eq!(file.read_at(&mut buffer, 8).unwrap(), 2);
        assert_eq!(&buffer[..2], b"89");
        assert_eq!(file.read_at(&mut buffer, 10).unwrap(), 0);
        assert_eq!(file.read_at(&mut buffer, 1 << 40).unwrap(), 0);
        assert_eq!(file.read_at(&mut [], 0).unwrap(), 0);
    }

    #[test]
    fn an_offset_beyond_what_the_system_knows_is_an_error() {
        let (file, _keep) = open(b"x");
        assert!(file.read_at(&mut [0; 8], u64::MAX).is_err());
    }

    #[test]
    fn the_state_when_opened_stays_and_the_present_one_moves() {
        let (file, mut other) = open(b"before");
        other.write_all(b" and after").unwrap();
        assert_eq!(file.opened_as().meta.size, 6);
        assert_eq!(file.stat().unwrap().meta.size, 16);
        assert_eq!(file.opened_as().id(), file.stat().unwrap().id());
    }

    #[test]
    fn a_folder_is_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let fd = std::fs::File::open(dir.path()).unwrap();
        let error = OpenFile::new(fd.into()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }
}
