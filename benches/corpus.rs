//! Writes a tree of files to measure on: seeded, and byte-identical on every
//! machine.
//!
//! `cargo bench --bench corpus -- KIND DIR [quick|full|FILES]` where KIND is
//! - `small`: 200,000 files, log-normal sizes around 1.5 kB, 35 % copies;
//! - `media`: 240 files of 1 to 48 MB, 30 % copies, 20 % near-copies that
//!   differ in one byte at the end, in the middle or anywhere;
//! - `mixed`: 60,000 files, 10 GB, 15 % copies, 5 % share size and first 4 KiB
//!   with another;
//! - `twins`: 20,000 files of 64 KiB, equal in head and tail, all different in
//!   the middle;
//! - `deep`: 300,000 folders in each other, 3,000 files;
//! - `million`: 1,000,000 files, else as `small`;
//! - `tiny`: 5,000,000 files of 16 to 215 bytes, 25 in each folder, 20 % copies.
//!
//! A tree that was just written is *racy* for dupescan: what a scan within 3 s
//! learns about a file is read again by the next scan. Wait that long before
//! the first scan if the second one is to be measured.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::Path;
use std::process::ExitCode;

mod trees;

use trees::{KINDS, Kind, Size, Tree};

/// The tree that the arguments ask for.
fn tree(kind: &str, size: Option<&String>) -> Result<Tree, String> {
    let kinds: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
    let kind = Kind::from_name(kind)
        .ok_or_else(|| format!("unknown kind {kind:?}; there are {}", kinds.join(", ")))?;
    let Some(size) = size else {
        return Ok(Tree::new(kind, Size::Full));
    };
    if let Some(size) = Size::from_name(size) {
        return Ok(Tree::new(kind, size));
    }
    match size.parse() {
        Ok(files @ 1..=100_000_000) => Ok(Tree::with_files(kind, files)),
        _ => Err(format!(
            "{size:?} is neither quick, full nor a number of files up to 100000000"
        )),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let (Some(kind), Some(top)) = (arguments.first(), arguments.get(1)) else {
        // `cargo bench` without arguments has nothing to write.
        eprintln!("usage: cargo bench --bench corpus -- KIND DIR [quick|full|FILES]");
        for kind in KINDS {
            eprintln!("  {:8} {} files, {}", kind.name, kind.full.0, kind.about);
        }
        return ExitCode::SUCCESS;
    };
    let tree = match tree(kind, arguments.get(2)) {
        Ok(tree) => tree,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    if let Err(error) = tree.write(Path::new(top)) {
        eprintln!("cannot write the tree: {error}");
        return ExitCode::FAILURE;
    }
    println!("{} files, {} bytes in {top}", tree.files(), tree.bytes());
    ExitCode::SUCCESS
}
