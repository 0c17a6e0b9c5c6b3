//! Files of one class that agree in everything read so far, and how a chunk of
//! each tells them apart.

use std::ops::{Deref, DerefMut};

use crate::access::content::CHUNK;
use crate::hash::{ContentHasher, Hasher, fingerprint};
use crate::platform::AlignedBuffer;

/// Files, by their number in the class, that agree in everything read so far.
pub(super) struct EqualSoFar {
    pub(super) members: Vec<usize>,
    /// Bytes read, found equal and hashed.
    pub(super) offset: u64,
    pub(super) hasher: ContentHasher,
    /// Whether a file that equals no other must be hashed to the end all the same:
    /// it has to be compared, by its digest, with one that is not read here or failed.
    pub(super) must_digest: bool,
}

/// Files that agree in their next chunk, too, which is still to be hashed.
pub(super) struct WithChunk {
    equal: EqualSoFar,
    chunk: Chunk,
}

impl WithChunk {
    pub(super) fn new(equal: EqualSoFar, chunk: Chunk) -> Self {
        Self { equal, chunk }
    }

    /// The hashers, and the bytes that each is to hash.
    pub(super) fn work(&mut self) -> impl Iterator<Item = (&mut Hasher, &[u8])> {
        self.equal.hasher.pieces(self.equal.offset, &self.chunk)
    }

    /// The files behind the chunk, which was hashed.
    pub(super) fn into_equal(mut self, buffers: &mut Buffers) -> EqualSoFar {
        self.equal.offset += self.chunk.len() as u64;
        buffers.give_back(self.chunk);
        self.equal
    }
}

/// Buffers for chunks that are not in use. The one that was used last, which the
/// processor still has in its cache, is the next to be used.
#[derive(Default)]
pub(crate) struct Buffers(Vec<AlignedBuffer>);

/// A chunk of a file, at most [`CHUNK`] bytes.
pub(crate) struct Chunk {
    buffer: AlignedBuffer,
    length: usize,
}

impl Buffers {
    /// Room for a chunk.
    pub(crate) fn take(&mut self, length: usize) -> Chunk {
        let buffer = self.0.pop().unwrap_or_else(|| AlignedBuffer::new(CHUNK));
        Chunk { buffer, length }
    }

    /// Takes a buffer back.
    pub(crate) fn give_back(&mut self, chunk: Chunk) {
        self.0.push(chunk.buffer);
    }
}

impl Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

impl DerefMut for Chunk {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.length]
    }
}

/// Files sorted by the content of their next chunk.
pub(super) struct Sorting<'b> {
    buffers: &'b mut Buffers,
    /// Where the next file's chunk is read to.
    pub(super) fresh: Chunk,
    kinds: Vec<Kind>,
}

/// Files with the same chunk.
pub(super) struct Kind {
    pub(super) members: Vec<usize>,
    pub(super) chunk: Chunk,
    /// Of all but the first kind, which every chunk is compared with.
    fingerprint: u64,
}

impl<'b> Sorting<'b> {
    pub(super) fn new(buffers: &'b mut Buffers, length: usize) -> Self {
        Self {
            fresh: buffers.take(length),
            buffers,
            kinds: Vec::new(),
        }
    }

    /// Puts a file, whose chunk was just read, to those that agree with it.
    pub(super) fn add(&mut self, member: usize) {
        match self.matching() {
            Ok(kind) => self.kinds[kind].members.push(member),
            Err(fingerprint) => {
                let next = self.buffers.take(self.fresh.len());
                self.kinds.push(Kind {
                    members: vec![member],
                    chunk: std::mem::replace(&mut self.fresh, next),
                    fingerprint,
                });
            }
        }
    }

    /// The kind that the fresh chunk belongs to, or its fingerprint. Comparing
    /// it with each of many chunks that begin alike would take longer than
    /// hashing it: beyond the first, only those of equal fingerprint are.
    fn matching(&self) -> Result<usize, u64> {
        let is_equal = |kind: &Kind| *kind.chunk == *self.fresh;
        let Some(first) = self.kinds.first() else {
            return Err(0);
        };
        if is_equal(first) {
            return Ok(0);
        }
        let fingerprint = fingerprint(0, &self.fresh);
        let mut others = self.kinds.iter().skip(1);
        others
            .position(|kind| kind.fingerprint == fingerprint && is_equal(kind))
            .map(|other| other + 1)
            .ok_or(fingerprint)
    }

    /// The files of each kind, with their chunk.
    pub(super) fn finish(self) -> Vec<Kind> {
        self.buffers.give_back(self.fresh);
        self.kinds
    }
}
