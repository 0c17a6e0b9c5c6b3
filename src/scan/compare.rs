//! Reading a class of files in step: files that agree in size and probe are
//! compared chunk by chunk, and only one of those that still agree is hashed.
//! A file that differs from all others is dropped at its first difference.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::access::{Access, is_racy, is_same};
use super::hasher::{Hasher, STATE_FORMAT};
use super::item::{Item, ItemReport};
use super::pool::WorkerContext;
use super::probe::{open_in_state, push_changed, push_failure, result, send};
use super::shared::Shared;
use crate::catalog::{FileOutcome, FileResult, HUGE, HashClass, HashState, Record, WorkCopy};
use crate::fault::{Fault, Step};
use crate::model::now_ns;
use crate::platform::{AlignedBuffer, Extent, OpenFile};

/// Bytes read from each file before the next one's turn.
pub(super) const CHUNK: usize = 64 * 1024;
/// How often the state of huge files is sent to the writer: with the time to
/// its next commit, less than half a second of reading is lost to a kill.
const SAVE_EVERY: Duration = Duration::from_millis(200);

/// A file being read.
struct Member<'c> {
    copy: &'c WorkCopy,
    file: OpenFile,
    /// Its number in the class, and its path, for whoever watches.
    part: usize,
    path: PathBuf,
    /// The hole or data last met in a sparse file.
    extent: Extent,
}

impl Member<'_> {
    /// Whether a stretch is all hole: zeros that need not be read.
    fn is_hole(&mut self, offset: u64, length: u64) -> bool {
        if offset >= self.extent.end {
            self.extent = self.file.extent_at(offset);
        }
        self.extent.is_hole && offset + length <= self.extent.end
    }
}

/// Files that agreed in everything read so far.
struct Lane {
    members: Vec<usize>,
    /// Bytes read and found equal.
    offset: u64,
    hasher: Hasher,
    /// Whether a file that is left alone must be hashed to the end: it has to
    /// be compared, by digest, with one that is not read here or failed.
    must_digest: bool,
}

/// Reads the class and sends what was learned about each copy.
pub(super) fn hash_class(
    access: &mut Access,
    shared: &Shared,
    class: &HashClass,
    buffers: &mut Vec<AlignedBuffer>,
    context: &WorkerContext,
) -> ItemReport {
    let mut reading = Reading {
        shared,
        class,
        context,
        began: now_ns(),
        members: Vec::new(),
        report: ItemReport::default(),
        results: Vec::new(),
        changed: Vec::new(),
        bytes_read: 0,
    };
    let lanes = reading.open(access);
    if !lanes.is_empty() {
        let lanes = reading.run(access, lanes, buffers);
        reading.conclude(lanes);
    }
    reading.note_changed(access);
    access.release();
    let Reading {
        mut report,
        results,
        bytes_read,
        ..
    } = reading;
    send(shared, context, &mut report, bytes_read, results);
    report
}

struct Reading<'c> {
    shared: &'c Shared,
    class: &'c HashClass,
    context: &'c WorkerContext,
    began: i64,
    members: Vec<Member<'c>>,
    report: ItemReport,
    results: Vec<FileResult>,
    /// Members that changed while they were read.
    changed: Vec<usize>,
    bytes_read: u64,
}

impl<'c> Reading<'c> {
    /// Opens every copy that is still what the catalog says, and puts those
    /// together that agree so far.
    fn open(&mut self, access: &mut Access) -> Vec<Lane> {
        let mut by_state: BTreeMap<Option<HashState>, Vec<usize>> = BTreeMap::new();
        for (part, copy) in self.class.copies.iter().enumerate() {
            if self.context.shutdown().is_stopped() || self.report.fatal.is_some() {
                return Vec::new();
            }
            self.context.set_part(part);
            let file = open_in_state(
                access,
                self.shared,
                copy,
                self.context,
                &mut self.report,
                &mut self.results,
                || alone(self.class, copy),
            );
            if let Some(file) = file {
                file.advise_sequential();
                let saved = self.saved_state(access, copy);
                by_state.entry(saved).or_default().push(self.members.len());
                let path = access.absolute(&copy.names[0]).unwrap_or_default();
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
                self.members.push(Member {
                    copy,
                    file,
                    part,
                    path,
                    extent,
                });
            }
        }
        // What was read to different lengths is compared by digest.
        let must_digest =
            self.class.must_digest || !self.report.failures.is_empty() || by_state.len() > 1;
        by_state
            .into_iter()
            .map(|(saved, members)| self.lane(saved, members, must_digest))
            .collect()
    }

