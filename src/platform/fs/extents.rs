//! Where the blocks of a file are on its disk. Any user may ask this of a file
//! that is open for reading.

use std::io;

use super::file::OpenFile;

/// What to do about content that is only in memory yet, and so has no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwritten {
    /// Write it to the disk first, so that all extents have a place.
    Write,
    /// Leave it: its extents have no place, or are missing.
    Leave,
}

/// A stretch of a file that is in one piece on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskExtent {
    /// Where in the file it begins.
    pub logical: u64,
    /// Where on the disk it begins; meaningless unless [`DiskExtent::has_place`].
    pub physical: u64,
    /// How many bytes of the file it holds; compressed, it takes fewer on the disk.
    pub length: u64,
    flags: u32,
}

impl DiskExtent {
    /// Whether its place on the disk is known, and in whole blocks of its own.
    pub fn has_place(&self) -> bool {
        !self.has(flag::UNKNOWN | flag::DELAYED | flag::INLINE | flag::TAIL)
    }

    /// Whether its content is inside the metadata of the filesystem, or in a block
    /// that it shares with those of other files.
    pub fn is_inline(&self) -> bool {
        self.has(flag::INLINE | flag::TAIL)
    }

    /// Whether it is compressed or encrypted: `length` does not say how many bytes
    /// of the disk it takes.
    pub fn is_encoded(&self) -> bool {
        self.has(flag::ENCODED)
    }

    /// Whether other files, snapshots or parts of the same file use the same blocks.
    pub fn is_shared(&self) -> bool {
        self.has(flag::SHARED)
    }

    fn has(&self, any: u32) -> bool {
        self.flags & any != 0
    }
}

/// The extents of an open file, in the order of the file. Holes have none; blocks
/// that are reserved but not written have.
#[derive(Debug)]
pub struct Extents<'f> {
    file: &'f OpenFile,
    batch: std::vec::IntoIter<DiskExtent>,
    /// Where the next batch begins; `None` after the last one.
    next: Option<u64>,
}

/// Extents that are asked for in one call.
const BATCH: usize = 128;

impl OpenFile {
    /// Its extents; `None` if the filesystem does not tell.
    pub fn extents(&self, unwritten: Unwritten) -> io::Result<Option<Extents<'_>>> {
        let Some(first) = system::extents::<BATCH>(self.fd(), 0, unwritten)? else {
            return Ok(None);
        };
        let mut extents = Extents {
            file: self,
            batch: Vec::new().into_iter(),
            next: None,
        };
        extents.accept(first);
        Ok(Some(extents))
    }

    /// Where on the disk it begins, in one cheap call. `None` if the filesystem does
    /// not tell, or if the file has no block of its own yet.
    pub fn first_place(&self) -> Option<u64> {
        let first = system::extents::<1>(self.fd(), 0, Unwritten::Leave);
        let first = first.ok()??.into_iter().next()?;
        first.has_place().then_some(first.physical)
    }
}

impl Extents<'_> {
    fn accept(&mut self, batch: Vec<DiskExtent>) {
        let last = batch.last().filter(|last| !last.has(flag::LAST));
        self.next = last.map(|last| last.logical.saturating_add(last.length));
        self.batch = batch.into_iter();
    }
}

impl Iterator for Extents<'_> {
    type Item = io::Result<DiskExtent>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(extent) = self.batch.next() {
            return Some(Ok(extent));
        }
        let start = self.next.take()?;
        // What was in memory has been written for the first batch.
        match system::extents::<BATCH>(self.file.fd(), start, Unwritten::Leave) {
            Ok(batch) => self.accept(batch.unwrap_or_default()),
            Err(error) => return Some(Err(error)),
        }
        self.batch.next().map(Ok)
    }
}

/// What an extent is, as Linux names it in `linux/fiemap.h`.
mod flag {
    pub(super) const LAST: u32 = 0x0001;
    pub(super) const UNKNOWN: u32 = 0x0002;
    pub(super) const DELAYED: u32 = 0x0004;
    pub(super) const ENCODED: u32 = 0x0008;
    pub(super) const INLINE: u32 = 0x0200;
    pub(super) const TAIL: u32 = 0x0400;
    pub(super) const SHARED: u32 = 0x2000;
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "no safe wrapper knows extents")]
mod system {
    use std::io;
    use std::os::fd::{AsRawFd, BorrowedFd};

    use rustix::io::{Errno, retry_on_intr};

    use super::{DiskExtent, Unwritten};

    /// `struct fiemap_extent`.
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct RawExtent {
        logical: u64,
        physical: u64,
        length: u64,
        reserved: [u64; 2],
        flags: u32,
        reserved_too: [u32; 3],
    }

    /// `struct fiemap` without the array at its end.
    #[repr(C)]
    struct Question {
        start: u64,
        length: u64,
        flags: u32,
        mapped: u32,
        room: u32,
        reserved: u32,
    }

    #[repr(C)]
    struct Request<const N: usize> {
        question: Question,
        extents: [RawExtent; N],
    }

