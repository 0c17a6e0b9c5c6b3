//! One class that is being read: opening its files, reading their chunks, saving
//! how far large ones came, and what was learned in the end.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use super::super::ahead::ReadAhead;
use super::class::Class;
use super::equal_so_far::{Buffers, EqualSoFar, Kind, Sorting, WithChunk};
use crate::access::content::{CHUNK, chunks, probe_of};
use crate::access::{Holes, can_change_unseen, is_surely_sparse, is_unchanged};
use crate::catalog::{FileOutcome, HashState, WorkCopy};
use crate::hash::{ContentHasher, STATE_FORMAT};
use crate::model::sampling::LARGE;
use crate::model::{now_ns, reclaimable};
use crate::platform::OpenFile;
use crate::scan::context::{ItemContext, Opening};
use crate::scan::engine::Item;

/// A class and how far it was read.
pub(super) struct ClassReading<'c> {
    class: Class<'c>,
    began: i64,
    members: Vec<Member<'c>>,
    /// Files whose next chunk is to be read.
    waiting: Vec<EqualSoFar>,
    /// Files whose next chunk is to be hashed.
    pub(super) read: Vec<WithChunk>,
    /// Files that were read to the end.
    finished: Vec<EqualSoFar>,
    /// Members that changed while they were read.
    changed: Vec<usize>,
}

/// A file being read.
struct Member<'c> {
    copy: &'c WorkCopy,
    file: OpenFile,
    /// Whether it can change without its times telling.
    racy: bool,
    /// Its number in the item, and its path, for the watchdog.
    part: usize,
    path: PathBuf,
    holes: Holes,
    /// Whether its holes alone are too many zeros for an ordinary digest.
    is_surely_sparse: bool,
    /// Bytes of it that are still to be counted as read.
    uncounted: u64,
    /// How far it was asked for, where a head moves.
    ahead: Option<ReadAhead>,
}

/// How far an earlier run came with each file.
type BySavedState = BTreeMap<Option<HashState>, Vec<usize>>;

impl<'c> ClassReading<'c> {
    /// Opens every copy that is still what the catalog says, and puts those
    /// together that agree so far. `part` is the first copy's number.
    pub(super) fn open(item: &mut ItemContext<'_>, class: Class<'c>, part: usize) -> Self {
        let mut reading = Self {
            class,
            began: now_ns(),
            members: Vec::new(),
            waiting: Vec::new(),
            read: Vec::new(),
            finished: Vec::new(),
            changed: Vec::new(),
        };
        let failures = item.report.failures.len();
        let mut by_state = BySavedState::new();
        for (copy, part) in class.copies.iter().zip(part..) {
            if item.is_stopped() {
                return reading;
            }
            if let Some(member) = reading.open_member(item, copy, part) {
                let saved = reading.saved_state(item, copy);
                let members = by_state.entry(saved).or_default();
                members.push(reading.members.len());
                reading.members.push(member);
            }
        }
        let has_failed = item.report.failures.len() > failures;
        reading.begin(item, by_state, class.must_digest || has_failed);
        reading
    }

    /// Puts files together that agree so far.
    fn begin(&mut self, item: &ItemContext<'_>, mut by_state: BySavedState, must_digest: bool) {
        if !must_digest && reads_less_without(&by_state, self.class.size) {
            let all = 0..self.members.len();
            by_state = BTreeMap::from([(None, all.collect())]);
        }
        // What was read to different lengths is compared by digest.
        let must_digest = must_digest || by_state.len() > 1;
        for (saved, members) in by_state {
            let (offset, hasher) = self.restore(item, saved);
            let mut equal = EqualSoFar {
                members,
                offset,
                hasher,
                must_digest,
            };
            self.expect_sparse(&mut equal);
            for member in &equal.members {
                self.members[*member].count(item, equal.offset);
            }
            self.put_back(equal);
        }
    }

    /// Where an earlier run stopped, or the start.
    fn restore(&self, item: &ItemContext<'_>, saved: Option<HashState>) -> (u64, ContentHasher) {
        let (algorithm, size) = (item.run.algorithm, self.class.size);
        let restored = saved.and_then(|saved| {
            let hasher = ContentHasher::restore(algorithm, size, &saved.state)?;
            Some((saved.offset, hasher))
        });
        restored.unwrap_or_else(|| (0, ContentHasher::new(algorithm, size)))
    }

    /// Zeros are hashed only for a file that may yet turn out to have few of them.
    fn expect_sparse(&self, equal: &mut EqualSoFar) {
        let mut members = equal.members.iter();
        if members.all(|member| self.members[*member].is_surely_sparse) {
            equal.hasher.expect_sparse();
        }
    }

