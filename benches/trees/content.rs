//! What is in one file, in a few words.

use super::random::Random;

/// The content of a file, described by where its bytes come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) seed: u64,
    pub(super) size: u64,
    /// The seed of the first `HEAD` bytes, where it is another.
    pub(super) head: Option<u64>,
    pub(super) change: Option<Change>,
}

/// What is different in a file that is otherwise a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) at: u64,
    /// Mixed into the bytes from there on, as many of the eight as there are;
    /// never 0.
    pub(super) number: u64,
}

/// How much two files with a common head share.
pub(super) const HEAD: u64 = 4_096;

impl Content {
    pub(super) fn new(seed: u64, size: u64) -> Self {
        Self {
            seed,
            size,
            head: None,
            change: None,
        }
    }

    /// A copy with one changed byte.
    pub(super) fn flipped(self, at: u64) -> Self {
        let change = Some(Change { at, number: 1 });
        Self { change, ..self }
    }

    /// Puts the content into `bytes`, replacing what is there.
    pub(super) fn make(&self, bytes: &mut Vec<u8>) {
        bytes.resize(index(self.size), 0);
        fill(bytes, self.seed);
        if let Some(head) = self.head {
            fill(&mut bytes[..index(self.size.min(HEAD))], head);
        }
        if let Some(Change { at, number }) = self.change {
            let changed = bytes[index(at)..].iter_mut();
            changed
                .zip(number.to_le_bytes())
                .for_each(|(byte, mixed)| *byte ^= mixed);
        }
    }
}

fn fill(bytes: &mut [u8], seed: u64) {
    let mut random = Random(seed);
    let mut eights = bytes.chunks_exact_mut(8);
    for eight in &mut eights {
        eight.copy_from_slice(&random.next().to_le_bytes());
    }
    let rest = eights.into_remainder();
    let last = random.next().to_le_bytes();
    rest.copy_from_slice(&last[..rest.len()]);
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("files of a tree fit into memory")
}
