//! Random trees, and the brute force to compare with: it walks every folder
//! for every question and compares each with each.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use proptest::prelude::*;

use super::facts::{FileFact, FolderFact};
use super::forest::{Forest, ForestBuilder, Node};
use super::unknown::Unknown;
use crate::model::{FolderId, VolumeId};

/// What a catalog may know of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadState {
    Unread,
    Probed,
    Settled,
    Digested,
}

/// A tree. Inode `n` has content `n % 13`; its state is that of its number.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    /// The folder above each; those before it only.
    pub(crate) parents: Vec<Option<usize>>,
    /// Folder, name and inode of each file.
    pub(crate) files: Vec<(usize, u8, u8)>,
    pub(crate) states: Vec<ReadState>,
    /// Folders that were not listed.
    pub(crate) unlisted: BTreeSet<usize>,
}

/// A content as the brute force sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Content {
    Empty,
    Digest(u8),
    Inode(u8),
}

const CONTENTS: u8 = 13;
const INODES: u8 = 60;

fn content(inode: u8) -> u8 {
    inode % CONTENTS
}

/// Two contents share a size, four a probe.
fn probe(inode: u8) -> i64 {
    i64::from(content(inode) / 4)
}

pub(crate) fn size(inode: u8) -> u64 {
    match content(inode) {
        0 => 0,
        content => 10 + u64::from(content / 2),
    }
}

/// Some inodes are sparse, a few of them all holes.
pub(crate) fn occupied(inode: u8) -> u64 {
    match inode {
        40..47 => 0,
        47.. => size(inode) / 2,
        _ => size(inode),
    }
}

/// Trees of up to 14 folders and 40 files. With `unread`, some contents are not
/// known and some folders not listed.
pub(crate) fn trees(unread: bool) -> impl Strategy<Value = Tree> {
    let state = if unread {
        prop_oneof![
            1 => Just(ReadState::Unread),
            1 => Just(ReadState::Probed),
            1 => Just(ReadState::Settled),
            9 => Just(ReadState::Digested),
        ]
        .boxed()
    } else {
        Just(ReadState::Digested).boxed()
    };
    let parents = prop::collection::vec(any::<prop::sample::Index>(), 1..14);
    let files = prop::collection::vec((any::<prop::sample::Index>(), 0..5_u8, 0..INODES), 0..40);
    let states = prop::collection::vec(state, usize::from(INODES));
    let unlisted = prop::collection::vec(any::<prop::sample::Index>(), 0..=usize::from(unread));
    (parents, files, states, unlisted).prop_map(|(parents, files, states, unlisted)| {
        let count = parents.len();
        // Place 0 of each choice is "a root".
        let above =
            |(at, choice): (usize, prop::sample::Index)| choice.index(at + 1).checked_sub(1);
        let mut named = BTreeMap::new();
        for (folder, name, inode) in files {
            named.insert((folder.index(count), name), inode);
        }
        Tree {
            parents: parents.into_iter().enumerate().map(above).collect(),
            files: named
                .into_iter()
                .map(|((folder, name), inode)| (folder, name, inode))
                .collect(),
            states,
            unlisted: unlisted
                .into_iter()
                .map(|choice| choice.index(count))
                .collect(),
        }
    })
}

impl Tree {
    /// The tree as the algorithms take it.
    pub(crate) fn forest(&self, with_names: bool) -> Forest {
        let id = |folder: usize| FolderId(i64::try_from(folder).unwrap() + 100);
        let facts = self
            .parents
            .iter()
            .enumerate()
            .map(|(folder, &parent)| FolderFact {
                id: id(folder),
                parent: parent.map(id),
                name: OsString::from(self.name(folder)),
                unknown: Unknown::NONE,
            });
        let mut builder = ForestBuilder::new(facts.collect(), self.files.len(), with_names);
        for &(folder, name, inode) in &self.files {
            let digest = [content(inode); 32];
            let state = self.states[usize::from(inode)];
            builder.file(&FileFact {
                folder: id(folder),
                name: OsString::from(name.to_string()).as_os_str(),
                size: size(inode),
                occupied: occupied(inode),
                volume: VolumeId(1),
                ino: Some(inode.into()),
                probe: (state != ReadState::Unread).then(|| probe(inode)),
                is_settled: state == ReadState::Settled,
                digest: (state == ReadState::Digested).then_some(&digest[..]),
                counts: true,
            });
        }
        for &folder in &self.unlisted {
            builder.add_unknown(id(folder), Unknown::UNLISTED);
        }
        builder.finish()
    }

