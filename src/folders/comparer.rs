//! What each folder of a pair has that the other does not.

use super::contents::EMPTY;
use super::forest::{Forest, Node};
use super::similar::{Overlap, Pair};
use super::unknown::Unknown;
use super::workers::Marks;

/// One folder of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PairSide {
    /// Its distinct contents.
    pub all: Overlap,
    /// Those that the other does not have.
    pub only: Overlap,
    /// Its files that are not empty.
    pub files: u64,
    /// Bytes of these files; equal ones count each.
    pub bytes: u64,
    /// Those whose content the other does not have.
    pub only_files: u64,
    /// Bytes of those.
    pub only_bytes: u64,
    /// Those that may or may not be in the other, because they or a possible
    /// match were not read. They count as different.
    pub unchecked: u64,
    /// Other ways in which it is incomplete.
    pub unknown: Unknown,
}

/// Finds what each folder of a pair has that the other does not.
pub struct Comparer<'a> {
    forest: &'a Forest,
    others: Marks,
    seen: Marks,
}

impl<'a> Comparer<'a> {
    /// A comparer for the pairs of `forest`.
    pub fn new(forest: &'a Forest) -> Self {
        Self {
            forest,
            others: Marks::new(forest.catalogue().len()),
            seen: Marks::new(forest.catalogue().len()),
        }
    }

    /// The two sides of a pair, left and right.
    pub fn sides(&mut self, pair: &Pair) -> [PairSide; 2] {
        [
            self.side(pair.left, pair.right),
            self.side(pair.right, pair.left),
        ]
    }

    fn side(&mut self, node: Node, other: Node) -> PairSide {
        self.others.clear();
        for &content in self.forest.contents(other) {
            self.others.mark(content);
        }
        self.seen.clear();
        let mut side = PairSide {
            unknown: self.forest.unknown(node),
            ..PairSide::default()
        };
        for &content in self.forest.contents(node) {
            if content == EMPTY {
                continue;
            }
            let is_only = !self.others.is_marked(content);
            let size = self.forest.catalogue().size(content);
            side.files += 1;
            side.bytes = side.bytes.saturating_add(size);
            if is_only {
                side.only_files += 1;
                side.only_bytes = side.only_bytes.saturating_add(size);
            }
            side.unchecked += u64::from(is_only && self.forest.is_unresolved(content));
            if self.seen.mark(content) {
                let one = Overlap {
                    contents: 1,
                    bytes: size,
                };
                side.all = side.all.plus(one);
                if is_only {
                    side.only = side.only.plus(one);
                }
            }
        }
        side
    }
}
