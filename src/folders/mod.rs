//! Which folders hold the same files, or partly the same: the pure algorithms
//! behind `dupescan folders`. What is known of folders and files comes from
//! the caller, row by row; nothing here reads a catalog or a disk.
//!
//! A file's *content* is a number: equal numbers are equal bytes. Files whose
//! content is not known for certain have a number of their own, so they equal
//! nothing but their own hard links, and are counted wherever they matter. A
//! content that is known, and that such a file may have, is *doubtful*.

mod comparer;
mod contents;
mod difference;
mod facts;
mod forest;
mod identical;
mod keys;
mod prefix;
mod similar;
#[cfg(test)]
mod testing;
mod unknown;
mod workers;

pub use comparer::{Comparer, Side};
pub use difference::{ChangedFile, Differences, NamedFile, differences};
pub use facts::{FileFact, FolderFact};
pub use forest::{Forest, ForestBuilder, Node};
pub use identical::{IdenticalGroup, IdenticalGroups};
pub use prefix::Measure;
pub use similar::{Overlap, Pair, SimilarPairs, Similarity, Tuning, similar};
pub use unknown::{Gaps, LeftOut};

/// An index or count of rows as it is stored. A catalog of four billion rows
/// would take 300 GB, and would not fit into memory here in any case.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).expect("fewer than four billion rows")
}
