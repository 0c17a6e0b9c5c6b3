//! One class that is being read: opening its files, taking their chunks,
//! saving how far huge ones came, and what was learned in the end.

use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

use super::equal_so_far::{Buffers, Kind, Lane, Member, Part, Sorting};
use super::{AT_ONCE_FROM_DISK, MOST_OPEN};
use crate::access::content::{CHUNK, chunks};
use crate::access::{Opener, is_racy, is_unchanged};
use crate::catalog::{FileOutcome, FileResult, HashClass, HashState, Record, WorkCopy};
use crate::hash::{Hasher, STATE_FORMAT};
use crate::model::sampling::LARGE;
use crate::model::{Fault, Step, now_ns};
use crate::pool::WorkerContext;
use crate::scan::context::Shared;
use crate::scan::devices::Pace;
use crate::scan::engine::{Item, ItemReport};
use crate::scan::read::probe::{Opened, open_in_state, push_changed, push_failure, result};

/// What all classes of an item need, and what was learned from them.
pub(crate) struct Desk<'c> {
    pub(crate) access: &'c mut Opener,
    shared: &'c Shared,
    pace: &'c mut Pace,
    context: &'c WorkerContext,
    pub(crate) report: ItemReport,
    pub(crate) results: Vec<FileResult>,
    pub(crate) bytes_read: u64,
}

impl<'c> Desk<'c> {
    pub(crate) fn new(
        access: &'c mut Opener,
        shared: &'c Shared,
        pace: &'c mut Pace,
        context: &'c WorkerContext,
    ) -> Self {
        Self {
            access,
            shared,
            pace,
            context,
            report: ItemReport::default(),
            results: Vec::new(),
            bytes_read: 0,
        }
    }

    /// How many chunks are best hashed abreast, which is how many classes are read
    /// at a time.
    pub(crate) fn at_once(&self) -> usize {
        if self.pace.is_slow() {
            return AT_ONCE_FROM_DISK;
        }
        Hasher::at_once(self.shared.algorithm).max(AT_ONCE_FROM_DISK)
    }

    /// How many files may be open.
    pub(crate) fn most_open(&self) -> usize {
        self.shared.files_at_once.min(MOST_OPEN)
    }

    /// Sends what was learned so far, unless the item was given up. Whoever
    /// does it again learns and stores the same.
    pub(crate) fn hand_in(&mut self) {
        if self.results.is_empty() || self.context.is_abandoned() {
            return;
        }
        let record = Record::Files {
            scan: self.shared.lead,
            bytes_read: std::mem::take(&mut self.bytes_read),
            results: std::mem::take(&mut self.results),
        };
        if let Err(error) = self.shared.writer.send(record) {
            self.report.fatal = Some(error);
        }
    }

    /// Whether no more may be read.
    pub(crate) fn is_stopped(&self) -> bool {
        self.context.shutdown().is_stopped() || self.report.fatal.is_some()
    }
}

/// A class and how far it was read.
pub(crate) struct Reading<'c> {
    class: &'c HashClass,
    began: i64,
    members: Vec<Member<'c>>,
    /// Lanes whose next chunk is to be read.
    lanes: Vec<Lane>,
    /// Lanes whose next chunk is being hashed.
    pub(crate) parts: Vec<Part>,
    /// Lanes that were read to the end.
    finished: Vec<Lane>,
    /// Members that changed while they were read.
    changed: Vec<usize>,
}

impl<'c> Reading<'c> {
    /// Opens every copy that is still what the catalog says, and puts those
    /// together that agree so far. `part` is the first copy's number.
    pub(crate) fn open(desk: &mut Desk<'_>, class: &'c HashClass, part: usize) -> Self {
        let mut reading = Self {
            class,
            began: now_ns(),
            members: Vec::new(),
            lanes: Vec::new(),
            parts: Vec::new(),
            finished: Vec::new(),
            changed: Vec::new(),
        };
        let failures = desk.report.failures.len();
        let mut by_state: BTreeMap<Option<HashState>, Vec<usize>> = BTreeMap::new();
        for (copy, part) in class.copies.iter().zip(part..) {
            if desk.is_stopped() {
                return reading;
            }
            if let Some(member) = reading.open_member(desk, copy, part) {
                let saved = reading.saved_state(desk, copy);
                let members = by_state.entry(saved).or_default();
                members.push(reading.members.len());
                reading.members.push(member);
            }
        }
        let must_digest = class.must_digest || desk.report.failures.len() > failures;
        if !must_digest && reads_less_anew(&by_state, class.size) {
            let all = 0..reading.members.len();
            by_state = BTreeMap::from([(None, all.collect())]);
        }
        // What was read to different lengths is compared by digest.
        let must_digest = must_digest || by_state.len() > 1;
        for (saved, members) in by_state {
            let lane = restore(desk, saved, members, must_digest);
            reading.put_back(lane);
        }
        reading
    }

