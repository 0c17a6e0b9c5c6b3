//! Files of one class that agree in everything read so far, and how a chunk of
//! each tells them apart.

use std::path::PathBuf;

use super::CHUNK;
use crate::catalog::WorkCopy;
use crate::platform::{AlignedBuffer, Extent, OpenFile};
use crate::scan::fingerprint::fingerprint;
use crate::scan::hasher::Hasher;

/// A file being read.
pub(super) struct Member<'c> {
    pub(super) copy: &'c WorkCopy,
    pub(super) file: OpenFile,
    /// Its number in the item, and its path, for whoever watches.
    pub(super) part: usize,
    pub(super) path: PathBuf,
    /// The hole or data last met in a sparse file.
    extent: Extent,
}

impl<'c> Member<'c> {
    pub(super) fn new(copy: &'c WorkCopy, file: OpenFile, part: usize, path: PathBuf) -> Self {
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
    pub(super) fn is_hole(&mut self, offset: u64, length: u64) -> bool {
        if offset >= self.extent.end {
            self.extent = self.file.extent_at(offset);
        }
        self.extent.is_hole && offset + length <= self.extent.end
    }
}

/// Files that agreed in everything read so far.
pub(super) struct Lane {
    pub(super) members: Vec<usize>,
    /// Bytes read and found equal.
    pub(super) offset: u64,
    pub(super) hasher: Hasher,
    /// Whether a file that is left alone must be hashed to the end: it has to
    /// be compared, by digest, with one that is not read here or failed.
    pub(super) must_digest: bool,
}

/// A lane whose next chunk was read but not hashed.
pub(super) struct Part {
    pub(super) lane: Lane,
    /// Where the chunk is.
    pub(super) buffer: usize,
    pub(super) length: usize,
}

impl Part {
    pub(super) fn chunk<'b>(&self, buffers: &'b [AlignedBuffer]) -> &'b [u8] {
        &buffers[self.buffer][..self.length]
    }

    /// The lane behind its chunk, once that was hashed.
    pub(super) fn advanced(mut self) -> Lane {
        self.lane.offset += self.length as u64;
        self.lane
    }
}

/// The members of a lane, sorted by the content of their next chunk.
pub(super) struct Sorting<'b> {
    buffers: &'b mut Vec<AlignedBuffer>,
    /// The first buffer that is free.
    first: usize,
    length: usize,
    kinds: Vec<Kind>,
}

/// Members whose chunk is that in one of the buffers.
struct Kind {
    members: Vec<usize>,
    /// Of all but the first kind, which every chunk is compared with.
    fingerprint: u64,
}

impl<'b> Sorting<'b> {
    pub(super) fn new(buffers: &'b mut Vec<AlignedBuffer>, first: usize, length: usize) -> Self {
        Self {
            buffers,
            first,
            length,
            kinds: Vec::new(),
        }
    }

    /// The buffer to read the next member's chunk into.
    pub(super) fn fresh(&mut self) -> &mut [u8] {
        let at = self.first + self.kinds.len();
        if self.buffers.len() == at {
            self.buffers.push(AlignedBuffer::new(CHUNK));
        }
        &mut self.buffers[at][..self.length]
    }

    /// Puts a member, whose chunk was just read, to those that agree with it.
    pub(super) fn add(&mut self, member: usize) {
        match self.matching() {
            Ok(kind) => self.kinds[kind].members.push(member),
            Err(fingerprint) => self.kinds.push(Kind {
                members: vec![member],
                fingerprint,
            }),
        }
    }

    /// The kind that the fresh chunk belongs to, or its fingerprint. Comparing
    /// it with each of many chunks that begin alike would take longer than
    /// hashing it: beyond the first, only those of equal fingerprint are.
    fn matching(&self) -> Result<usize, u64> {
        let (known, fresh) = self.buffers[self.first..].split_at(self.kinds.len());
        let chunk = &fresh[0][..self.length];
        let is_equal = |kind: usize| known[kind][..self.length] == *chunk;
        if self.kinds.is_empty() {
            return Err(0);
        }
        if is_equal(0) {
            return Ok(0);
        }
        let fingerprint = fingerprint(0, chunk);
        (1..self.kinds.len())
            .find(|kind| self.kinds[*kind].fingerprint == fingerprint && is_equal(*kind))
            .ok_or(fingerprint)
    }

    /// The members of each kind, with the buffer that holds their chunk.
    pub(super) fn finish(self) -> impl Iterator<Item = (usize, Vec<usize>)> {
        let members = self.kinds.into_iter().map(|kind| kind.members);
        (self.first..).zip(members)
    }
}
