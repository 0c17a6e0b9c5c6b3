//! The kinds of trees, as data.

use super::content::{Change, Content};
use super::random::Random;

/// How large a tree is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    /// Seconds to write and to compare all programs on.
    Quick,
    /// The size that figures are published for.
    Full,
}

impl Size {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "quick" => Some(Self::Quick),
            "full" => Some(Self::Full),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }
}

/// One kind of tree.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// One line for people.
    pub(crate) about: &'static str,
    /// Files and folders, the top folder among them, at full size.
    pub(crate) full: (u64, u64),
    /// The same at quick size.
    pub(crate) quick: (u64, u64),
    /// How many folders are nested before the next one starts beside them.
    pub(super) chain: u64,
    /// The content of a file that is not made from another.
    pub(super) make: fn(&mut Random, File) -> Content,
    /// The content of a file that may be made from an earlier one; `None` if
    /// it shall be new.
    pub(super) derive: fn(&mut Random, File, &[Content]) -> Option<Content>,
}

/// The file that content is wanted for.
#[derive(Clone, Copy)]
pub(super) struct File {
    pub(super) seed: u64,
    pub(super) size: Size,
}

/// Every kind there is.
pub(crate) const KINDS: &[Kind] = &[SMALL, MEDIA, MIXED, TWINS, DEEP, MILLION, TINY];

impl Kind {
    pub(crate) fn from_name(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// Files and folders at this size.
    pub(crate) fn count(&self, size: Size) -> (u64, u64) {
        match size {
            Size::Quick => self.quick,
            Size::Full => self.full,
        }
    }
}

const SMALL: Kind = Kind {
    name: "small",
    about: "log-normal sizes around 1.5 kB, 35 % copies",
    full: (200_000, 5_000),
    quick: (4_000, 100),
    chain: 1,
    make: small_file,
    derive: |random, _, earlier| (random.below(100) < 35).then(|| pick(random, earlier)),
};

const MILLION: Kind = Kind {
    name: "million",
    about: "as small, five times as many",
    full: (1_000_000, 25_000),
    quick: (20_000, 500),
    ..SMALL
};

const TINY: Kind = Kind {
    name: "tiny",
    about: "16 to 215 bytes, 25 files a folder, 20 % copies",
    full: (5_000_000, 200_000),
    quick: (4_000, 160),
    chain: 1,
    make: |random, file| Content::new(file.seed, 16 + random.below(200)),
    derive: |random, _, earlier| (random.below(100) < 20).then(|| pick(random, earlier)),
};

const MEDIA: Kind = Kind {
    name: "media",
    about: "1 to 48 MB, 30 % copies, 20 % copies but for one byte",
    full: (240, 20),
    quick: (24, 4),
    chain: 1,
    make: |random, file| {
        let unit = match file.size {
            Size::Quick => 100_000,
            Size::Full => 1_000_000,
        };
        Content::new(file.seed, unit + random.below(47 * unit))
    },
    derive: |random, _, earlier| match random.below(100) {
        0..30 => Some(pick(random, earlier)),
        30..50 => Some(near_copy(random, earlier)),
        _ => None,
    },
};

const MIXED: Kind = Kind {
    name: "mixed",
    about: "170 kB on average, 15 % copies, 5 % share size and first 4 KiB with another",
    full: (60_000, 2_000),
    quick: (1_200, 40),
    chain: 1,
    make: |random, file| Content::new(file.seed, random.log_normal(88_000, 16).max(1)),
    derive: |random, file, earlier| match random.below(100) {
        0..15 => Some(pick(random, earlier)),
        15..20 => {
            let other = pick(random, earlier);
            Some(Content {
                head: Some(other.head.unwrap_or(other.seed)),
                ..Content::new(file.seed, other.size)
            })
        }
        _ => None,
    },
};

const TWINS: Kind = Kind {
    name: "twins",
    about: "64 KiB each, equal in head and tail, all different in the middle",
    full: (20_000, 400),
    quick: (1_000, 20),
    chain: 1,
    make: |random, file| Content {
        // The middle 24 KiB: beyond what any program reads of head and tail.
        change: Some(Change {
            at: 20_480 + random.below(24_576),
            number: file.seed,
        }),
        ..Content::new(1, 65_536)
    },
    derive: |_, _, _| None,
};

const DEEP: Kind = Kind {
    name: "deep",
    about: "folders in folders, up to 45 deep, with few files",
    full: (3_000, 300_000),
    quick: (60, 6_000),
    chain: 40,
    ..SMALL
};

fn small_file(random: &mut Random, file: File) -> Content {
    Content::new(file.seed, random.log_normal(1_500, 26).max(1))
}

fn pick(random: &mut Random, earlier: &[Content]) -> Content {
    let number = random.below(earlier.len() as u64);
    earlier[usize::try_from(number).expect("below the number of files")]
}

/// A copy that differs in one byte at the end, in the middle or anywhere.
fn near_copy(random: &mut Random, earlier: &[Content]) -> Content {
    let original = pick(random, earlier);
    let at = match random.below(3) {
        0 => original.size - 1,
        1 => original.size / 2,
        _ => random.below(original.size),
    };
    original.flipped(at)
}