    fn open_member(
        &self,
        desk: &mut Desk<'_>,
        copy: &'c WorkCopy,
        part: usize,
    ) -> Option<Member<'c>> {
        desk.context.set_part(part);
        let Opened { file, path } = open_in_state(
            desk.access,
            desk.shared,
            copy,
            desk.context,
            &mut desk.report,
            &mut desk.results,
            || Item::alone(self.class.size, copy),
        )?;
        // What is read ahead of a file that may turn out to differ from others is
        // read in vain.
        let is_alone = self.class.copies.len() == 1;
        if self.class.size > CHUNK as u64
            && (is_alone || !desk.shared.disks.reads_far_ahead(copy.volume))
        {
            file.advise_sequential();
        }
        Some(Member::new(copy, file, part, path))
    }

    /// How far an earlier run came with a large file.
    fn saved_state(&self, desk: &mut Desk<'_>, copy: &WorkCopy) -> Option<HashState> {
        if self.class.size < LARGE {
            return None;
        }
        let catalog = desk.access.catalog();
        let mut furthest: Option<HashState> = None;
        // It was saved under one of them; which one is the first may have changed.
        for name in &copy.names {
            match catalog.hash_state(name, &copy.state, desk.shared.algorithm) {
                Ok(Some(saved)) if saved.format == STATE_FORMAT => {
                    let before = furthest.as_ref().map_or(0, |before| before.offset);
                    if saved.offset > before {
                        furthest = Some(saved);
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    desk.report.fatal = Some(error);
                    return None;
                }
            }
        }
        furthest
    }

    /// Takes back the lanes whose chunk was hashed.
    pub(crate) fn take_in(&mut self, buffers: &mut Buffers) {
        for part in std::mem::take(&mut self.parts) {
            let (lane, buffer) = part.into_lane();
            buffers.give_back(buffer);
            self.put_back(lane);
        }
    }

    /// Takes a lane in, or back.
    fn put_back(&mut self, lane: Lane) {
        if lane.offset >= self.class.size {
            self.finished.push(lane);
        } else {
            self.lanes.push(lane);
        }
    }

    /// How many files it may have open.
    pub(crate) fn copies(&self) -> usize {
        self.class.copies.len()
    }

    /// Whether nothing of it is left to read.
    pub(crate) fn is_done(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Notes how far large files came. A file that is too fresh is left out: it
    /// could change under its old times before a resume.
    pub(crate) fn save(&self, desk: &mut Desk<'_>) {
        if self.class.size < LARGE || desk.context.is_abandoned() {
            return;
        }
        for lane in self.lanes.iter().filter(|lane| lane.offset > 0) {
            let Some(state) = lane.hasher.save() else {
                return;
            };
            for member in &lane.members {
                let copy = self.members[*member].copy;
                if !is_racy(&copy.state, self.began) {
                    desk.results.push(FileResult {
                        names: copy.names[..1].to_vec(),
                        state: copy.state,
                        outcome: FileOutcome::Partly(HashState {
                            algorithm: desk.shared.algorithm,
                            format: STATE_FORMAT,
                            offset: lane.offset,
                            state: state.clone(),
                        }),
                    });
                }
            }
        }
    }

    /// Reads one chunk of every member of a lane and splits it by content. Returns
    /// how many chunks are now to be hashed; `None` when there is no such lane.
    pub(crate) fn step(&mut self, desk: &mut Desk<'_>, buffers: &mut Buffers) -> Option<usize> {
        let mut lane = self.lanes.pop()?;
        let (_, length) = chunks(lane.offset, self.class.size).next()?;
        let mut sorting = Sorting::new(buffers, length);
        for member in std::mem::take(&mut lane.members) {
            match self.read(desk, member, sorting.fresh(), lane.offset) {
                Ok(true) => sorting.add(member),
                Ok(false) => self.changed.push(member),
                Err(error) => {
                    lane.must_digest = true;
                    self.fail(desk, member, &error);
                }
            }
        }
        let before = self.parts.len();
        for kind in sorting.finish() {
            self.go_on(desk, &lane, length, kind, buffers);
        }
        Some(self.parts.len() - before)
    }

    /// Reads a chunk; `false` when the file became shorter.
    fn read(
        &mut self,
        desk: &mut Desk<'_>,
        member: usize,
        chunk: &mut [u8],
        offset: u64,
    ) -> io::Result<bool> {
        let length = chunk.len() as u64;
        let context = desk.context;
        let member = &mut self.members[member];
        if member.is_hole(offset, length) {
            chunk.fill(0);
            context.progress(0);
            desk.shared.metrics.bytes_hashed.add(length);
            return Ok(true);
        }
        if let Some(throttle) = &desk.shared.throttle {
            throttle.take(length, context.shutdown(), || context.progress(0));
        }
        context.begin_part(member.part, &member.path);
        let clock = Instant::now();
        let read = member.file.read_at(chunk, offset)? as u64;
        desk.pace.note(clock.elapsed());
        desk.bytes_read += read;
        context.progress(read);
        desk.shared.metrics.bytes_hashed.add(read);
        Ok(read == length)
    }

    fn fail(&self, desk: &mut Desk<'_>, member: usize, error: &io::Error) {
        let copy = self.members[member].copy;
        let again = Item::alone(self.class.size, copy);
        let fault = Fault::from_io(Step::Read, error);
        push_failure(desk.access, copy, fault, again, &mut desk.report);
    }

    /// Goes on with members of a lane whose chunk is the same, which is still to
    /// be hashed. One that is alone, and need not be, is done with.
    fn go_on(
        &mut self,
        desk: &mut Desk<'_>,
        lane: &Lane,
        length: usize,
        kind: Kind,
        buffers: &mut Buffers,
    ) {
        let Kind {
            members, buffer, ..
        } = kind;
        if let [alone] = members[..]
            && !lane.must_digest
        {
            buffers.give_back(buffer);
            self.settle(desk, alone);
            // The rest need not be read, which makes it done.
            let rest = self.class.size - (lane.offset + length as u64);
            desk.shared.metrics.bytes_hashed.add(rest);
            return;
        }
        let lane = Lane {
            members,
            hasher: lane.hasher.clone(),
            ..*lane
        };
        self.parts.push(Part::new(lane, buffer, length));
    }

    /// Notes a copy that differs from all others of its class.
    fn settle(&mut self, desk: &mut Desk<'_>, member: usize) {
        let racy = is_racy(&self.members[member].copy.state, self.began);
        self.note(desk, member, FileOutcome::Settled { racy });
    }

    /// Gives each lane that reached the end its digest, and notes the state
    /// that changed members are in now.
    pub(crate) fn conclude(&mut self, desk: &mut Desk<'_>) {
        for lane in std::mem::take(&mut self.finished) {
            let digest = lane.hasher.finish();
            let compared = (lane.members.len() > 1).then(|| desk.shared.comparison());
            let copies = lane.members.len().saturating_sub(1) as u64;
            let metrics = &desk.shared.metrics;
            metrics.reclaimable.add(copies * self.class.size);
            for member in lane.members {
                let racy = is_racy(&self.members[member].copy.state, self.began);
                self.note(
                    desk,
                    member,
                    FileOutcome::Digested {
                        digest,
                        compared,
                        racy,
                    },
                );
            }
        }
        for member in std::mem::take(&mut self.changed) {
            let Member { copy, file, .. } = &self.members[member];
            push_changed(desk.access, copy, file, &mut desk.report, &mut desk.results);
        }
    }

    /// Keeps what was learned if the file is still what it was when opened.
    fn note(&mut self, desk: &mut Desk<'_>, member: usize, outcome: FileOutcome) {
        let Member { copy, file, .. } = &self.members[member];
        if is_unchanged(file).is_ok_and(|is_same| is_same) {
            desk.shared.metrics.files_hashed.add(1);
            desk.results.push(result(copy, outcome));
        } else {
            self.changed.push(member);
        }
    }
}

/// Whether files of which nothing was saved, and which would have to be read to
/// their end to be compared by digest, are more than what was saved of the others:
/// most of them differ early, and were dropped before the stop.
fn reads_less_anew(by_state: &BTreeMap<Option<HashState>, Vec<usize>>, size: u64) -> bool {
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

/// The lane that goes on where an earlier run stopped, or starts.
fn restore(
    desk: &Desk<'_>,
    saved: Option<HashState>,
    members: Vec<usize>,
    must_digest: bool,
) -> Lane {
    let algorithm = desk.shared.algorithm;
    let restored = saved.and_then(|saved| {
        Hasher::restore(algorithm, &saved.state).map(|hasher| (saved.offset, hasher))
    });
    let (offset, hasher) = restored.unwrap_or_else(|| (0, Hasher::new(algorithm)));
    desk.shared
        .metrics
        .bytes_hashed
        .add(offset * members.len() as u64);
    Lane {
        members,
        offset,
        hasher,
        must_digest,
    }
}