    fn open_member(
        &self,
        item: &mut ItemContext<'_>,
        copy: &'c WorkCopy,
        part: usize,
    ) -> Option<Member<'c>> {
        item.worker.set_part(part);
        let again = || Item::hash_alone(copy);
        let Opening::Opened(file, path) = item.open(copy, again) else {
            return None;
        };
        // What is read ahead of a file that may turn out to differ from others is
        // read in vain.
        let is_alone = self.class.copies.len() == 1;
        let mut ahead = match self.class.seeks(item) {
            true => Some(ReadAhead::of_seeking()),
            false => item.is_far().then(ReadAhead::of_far),
        };
        if let Some(ahead) = &mut ahead {
            ahead.from(&file, 0);
        }
        if self.class.size > CHUNK as u64
            && (is_alone || !item.run.disks.reads_far_ahead(copy.volume))
        {
            file.advise_sequential();
        }
        Some(Member {
            holes: Holes::of(&file),
            is_surely_sparse: is_surely_sparse(&file),
            racy: can_change_unseen(&file, &copy.state, self.began),
            uncounted: copy.to_read,
            copy,
            file,
            part,
            path,
            ahead,
        })
    }

    /// How far an earlier run came with a large file.
    fn saved_state(&self, item: &mut ItemContext<'_>, copy: &WorkCopy) -> Option<HashState> {
        if self.class.size < LARGE {
            return None;
        }
        let mut furthest: Option<HashState> = None;
        // It was saved under one of them; which one is the first may have changed.
        for name in &copy.names {
            let catalog = item.opener.catalog();
            let saved = match catalog.hash_state(name, &copy.state, item.run.algorithm) {
                Ok(saved) => saved.filter(|saved| saved.format == STATE_FORMAT),
                Err(error) => {
                    item.report.fatal = Some(error);
                    return None;
                }
            };
            let offset = |state: &Option<HashState>| state.as_ref().map(|state| state.offset);
            furthest = std::cmp::max_by_key(saved, furthest, offset);
        }
        furthest
    }

    /// Takes files back whose chunk was hashed.
    pub(super) fn take_back(&mut self, buffers: &mut Buffers) {
        for read in std::mem::take(&mut self.read) {
            self.put_back(read.into_equal(buffers));
        }
    }

    fn put_back(&mut self, equal: EqualSoFar) {
        if equal.offset >= self.class.size {
            self.finished.push(equal);
        } else {
            self.waiting.push(equal);
        }
    }

    /// Whether it is read where a head moves.
    pub(super) fn seeks(&self, item: &ItemContext<'_>) -> bool {
        self.class.seeks(item)
    }

    /// How many files it may have open.
    pub(super) fn copies(&self) -> usize {
        self.class.copies.len()
    }

    /// Whether nothing of it is left to read.
    pub(super) fn is_done(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Notes how far large files came. A file that is too fresh is skipped: it
    /// could change under its old times before a resume.
    pub(super) fn save(&self, item: &mut ItemContext<'_>) {
        if self.class.size < LARGE {
            return;
        }
        for equal in self.waiting.iter().filter(|equal| equal.offset > 0) {
            let Some(state) = equal.hasher.save() else {
                return;
            };
            let state = HashState {
                algorithm: item.run.algorithm,
                format: STATE_FORMAT,
                offset: equal.offset,
                state,
            };
            for member in &equal.members {
                if !self.members[*member].racy {
                    let outcome = FileOutcome::Partly(state.clone());
                    item.learned_partly(self.members[*member].copy, outcome);
                }
            }
        }
    }

    /// Reads one chunk of every file of some that are equal so far, and splits
    /// them by content. Returns how many chunks are now to be hashed; `None` when
    /// nothing is waiting.
    pub(super) fn step(
        &mut self,
        item: &mut ItemContext<'_>,
        buffers: &mut Buffers,
    ) -> Option<usize> {
        let mut equal = self.waiting.pop()?;
        if self.skip_holes(&mut equal) {
            self.put_back(equal);
            return Some(0);
        }
        let (offset, length) = chunks(equal.offset, self.class.size).next()?;
        let mut sorting = Sorting::new(buffers, length);
        for member in std::mem::take(&mut equal.members) {
            match self.members[member].read(item, &mut sorting.fresh, offset) {
                Ok(true) => sorting.add(member),
                Ok(false) => self.changed.push(member),
                Err(error) => {
                    equal.must_digest = true;
                    let copy = self.members[member].copy;
                    item.failed(copy, &error, || Item::hash_alone(copy));
                }
            }
        }
        let before = self.read.len();
        for kind in sorting.finish() {
            self.split_off(item, &equal, kind, buffers);
        }
        Some(self.read.len() - before)
    }

    /// Passes over what is hole in all of the files, where zeros can be skipped; says
    /// whether there was any.
    fn skip_holes(&mut self, equal: &mut EqualSoFar) -> bool {
        if !equal.hasher.skips_zeros() {
            return false;
        }
        let holes = equal.members.iter().map(|member| {
            let Member { holes, file, .. } = &mut self.members[*member];
            holes.blocks_from(file, equal.offset)
        });
        let end = holes.min().unwrap_or(equal.offset);
        let length = end - equal.offset;
        equal.hasher.skip_zeros(length);
        equal.offset = end;
        length > 0
    }

    /// Splits off the files whose chunk is the same. One that is alone, and need
    /// not be hashed, is done with.
    fn split_off(
        &mut self,
        item: &mut ItemContext<'_>,
        equal: &EqualSoFar,
        kind: Kind,
        buffers: &mut Buffers,
    ) {
        let Kind { members, chunk, .. } = kind;
        if let [alone] = members[..]
            && !equal.must_digest
        {
            let racy = self.members[alone].racy;
            self.note(item, alone, FileOutcome::Settled { racy });
            buffers.give_back(chunk);
            return;
        }
        let mut equal = EqualSoFar {
            members,
            hasher: equal.hasher.clone(),
            ..*equal
        };
        self.expect_sparse(&mut equal);
        self.read.push(WithChunk::new(equal, chunk));
    }

    /// Gives files that were read to the end their digest, and notes the state
    /// that changed ones are in now.
    pub(super) fn conclude(&mut self, item: &mut ItemContext<'_>) {
        for equal in std::mem::take(&mut self.finished) {
            let Some(digest) = equal.hasher.finish() else {
                self.changed.extend(equal.members);
                continue;
            };
            let compared = (equal.members.len() > 1).then(|| item.run.comparison());
            let members = equal.members.iter().map(|member| &self.members[*member]);
            let saved = reclaimable(members.map(|member| member.copy.to_read));
            item.run.metrics.reclaimable.add(saved);
            for member in equal.members {
                let outcome = FileOutcome::Digested {
                    digest,
                    compared,
                    racy: self.members[member].racy,
                };
                self.note(item, member, outcome);
            }
        }
        for member in std::mem::take(&mut self.changed) {
            let Member { copy, file, .. } = &self.members[member];
            item.changed(copy, file);
        }
    }

    /// Keeps what was learned if the file is still what it was when opened.
    fn note(&mut self, item: &mut ItemContext<'_>, member: usize, outcome: FileOutcome) {
        // The rest need not be read, which makes it done.
        self.members[member].count(item, u64::MAX);
        let Member {
            copy, file, racy, ..
        } = &self.members[member];
        let probe = match self.class.is_unprobed {
            true => probe_of(file).ok().flatten(),
            false => None,
        };
        if is_unchanged(file).is_ok_and(|is_unchanged| is_unchanged) {
            item.run.metrics.files_hashed.add(1);
            if let Some(probe) = probe {
                item.learned(copy, FileOutcome::Probed { probe, racy: *racy });
            }
            item.learned(copy, outcome);
        } else {
            self.changed.push(member);
        }
    }
}

