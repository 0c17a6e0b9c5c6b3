//! The holes of open files: what need not be read because it is known to be zeros.

use crate::model::sampling::{ZERO_BLOCK, most_zeros};
use crate::platform::{FileExtent, OpenFile};

/// Most holes that are counted before a file is read. What is not known then is
/// found out while reading.
const MOST_COUNTED: usize = 1 << 16;

/// The hole or the data last met in a file that is read from front to back.
pub(crate) struct Holes {
    extent: FileExtent,
}

impl Holes {
    /// Nothing is asked about a file before its first byte is wanted, and never about
    /// one without holes.
    pub(crate) fn of(file: &OpenFile) -> Self {
        let unknown = FileExtent {
            is_hole: false,
            end: 0,
        };
        let extent = match file.has_holes() {
            true => unknown,
            false => FileExtent::DATA,
        };
        Self { extent }
    }

    /// Whether a stretch is all hole.
    pub(crate) fn are_all_of(&mut self, file: &OpenFile, offset: u64, length: u64) -> bool {
        self.end_from(file, offset) >= offset + length
    }

    /// How far there are whole blocks of hole from `offset` on, which is the start of
    /// one; `offset` itself where there is none.
    pub(crate) fn blocks_from(&mut self, file: &OpenFile, offset: u64) -> u64 {
        let (end, size) = (self.end_from(file, offset), file.opened_as().meta.size);
        match end < size {
            true => offset.max(end - end % ZERO_BLOCK),
            false => size,
        }
    }

    /// The end of the hole at `offset`; `offset` itself where there is data.
    fn end_from(&mut self, file: &OpenFile, offset: u64) -> u64 {
        if offset >= self.extent.end {
            self.extent = file.extent_at(offset);
        }
        match self.extent.is_hole {
            true => self.extent.end,
            false => offset,
        }
    }
}

/// Whether the holes alone are more zeros than a content with an ordinary digest has.
pub(crate) fn is_surely_sparse(file: &OpenFile) -> bool {
    let size = file.opened_as().meta.size;
    if size <= most_zeros() || !file.has_holes() {
        return false;
    }
    let mut holes = Holes::of(file);
    let (mut offset, mut zeros) = (0, 0);
    for _ in 0..MOST_COUNTED {
        let end = holes.blocks_from(file, offset);
        zeros += end - offset;
        if zeros > most_zeros() {
            return true;
        }
        let next = holes
            .extent
            .end
            .max(end)
            .checked_next_multiple_of(ZERO_BLOCK);
        match next.filter(|next| *next < size) {
            Some(next) => offset = next,
            None => return false,
        }
    }
    false
}
