//! Reading ahead where a head moves: it works through what the system was asked for
//! in the order of the disk, while what it brought is hashed.

use std::collections::VecDeque;
use std::path::PathBuf;

use crate::catalog::WorkCopy;
use crate::model::sampling::LONGEST_SAMPLE;
use crate::platform::OpenFile;
use crate::scan::context::{ItemContext, Opening};
use crate::scan::engine::Item;

/// Bytes that are asked for ahead of those that are read.
const AHEAD: u64 = 4 << 20;
/// What is asked for in one call. The system cuts longer requests off, at its own
/// read-ahead where files are far away.
const STEP: u64 = 512 << 10;
const STEP_FAR: u64 = 128 << 10;
/// Files that are open ahead of the one that is read.
const MOST_OPEN: usize = 64;

/// How far a file was asked for.
#[derive(Debug)]
pub(super) struct ReadAhead {
    asked: u64,
    step: u64,
    /// Whether no more is asked for than was read: the rest may not be wanted.
    is_careful: bool,
}

impl ReadAhead {
    /// Of a file that the system reads ahead of as it thinks best.
    const OFF: Self = Self {
        asked: u64::MAX,
        step: STEP,
        is_careful: false,
    };

    /// Of a file that is read to its end where a head moves.
    pub(super) const fn of_seeking() -> Self {
        Self {
            asked: 0,
            step: STEP,
            is_careful: false,
        }
    }

    /// Of a file that is far away, and may turn out to differ from others: each call
    /// waits for the server, and several wait at once.
    pub(super) const fn of_far() -> Self {
        Self {
            asked: 0,
            step: STEP_FAR,
            is_careful: true,
        }
    }

    /// Asks for what follows an offset.
    pub(super) fn from(&mut self, file: &OpenFile, offset: u64) {
        let window = match self.is_careful {
            true => offset.min(AHEAD),
            false => AHEAD,
        };
        let size = file.opened_as().meta.size;
        let end = offset.saturating_add(window).min(size);
        while self.asked < end {
            file.advise_will_need(self.asked, self.step.min(size - self.asked));
            self.asked += self.step;
        }
    }
}

/// A copy that was opened and asked for.
pub(super) struct Asked<'c> {
    /// Its number in the item.
    pub(super) part: usize,
    pub(super) copy: &'c WorkCopy,
    pub(super) file: OpenFile,
    pub(super) path: PathBuf,
    pub(super) ahead: ReadAhead,
}

/// What comes next.
pub(super) enum Next<'c> {
    /// A copy to be read.
    Asked(Asked<'c>),
    /// The copy of this number is in another state, which was noted.
    Changed(usize),
    /// Every name of it is gone, which was noted.
    Gone(usize),
}

/// The copies of an item in their order.
pub(super) struct OpenAhead<'c> {
    copies: &'c [WorkCopy],
    next: usize,
    open: VecDeque<Asked<'c>>,
    bytes: u64,
    /// Files that may be open.
    most: usize,
}

/// What is to be asked for of a file.
pub(super) enum Needs {
    /// All of it, or as much as is asked for ahead.
    Whole,
    /// These stretches.
    Only([(u64, usize); 2]),
}

impl<'c> OpenAhead<'c> {
    /// Copies that are opened before those in front of them are read.
    pub(super) fn new(item: &ItemContext<'_>, copies: &'c [WorkCopy]) -> Self {
        Self {
            copies,
            next: 0,
            open: VecDeque::new(),
            bytes: 0,
            most: item.run.files_at_once.clamp(1, MOST_OPEN),
        }
    }

    /// Copies that are opened one at a time, and not asked for.
    pub(super) fn one_by_one(copies: &'c [WorkCopy]) -> Self {
        Self {
            copies,
            next: 0,
            open: VecDeque::new(),
            bytes: 0,
            most: 1,
        }
    }

    /// What comes next; `None` at the end or on a stop. What cannot be opened was
    /// noted: `again` is what to do once more.
    pub(super) fn next(
        &mut self,
        item: &mut ItemContext<'_>,
        again: impl Fn(&WorkCopy, usize) -> Item,
        needs: impl Fn(&OpenFile) -> Needs,
    ) -> Option<Next<'c>> {
        while !item.is_stopped()
            && (self.open.is_empty() || self.bytes < AHEAD && self.open.len() < self.most)
            && let Some(copy) = self.copies.get(self.next)
        {
            let part = self.next;
            self.next += 1;
            item.worker.set_part(part);
            match item.open(copy, || again(copy, part)) {
                Opening::Opened(file, path) => {
                    let ahead = self.ask_for(&file, &needs(&file));
                    self.open.push_back(Asked {
                        part,
                        copy,
                        file,
                        path,
                        ahead,
                    });
                }
                Opening::Changed => return Some(Next::Changed(part)),
                Opening::Gone => return Some(Next::Gone(part)),
                Opening::Failed => {}
            }
        }
        if item.is_stopped() {
            return None;
        }
        let asked = self.open.pop_front()?;
        self.bytes = match self.open.is_empty() {
            true => 0,
            false => self.bytes.saturating_sub(asked.bytes()),
        };
        item.worker.begin_part(asked.part, &asked.path);
        Some(Next::Asked(asked))
    }

    fn ask_for(&mut self, file: &OpenFile, needs: &Needs) -> ReadAhead {
        if self.most == 1 {
            return ReadAhead::OFF;
        }
        let mut ahead = ReadAhead::of_seeking();
        match needs {
            Needs::Whole => {
                ahead.from(file, 0);
                self.bytes += ahead.asked;
            }
            Needs::Only(stretches) => {
                for &(offset, length) in stretches {
                    file.advise_will_need(offset, length as u64);
                    self.bytes += length as u64;
                }
            }
        }
        ahead
    }
}

impl Asked<'_> {
    /// Bytes that it was asked for in advance, or a few more.
    fn bytes(&self) -> u64 {
        match self.ahead.asked {
            0 => LONGEST_SAMPLE as u64,
            asked => asked,
        }
    }
}
