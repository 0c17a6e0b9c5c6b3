//! A planned tree: which files in which folders, with which content.

use std::path::PathBuf;

use super::content::Content;
use super::kinds::{File, Kind, Size};
use super::random::Random;

/// Folders beside each other in one folder.
const FAN_OUT: u64 = 16;

/// A tree that can be written, or written again in parts.
pub(crate) struct Tree {
    pub(super) contents: Vec<Content>,
    pub(super) folders: u64,
    chain: u64,
}

impl Tree {
    /// The tree of this kind and size.
    pub(crate) fn new(kind: &Kind, size: Size) -> Self {
        let (files, folders) = kind.count(size);
        Self::with_counts(kind, size, files, folders)
    }

    /// A tree with this number of files, and of folders in proportion.
    pub(crate) fn with_files(kind: &Kind, files: u64) -> Self {
        let (full_files, full_folders) = kind.full;
        let folders = (files * full_folders).div_ceil(full_files).max(1);
        Self::with_counts(kind, Size::Full, files, folders)
    }

    fn with_counts(kind: &Kind, size: Size, files: u64, folders: u64) -> Self {
        let mut random = Random(42);
        // Only what was not made from another is copied, so that groups stay
        // small, as they are on disks.
        let mut originals: Vec<Content> = Vec::new();
        let contents = (0..files).map(|number| {
            let seed = 1_000 + number;
            let file = File { seed, size };
            let derived = if originals.is_empty() {
                None
            } else {
                (kind.derive)(&mut random, file, &originals)
            };
            derived.unwrap_or_else(|| {
                let made = (kind.make)(&mut random, file);
                originals.push(made);
                made
            })
        });
        Self {
            contents: contents.collect(),
            folders,
            chain: kind.chain,
        }
    }

    /// How many files it has.
    pub(crate) fn files(&self) -> u64 {
        self.contents.len() as u64
    }

    /// How many bytes its files have.
    pub(crate) fn bytes(&self) -> u64 {
        self.contents.iter().map(|content| content.size).sum()
    }

    /// The path of a file below the top. Neighbours by number share a folder,
    /// as far as there are more files than folders.
    pub(crate) fn path(&self, file: u64) -> PathBuf {
        let folder = file * self.folders / self.files();
        let mut path = self.folder(folder);
        path.push(format!("file{file:07}.dat"));
        path
    }

    /// The path of a folder below the top; number 0 is the top itself.
    pub(super) fn folder(&self, number: u64) -> PathBuf {
        let mut numbers = Vec::new();
        let mut at = number;
        while at > 0 {
            numbers.push(at);
            at = self.parent(at);
        }
        numbers
            .iter()
            .rev()
            .map(|number| format!("d{number:06}"))
            .collect()
    }

    /// The folder that this one is in; always one with a smaller number.
    fn parent(&self, number: u64) -> u64 {
        if number.is_multiple_of(self.chain) {
            (number / self.chain - 1) / FAN_OUT * self.chain
        } else {
            number - 1
        }
    }
}
