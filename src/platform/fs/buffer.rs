//! Read buffers that start on a page boundary.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// A zeroed byte buffer that starts on a page boundary.
///
/// It allocates one page too many and skips to the boundary: that needs no
/// `unsafe`, and the block never moves because it never grows.
pub struct AlignedBuffer {
    block: Box<[u8]>,
    start: usize,
    len: usize,
}

impl AlignedBuffer {
    /// The alignment of every buffer. Large blocks from the allocator start at
    /// page + 16, which makes reads from the page cache several times slower.
    pub const PAGE: usize = 4096;

    /// Allocates `len` zero bytes.
    pub fn new(len: usize) -> Self {
        let block = vec![0; len + Self::PAGE - 1].into_boxed_slice();
        let start = block.as_ptr().align_offset(Self::PAGE);
        Self { block, start, len }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.block[self.start..self.start + self.len]
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.block[self.start..self.start + self.len]
    }
}

impl fmt::Debug for AlignedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBuffer({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_starts_on_a_page() {
        let buffers: Vec<_> = [0, 1, 4095, 4096, 4097, 65_536, 1 << 20]
            .into_iter()
            .map(|len| (len, AlignedBuffer::new(len)))
            .collect();
        for (len, buffer) in &buffers {
            assert_eq!(buffer.len(), *len);
            assert_eq!(
                buffer.as_ptr().addr() % AlignedBuffer::PAGE,
                0,
                "length {len}"
            );
        }
    }

    #[test]
    fn a_buffer_keeps_its_bytes_and_place_across_threads() {
        let mut buffer = AlignedBuffer::new(10_000);
        buffer[9_999] = 7;
        let place = buffer.as_ptr().addr();
        let buffer = std::thread::spawn(move || buffer).join().unwrap();
        assert_eq!(buffer[9_999], 7);
        assert_eq!(buffer.as_ptr().addr(), place);
    }
}