    /// The folder that a node of the forest is.
    pub(crate) fn folder(forest: &Forest, node: Node) -> usize {
        usize::try_from(forest.id(node).0 - 100).unwrap()
    }

    /// The names of all folders have equal length, so that paths sort alike
    /// as text and by parts; few, so that names repeat in different folders.
    fn name(&self, folder: usize) -> String {
        let siblings = self.parents[..folder]
            .iter()
            .filter(|&&p| p == self.parents[folder]);
        format!("{:02}", siblings.count())
    }

    /// The names from the root to a folder.
    pub(crate) fn path(&self, folder: usize) -> Vec<String> {
        let mut path = self.parents[folder].map_or_else(Vec::new, |above| self.path(above));
        path.push(self.name(folder));
        path
    }

    /// Whether `top` is `folder` or above it.
    pub(crate) fn holds(&self, top: usize, folder: usize) -> bool {
        top == folder || self.parents[folder].is_some_and(|above| self.holds(top, above))
    }

    pub(crate) fn are_related(&self, a: usize, b: usize) -> bool {
        self.holds(a, b) || self.holds(b, a)
    }

    /// The files below a folder: path below it, and inode.
    pub(crate) fn below(&self, top: usize) -> Vec<(Vec<String>, u8)> {
        let depth = self.path(top).len();
        let files = self
            .files
            .iter()
            .filter(|(folder, ..)| self.holds(top, *folder));
        files
            .map(|&(folder, name, inode)| {
                let mut path = self.path(folder).split_off(depth);
                path.push(name.to_string());
                (path, inode)
            })
            .collect()
    }

    pub(crate) fn content(&self, inode: u8) -> Content {
        match self.states[usize::from(inode)] {
            _ if size(inode) == 0 => Content::Empty,
            ReadState::Digested => Content::Digest(content(inode)),
            _ => Content::Inode(inode),
        }
    }

    /// Whether it is known what an inode's content equals.
    pub(crate) fn is_certain(&self, inode: u8) -> bool {
        let mut others = self.files.iter().filter(|(_, _, other)| {
            let state = self.states[usize::from(*other)];
            let may_be_equal = match self.states[usize::from(inode)] {
                ReadState::Unread => true,
                ReadState::Probed => state != ReadState::Unread && probe(*other) == probe(inode),
                ReadState::Settled | ReadState::Digested => false,
            };
            *other != inode && size(*other) == size(inode) && may_be_equal
        });
        size(inode) == 0 || others.next().is_none()
    }

    /// Whether an inode that was not read may have the content of this one,
    /// by the rule for unchecked files.
    pub(crate) fn is_unresolved(&self, inode: u8) -> bool {
        let state = |inode: u8| self.states[usize::from(inode)];
        let in_class = |other: u8, probed: bool| {
            let is_probed = |inode: u8| state(inode) != ReadState::Unread;
            size(other) == size(inode)
                && (!probed || is_probed(other) && is_probed(inode) && probe(other) == probe(inode))
        };
        // Open is a class with several copies, one of them unresolved.
        let is_open = |probed: bool, unresolved: ReadState| {
            let class = self.files.iter().map(|file| file.2);
            let class: BTreeSet<u8> = class.filter(|&other| in_class(other, probed)).collect();
            class.len() > 1 && class.iter().any(|&other| state(other) == unresolved)
        };
        size(inode) > 0 && (is_open(false, ReadState::Unread) || is_open(true, ReadState::Probed))
    }

    /// Whether all that is below a folder is known.
    pub(crate) fn is_complete(&self, top: usize) -> bool {
        let is_listed = !self.unlisted.iter().any(|&folder| self.holds(top, folder));
        is_listed
            && self
                .below(top)
                .iter()
                .all(|(_, inode)| self.is_certain(*inode))
    }
}
