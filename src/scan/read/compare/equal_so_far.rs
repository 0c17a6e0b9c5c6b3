//! Files of one class that agree in everything read so far, and how a chunk of
//! each tells them apart.

use std::path::PathBuf;

use crate::access::content::CHUNK;
use crate::catalog::WorkCopy;
use crate::hash::{Hasher, fingerprint};
use crate::platform::{AlignedBuffer, Extent, OpenFile};

/// A file being read.
pub(crate) struct Member<'c> {
    pub(crate) copy: &'c WorkCopy,
    pub(crate) file: OpenFile,
    /// Its number in the item, and its path, for whoever watches.
    pub(crate) part: usize,
    pub(crate) path: PathBuf,
    /// The hole or data last met in a sparse file.
    extent: Extent,
}

impl<'c> Member<'c> {
    pub(crate) fn new(copy: &'c WorkCopy, file: OpenFile, part: usize, path: PathBuf) -> Self {
        // Looked up at the first chunk; a file without holes never is.
        let unknown = Extent {
            is_hole: false,
            end: 0,
        };
        let extent = if file.has_holes() {
            unknown
        } else {
            Extent::DATA
        };
        Self {
            copy,
            file,
            part,
            path,
            extent,
        }
    }

    /// Whether a stretch is all hole: zeros that need not be read.
    pub(crate) fn is_hole(&mut self, offset: u64, length: u64) -> bool {
        if offset >= self.extent.end {
            self.extent = self.file.extent_at(offset);
        }
        self.extent.is_hole && offset + length <= self.extent.end
    }
}

/// Files that agreed in everything read so far.
pub(crate) struct Lane {
    pub(crate) members: Vec<usize>,
    /// Bytes read, found equal and hashed.
    pub(crate) offset: u64,
    pub(crate) hasher: Hasher,
    /// Whether a file that is left alone must be hashed to the end: it has to
    /// be compared, by digest, with one that is not read here or failed.
    pub(crate) must_digest: bool,
}

/// A lane whose next chunk was read and is being hashed.
pub(crate) struct Part {
    lane: Lane,
    buffer: AlignedBuffer,
    length: usize,
}

impl Part {
    /// The lane in front of a chunk that fills so much of the buffer.
    pub(crate) fn new(lane: Lane, buffer: AlignedBuffer, length: usize) -> Self {
        Self {
            lane,
            buffer,
            length,
        }
    }

    /// The lane's hasher, and what it has to take in.
    pub(crate) fn work(&mut self) -> (&mut Hasher, &[u8]) {
        (&mut self.lane.hasher, &self.buffer[..self.length])
    }

    /// The lane behind the chunk, which was hashed, and the free buffer.
    pub(crate) fn into_lane(mut self) -> (Lane, AlignedBuffer) {
        self.lane.offset += self.length as u64;
        (self.lane, self.buffer)
    }
}

/// Buffers for chunks that are not in use. The one that was used last, which
/// the processor still has at hand, is the next to be used.
#[derive(Default)]
pub(crate) struct Buffers(Vec<AlignedBuffer>);

impl Buffers {
    /// A free buffer of [`CHUNK`] bytes.
    pub(crate) fn take(&mut self) -> AlignedBuffer {
        self.0.pop().unwrap_or_else(|| AlignedBuffer::new(CHUNK))
    }

    /// Takes a buffer back.
    pub(crate) fn give_back(&mut self, buffer: AlignedBuffer) {
        self.0.push(buffer);
    }
}

/// The members of a lane, sorted by the content of their next chunk.
pub(crate) struct Sorting<'b> {
    buffers: &'b mut Buffers,
    /// The buffer to read the next member's chunk into.
    fresh: AlignedBuffer,
    length: usize,
    kinds: Vec<Kind>,
}

/// Members whose chunk is that in the buffer.
pub(crate) struct Kind {
    pub(crate) members: Vec<usize>,
    pub(crate) buffer: AlignedBuffer,
    /// Of all but the first kind, which every chunk is compared with.
    fingerprint: u64,
}

impl<'b> Sorting<'b> {
    pub(crate) fn new(buffers: &'b mut Buffers, length: usize) -> Self {
        Self {
            fresh: buffers.take(),
            buffers,
            length,
            kinds: Vec::new(),
        }
    }

    /// Where to read the next member's chunk to.
    pub(crate) fn fresh(&mut self) -> &mut [u8] {
        &mut self.fresh[..self.length]
    }

    /// Puts a member, whose chunk was just read, to those that agree with it.
    pub(crate) fn add(&mut self, member: usize) {
        match self.matching() {
            Ok(kind) => self.kinds[kind].members.push(member),
            Err(fingerprint) => self.kinds.push(Kind {
                members: vec![member],
                buffer: std::mem::replace(&mut self.fresh, self.buffers.take()),
                fingerprint,
            }),
        }
    }

    /// The kind that the fresh chunk belongs to, or its fingerprint. Comparing
    /// it with each of many chunks that begin alike would take longer than
    /// hashing it: beyond the first, only those of equal fingerprint are.
    fn matching(&self) -> Result<usize, u64> {
        let chunk = &self.fresh[..self.length];
        let is_equal = |kind: &Kind| kind.buffer[..self.length] == *chunk;
        let Some(first) = self.kinds.first() else {
            return Err(0);
        };
        if is_equal(first) {
            return Ok(0);
        }
        let fingerprint = fingerprint(0, chunk);
        let mut others = self.kinds.iter().skip(1);
        others
            .position(|kind| kind.fingerprint == fingerprint && is_equal(kind))
            .map(|other| other + 1)
            .ok_or(fingerprint)
    }

    /// The members of each kind, with the buffer that holds their chunk.
    pub(crate) fn finish(self) -> Vec<Kind> {
        self.buffers.give_back(self.fresh);
        self.kinds
    }
}
