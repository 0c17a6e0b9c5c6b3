//! Finds duplicate and similar folders: the pure algorithms behind `dupescan
//! folders`. The caller provides folders and files row by row; nothing here
//! reads a catalog or a disk.
//!
//! A file's *content* is a number: equal numbers mean equal bytes. A file whose
//! content is uncertain gets a number of its own, so it equals only its own hard
//! links, and is counted wherever that matters. A known content that such a file
//! may have is *unresolved*.

mod answer;
mod comparer;
mod contents;
mod difference;
mod facts;
mod forest;
mod identical;
mod keys;
mod prefix;
mod similar;
mod sizes;
#[cfg(test)]
mod testing;
mod unknown;
mod workers;

pub use answer::{FolderAnswer, FolderGroup, FolderPair, FolderTotals, Identical, Similar};
pub use comparer::{Comparer, PairSide};
pub use difference::{ChangedFile, Differences, NamedFile, differences};
pub use facts::{FileFact, FolderFact};
pub use forest::{Forest, ForestBuilder, Node};
pub use identical::{IdenticalGroup, IdenticalGroups};
pub use prefix::Measure;
pub use similar::{Overlap, Pair, SimilarPairs, Similarity, Tuning, similar};
pub use unknown::{UncheckedFolders, Unknown};

/// An index or count of rows as it is stored. A catalog of four billion rows
/// would take 300 GB and would not fit into memory anyway.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).expect("fewer than four billion rows")
}