impl Member<'_> {
    /// Reads a chunk; `false` when the file became shorter.
    fn read(
        &mut self,
        item: &mut ItemContext<'_>,
        chunk: &mut [u8],
        offset: u64,
    ) -> io::Result<bool> {
        let length = chunk.len();
        let read = if self.holes.are_all_of(&self.file, offset, length as u64) {
            chunk.fill(0);
            item.worker.progress(0);
            length
        } else {
            item.worker.begin_part(self.part, &self.path);
            if let Some(ahead) = &mut self.ahead {
                ahead.from(&self.file, offset);
            }
            let read = item.read(&self.file, chunk, offset)?;
            self.count(item, read as u64);
            read
        };
        Ok(read == length)
    }

    /// Counts bytes as read, up to what was expected of the file: compressed ones
    /// hold more than they occupy.
    fn count(&mut self, item: &ItemContext<'_>, bytes: u64) {
        let counted = bytes.min(self.uncounted);
        self.uncounted -= counted;
        item.run.metrics.bytes_hashed.add(counted);
    }
}

/// Whether to ignore what was saved, because less has to be read then: files of
/// which nothing was saved would have to be read to their end to be compared by
/// digest, and most of them differ early, and were dropped before the stop.
fn reads_less_without(by_state: &BySavedState, size: u64) -> bool {
    let (mut saved, mut unread) = (0_u128, 0_u128);
    for (state, members) in by_state {
        let members = members.len() as u128;
        match state {
            Some(state) => saved += u128::from(state.offset) * members,
            None => unread += u128::from(size) * members,
        }
    }
    saved > 0 && saved < unread
}