    const WRITE_FIRST: u32 = 1;
    const FIEMAP: rustix::ioctl::Opcode = rustix::ioctl::opcode::read_write::<Question>(b'f', 11);

    /// At most `N` extents from an offset on; `None` if the filesystem does not tell.
    pub(super) fn extents<const N: usize>(
        fd: BorrowedFd<'_>,
        start: u64,
        unwritten: Unwritten,
    ) -> io::Result<Option<Vec<DiskExtent>>> {
        let mut request = Request {
            question: Question {
                start,
                length: u64::MAX - start,
                flags: match unwritten {
                    Unwritten::Write => WRITE_FIRST,
                    Unwritten::Leave => 0,
                },
                mapped: 0,
                room: u32::try_from(N).unwrap_or(u32::MAX),
                reserved: 0,
            },
            extents: [RawExtent::default(); N],
        };
        match retry_on_intr(|| ask(fd, &mut request)) {
            Ok(()) => {}
            // ENOTTY comes from what has no such call at all, EBADR from what
            // cannot write first.
            Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS | Errno::BADR) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let mapped = request
            .extents
            .iter()
            .take(request.question.mapped as usize);
        Ok(Some(mapped.map(DiskExtent::from).collect()))
    }

    fn ask<const N: usize>(fd: BorrowedFd<'_>, request: &mut Request<N>) -> Result<(), Errno> {
        let request: *mut Request<N> = request;
        // SAFETY: the descriptor is open; the kernel writes a `Question` and at most
        // as many extents as it says there is room for, which follow it.
        match unsafe { libc::ioctl(fd.as_raw_fd(), FIEMAP as _, request) } {
            -1 => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
            _ => Ok(()),
        }
    }

    impl From<&RawExtent> for DiskExtent {
        fn from(raw: &RawExtent) -> Self {
            Self {
                logical: raw.logical,
                physical: raw.physical,
                length: raw.length,
                flags: raw.flags,
            }
        }
    }
}

/// Other systems do not tell.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;
    use std::os::fd::BorrowedFd;

    use super::{DiskExtent, Unwritten};

    pub(super) fn extents<const N: usize>(
        _fd: BorrowedFd<'_>,
        _start: u64,
        _unwritten: Unwritten,
    ) -> io::Result<Option<Vec<DiskExtent>>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::platform::Volume;
    use crate::platform::testing::skipped;

    const BLOCK: u64 = 64 << 10;

    fn opened(file: &File) -> OpenFile {
        OpenFile::new(file.try_clone().unwrap().into()).unwrap()
    }

    /// A file with `pieces` blocks of data, a hole after each.
    fn file_in_pieces(pieces: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        for piece in 0..pieces {
            let content = vec![piece.to_le_bytes()[0] | 1; 64 << 10];
            file.write_all_at(&content, 2 * piece * BLOCK).unwrap();
        }
        file
    }

    fn all(file: &OpenFile) -> Option<Vec<DiskExtent>> {
        let extents = file.extents(Unwritten::Write).unwrap();
        if extents.is_none() {
            skipped("this filesystem does not tell where files are");
        }
        Some(extents?.collect::<io::Result<_>>().unwrap())
    }

    #[test]
    fn the_extents_of_a_file_are_its_data_without_its_holes() {
        let file = opened(&file_in_pieces(3));
        let Some(extents) = all(&file) else {
            return;
        };
        let length: u64 = extents.iter().map(|extent| extent.length).sum();
        assert_eq!(length, 3 * BLOCK, "{extents:?}");
        let is_data = |extent: &DiskExtent| (extent.logical / BLOCK).is_multiple_of(2);
        assert!(extents.iter().all(is_data), "{extents:?}");
        assert!(extents.iter().all(DiskExtent::has_place), "{extents:?}");
        assert_eq!(file.first_place(), Some(extents[0].physical));
    }

    #[test]
    fn more_extents_than_one_call_gives_come_in_order_and_once() {
        let pieces = 3 * BATCH as u64 / 2;
        let file = opened(&file_in_pieces(pieces));
        let Some(extents) = all(&file) else {
            return;
        };
        assert!(extents.len() as u64 >= pieces);
        assert!(extents.is_sorted_by(|a, b| a.logical + a.length <= b.logical));
        let length: u64 = extents.iter().map(|extent| extent.length).sum();
        assert_eq!(length, pieces * BLOCK);
    }

    #[test]
    fn an_empty_file_is_nowhere() {
        let file = opened(&tempfile::tempfile().unwrap());
        assert_eq!(file.first_place(), None);
        assert!(all(&file).is_none_or(|extents| extents.is_empty()));
    }

    #[test]
    fn what_tells_no_extents_is_no_error() {
        let Ok(file) = tempfile::tempfile_in("/dev/shm") else {
            return skipped("there is no /dev/shm");
        };
        file.write_all_at(&[1; 10_000], 0).unwrap();
        let file = opened(&file);
        if Volume::type_of(&file).unwrap() != "tmpfs" {
            return skipped("/dev/shm is no tmpfs");
        }
        assert!(file.extents(Unwritten::Write).unwrap().is_none());
        assert_eq!(file.first_place(), None);
    }
}
