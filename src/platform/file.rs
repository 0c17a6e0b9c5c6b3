//! Reading one regular file.

use std::io;

use rustix::fd::OwnedFd;
use rustix::io::{Errno, retry_on_intr};

use super::stat::{self, EntryKind, Stat};

/// A regular file open for reading, together with its state when it was opened.
#[derive(Debug)]
pub struct OpenFile {
    fd: OwnedFd,
    opened_as: Stat,
}

impl OpenFile {
    /// Takes over a descriptor; refuses whatever is no regular file, with the
    /// `errno` that the system itself has for such a name.
    pub(super) fn new(fd: OwnedFd) -> io::Result<Self> {
        let opened_as = stat::of_fd(&fd)?;
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
        stat::of_fd(&self.fd)
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

    /// Tells the system that the file will be read from front to back.
    pub fn advise_sequential(&self) {
        advise(&self.fd, Pattern::Sequential);
    }

    /// Asks the system to forget what it holds of the file in memory, so that
    /// reading asks the disk. Pages that are not written yet, or that another
    /// process has mapped, stay.
    pub fn forget_cached(&self) {
        advise(&self.fd, Pattern::Forget);
    }

    /// Tells the system not to read ahead.
    pub fn advise_random(&self) {
        advise(&self.fd, Pattern::Random);
    }
}

#[derive(Clone, Copy)]
enum Pattern {
    Sequential,
    Random,
    Forget,
}

/// Advice is free to fail: reading works without it.
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn advise(fd: &OwnedFd, pattern: Pattern) {
    use rustix::fs::Advice;
    let advice = match pattern {
        Pattern::Sequential => Advice::Sequential,
        Pattern::Random => Advice::Random,
        Pattern::Forget => Advice::DontNeed,
    };
    rustix::fs::fadvise(fd, 0, None, advice).ok();
}

/// Elsewhere the system's own guess at the pattern has to do.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn advise(_fd: &OwnedFd, pattern: Pattern) {
    match pattern {
        Pattern::Sequential | Pattern::Random | Pattern::Forget => {}
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