    fn lane(&self, saved: Option<HashState>, members: Vec<usize>, must_digest: bool) -> Lane {
        let algorithm = self.shared.algorithm;
        let restored = saved.and_then(|saved| {
            Hasher::restore(algorithm, &saved.state).map(|hasher| (saved.offset, hasher))
        });
        let (offset, hasher) = restored.unwrap_or_else(|| (0, Hasher::new(algorithm)));
        self.context
            .metrics()
            .bytes_hashed
            .add(offset * members.len() as u64);
        Lane {
            members,
            offset,
            hasher,
            must_digest,
        }
    }

    /// How far an earlier run came with a huge file.
    fn saved_state(&mut self, access: &Access, copy: &WorkCopy) -> Option<HashState> {
        if self.class.size < HUGE {
            return None;
        }
        let saved = access
            .catalog()
            .hash_state(&copy.names[0], &copy.state, self.shared.algorithm);
        match saved {
            Ok(saved) => saved.filter(|saved| saved.format == STATE_FORMAT),
            Err(error) => {
                self.report.fatal = Some(error);
                None
            }
        }
    }

    /// Reads lane after lane, chunk after chunk, to the end or until a lane
    /// falls apart. A stop keeps how far huge files came; what else it cuts
    /// off is read again.
    fn run(
        &mut self,
        access: &mut Access,
        mut lanes: Vec<Lane>,
        buffers: &mut Vec<AlignedBuffer>,
    ) -> Vec<Lane> {
        let mut finished = Vec::new();
        let mut saved_at = Instant::now();
        while let Some(lane) = lanes.pop() {
            if lane.offset >= self.class.size {
                finished.push(lane);
                continue;
            }
            if self.context.shutdown().is_stopped() {
                lanes.push(lane);
                self.save(&lanes);
                break;
            }
            lanes.append(&mut self.step(access, lane, buffers));
            if saved_at.elapsed() >= SAVE_EVERY {
                saved_at = Instant::now();
                self.save(&lanes);
            }
        }
        finished
    }

    /// Tells the writer how far huge files came. A file that is too fresh is
    /// left out: it could change under its old times before a resume.
    fn save(&mut self, lanes: &[Lane]) {
        if self.class.size < HUGE || self.context.is_abandoned() {
            return;
        }
        let mut results = Vec::new();
        for lane in lanes.iter().filter(|lane| lane.offset > 0) {
            let Some(state) = lane.hasher.save() else {
                return;
            };
            for member in &lane.members {
                let copy = self.members[*member].copy;
                if !is_racy(&copy.state, self.began) {
                    results.push(FileResult {
                        names: copy.names[..1].to_vec(),
                        state: copy.state,
                        outcome: FileOutcome::Partly(HashState {
                            algorithm: self.shared.algorithm,
                            format: STATE_FORMAT,
                            offset: lane.offset,
                            state: state.clone(),
                        }),
                    });
                }
            }
        }
        let record = Record::Files {
            scan: self.shared.lead,
            bytes_read: std::mem::take(&mut self.bytes_read),
            results,
        };
        if let Err(error) = self.shared.writer.send(record) {
            self.report.fatal = Some(error);
        }
    }

    /// Reads one chunk of every member of a lane and splits it by content.
    fn step(
        &mut self,
        access: &mut Access,
        mut lane: Lane,
        buffers: &mut Vec<AlignedBuffer>,
    ) -> Vec<Lane> {
        let offset = lane.offset;
        let length = CHUNK.min(usize::try_from(self.class.size - offset).unwrap_or(CHUNK));
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for member in std::mem::take(&mut lane.members) {
            if buffers.len() == parts.len() {
                buffers.push(AlignedBuffer::new(CHUNK));
            }
            let (known, fresh) = buffers.split_at_mut(parts.len());
            let chunk = &mut fresh[0][..length];
            match self.read(member, chunk, offset) {
                Ok(true) => {}
                Ok(false) => {
                    self.changed.push(member);
                    continue;
                }
                Err(error) => {
                    lane.must_digest = true;
                    self.fail(access, member, &error);
                    continue;
                }
            }
            match known.iter().position(|other| other[..length] == *chunk) {
                Some(equal) => parts[equal].push(member),
                None => parts.push(vec![member]),
            }
        }
        self.hash_parts(&lane, parts, length, buffers)
    }

