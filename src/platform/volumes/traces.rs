//! How a filesystem shows that its files are being written.

use std::cell::Cell;

use rustix::fd::BorrowedFd;

use super::fstype::FsType;
use super::identity;

/// What shows that a file is written through a memory mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteTraces {
    /// Whether a lease is refused while any program has the file open for writing.
    pub(crate) in_leases: bool,
    /// Whether the times move with the first write to a page after the page was
    /// written to the disk. Where nothing is written to a disk, they move once.
    pub in_times: bool,
}

impl WriteTraces {
    /// Of the filesystem of an open file whose device number is `dev`.
    pub(crate) fn of(file: BorrowedFd<'_>, dev: u64) -> Self {
        thread_local! {
            // Asking costs a system call, and most files are where the last one was.
            static LAST: Cell<Option<(u64, WriteTraces)>> = const { Cell::new(None) };
        }
        match LAST.get() {
            Some((last, traces)) if last == dev => traces,
            _ => {
                let traces = identity::fstype(file).map_or(Self::NONE, Self::on);
                LAST.set(Some((dev, traces)));
                traces
            }
        }
    }

    /// Nothing is known.
    const NONE: Self = Self {
        in_leases: false,
        in_times: true,
    };

    fn on(fstype: FsType) -> Self {
        Self {
            in_leases: fstype.knows_all_writers(),
            in_times: !fstype.is_in_memory(),
        }
    }
}