    /// Reads a chunk; `false` when the file became shorter.
    fn read(&mut self, member: usize, chunk: &mut [u8], offset: u64) -> io::Result<bool> {
        let length = chunk.len() as u64;
        if self.members[member].is_hole(offset, length) {
            chunk.fill(0);
            self.context.progress(0);
            self.context.metrics().bytes_hashed.add(length);
            return Ok(true);
        }
        if let Some(throttle) = &self.shared.throttle {
            throttle.take(length, self.context.shutdown(), || self.context.progress(0));
        }
        let member = &self.members[member];
        self.context.set_part(member.part);
        self.context.set_path(&member.path);
        let read = member.file.read_at(chunk, offset)? as u64;
        self.bytes_read += read;
        self.context.progress(read);
        self.context.metrics().bytes_hashed.add(read);
        Ok(read == length)
    }

    fn fail(&mut self, access: &mut Access, member: usize, error: &io::Error) {
        let copy = self.members[member].copy;
        let again = alone(self.class, copy);
        let fault = Fault::from_io(Step::Read, error);
        push_failure(access, copy, fault, again, &mut self.report);
    }

    /// Turns the parts of a lane into lanes, hashing each part's chunk once.
    fn hash_parts(
        &mut self,
        lane: &Lane,
        parts: Vec<Vec<usize>>,
        length: usize,
        buffers: &[AlignedBuffer],
    ) -> Vec<Lane> {
        let mut lanes = Vec::new();
        for (part, chunk) in parts.into_iter().zip(buffers) {
            if part.len() == 1 && !lane.must_digest {
                self.settle(part[0]);
                let read = lane.offset + length as u64;
                // The rest need not be read, which makes it done.
                let rest = self.class.size - read;
                self.context.metrics().bytes_hashed.add(rest);
                continue;
            }
            let mut hasher = lane.hasher.clone();
            hasher.update(&chunk[..length]);
            lanes.push(Lane {
                members: part,
                offset: lane.offset + length as u64,
                hasher,
                must_digest: lane.must_digest,
            });
        }
        lanes
    }

    /// Notes a copy that differs from all others of its class.
    fn settle(&mut self, member: usize) {
        let racy = is_racy(&self.members[member].copy.state, self.began);
        self.note(member, FileOutcome::Settled { racy });
    }

    /// Gives each lane that reached the end its digest.
    fn conclude(&mut self, lanes: Vec<Lane>) {
        for lane in lanes {
            let digest = lane.hasher.finish();
            let compared = (lane.members.len() > 1).then(|| self.shared.comparison());
            let copies = lane.members.len().saturating_sub(1) as u64;
            self.context
                .metrics()
                .reclaimable
                .add(copies * self.class.size);
            for member in lane.members {
                let racy = is_racy(&self.members[member].copy.state, self.began);
                self.note(
                    member,
                    FileOutcome::Digested {
                        digest,
                        compared,
                        racy,
                    },
                );
            }
        }
    }

    /// Keeps what was learned if the file is still what it was when opened.
    fn note(&mut self, member: usize, outcome: FileOutcome) {
        let Member { copy, file, .. } = &self.members[member];
        let is_unchanged = file
            .stat()
            .is_ok_and(|after| is_same(file.opened_as(), &after));
        if is_unchanged {
            self.context.metrics().files_hashed.add(1);
            self.results.push(result(copy, outcome));
        } else {
            self.changed.push(member);
        }
    }

    /// Notes the state that changed members are in now.
    fn note_changed(&mut self, access: &mut Access) {
        for member in std::mem::take(&mut self.changed) {
            let Member { copy, file, .. } = &self.members[member];
            push_changed(access, copy, file, &mut self.report, &mut self.results);
        }
    }
}

/// The item that reads one copy of a class by itself.
fn alone(class: &HashClass, copy: &WorkCopy) -> Item {
    Item::Hash(HashClass {
        size: class.size,
        must_digest: true,
        copies: vec![copy.clone()],
    })
}
