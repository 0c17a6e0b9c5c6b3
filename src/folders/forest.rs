//! The folders and files of a catalog, laid out so that a subtree is a slice:
//! folders in depth-first order, files in the order of their folders.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

use super::contents::{Contents, EMPTY, Rows};
use super::facts::{FileFact, FolderFact};
use super::narrow;
use super::unknown::Unknown;
use crate::model::FolderId;

/// A folder, by its place in depth-first order.
pub type Node = u32;

/// No folder: above a root.
const NOWHERE: Node = Node::MAX;

/// Builds a [`Forest`] from facts.
pub struct ForestBuilder {
    forest: Forest,
    nodes: HashMap<FolderId, Node>,
    rows: Rows,
    /// The rows of each folder, which arrive together.
    ranges: Vec<Range<u32>>,
    names: Option<(RandomState, Vec<u64>)>,
    name_keys: Vec<u64>,
}

/// Folders and files, ready to be compared.
#[derive(Debug, Default)]
pub struct Forest {
    ids: Vec<FolderId>,
    parents: Vec<Node>,
    /// One past the last folder below each.
    ends: Vec<Node>,
    depths: Vec<u32>,
    unknown: Vec<Unknown>,
    /// Whether something below each may equal a file that was not read.
    unresolved: Vec<bool>,
    /// Where the files of each folder begin; one more than there are folders.
    starts: Vec<u32>,
    /// The content of each file.
    contents: Vec<u32>,
    /// The copy (volume and inode) that each file is a name of.
    copies: Vec<u32>,
    /// Names in the whole catalog of each copy that has several.
    copy_names: HashMap<u32, u32>,
    /// What the copies occupy that occupy less than their size.
    sparse: HashMap<u32, u64>,
    /// By content: size, whether it is certain, and what it equals.
    catalogue: Contents,
    /// Keys of folders' and files' names; empty unless asked for.
    folder_names: Vec<u64>,
    file_names: Vec<u64>,
}

impl ForestBuilder {
    /// Starts with the folders. Those outside all roots are dropped. `files` is
    /// the approximate number of files to come.
    pub fn new(mut folders: Vec<FolderFact>, files: usize, with_names: bool) -> Self {
        folders.sort_by(|a, b| (a.parent, &a.name, a.id).cmp(&(b.parent, &b.name, b.id)));
        let mut forest = Forest::default();
        let order = forest.plant(&folders);
        let names = with_names.then(|| (RandomState::new(), Vec::with_capacity(files)));
        let name_keys = match &names {
            Some((state, _)) => order
                .iter()
                .map(|&at| state.hash_one(folders[at].name.as_bytes()))
                .collect(),
            None => Vec::new(),
        };
        let nodes = (0..).zip(&forest.ids).map(|(node, &id)| (id, node));
        Self {
            nodes: nodes.collect(),
            ranges: vec![0..0; forest.ids.len()],
            rows: Rows::with_capacity(files),
            names,
            name_keys,
            forest,
        }
    }

    /// Takes the next file. Those of one folder come one after another.
    pub fn file(&mut self, fact: &FileFact<'_>) {
        let Some(&node) = self.nodes.get(&fact.folder) else {
            return;
        };
        let at = self.rows.push(fact);
        let range = &mut self.ranges[node as usize];
        if range.start == range.end {
            *range = at..at;
        }
        debug_assert_eq!(range.end, at, "the files of a folder come together");
        range.end = at + 1;
        if let Some((state, keys)) = &mut self.names {
            keys.push(state.hash_one(fact.name.as_bytes()));
        }
    }

    /// Records that a folder is incomplete.
    pub fn add_unknown(&mut self, folder: FolderId, why: Unknown) {
        if let Some(&node) = self.nodes.get(&folder) {
            self.forest.unknown[node as usize] |= why;
        }
    }

    /// Finds equal contents.
    pub fn finish(self) -> Forest {
        let Self {
            mut forest,
            mut rows,
            ranges,
            names,
            name_keys,
            ..
        } = self;
        let (copies, copy_names) = rows.copies();
        let (contents, catalogue) = rows.contents(&copies, &ranges);
        forest.sparse = rows.sparse(&copies);
        // One column after the other, so that none is in memory twice for long.
        let counted = || {
            let rows = &rows;
            let own = move |range: &Range<u32>| range.clone().filter(|&row| rows.counts(row));
            ranges.iter().map(own)
        };
        let in_order = |column: Vec<u32>| {
            let mut ordered = Vec::with_capacity(column.len());
            ordered.extend(counted().flatten().map(|row| column[row as usize]));
            ordered
        };
        forest.contents = in_order(contents);
        forest.copies = in_order(copies);
        if let Some((_, keys)) = names {
            let keys = counted().flatten().map(|row| keys[row as usize]);
            forest.file_names = keys.collect();
        }
        forest.starts.push(0);
        for own in counted() {
            let start = forest.starts.last().copied().unwrap_or(0);
            forest.starts.push(start + narrow(own.count()));
        }
        forest.folder_names = name_keys;
        forest.copy_names = copy_names;
        forest.catalogue = catalogue;
        forest.spread_unknown();
        forest
    }
}

impl Forest {
    /// Lays out the folders, sorted by parent and name, in depth-first order;
    /// returns where each came from.
    fn plant(&mut self, folders: &[FolderFact]) -> Vec<usize> {
        let children = |parent: Option<FolderId>| {
            let from = folders.partition_point(|folder| folder.parent < parent);
            let to = folders.partition_point(|folder| folder.parent <= parent);
            from..to
        };
        let mut order = Vec::with_capacity(folders.len());
        let mut path: Vec<Node> = Vec::new();
        let mut waiting: Vec<(usize, u32)> = children(None).rev().map(|at| (at, 0)).collect();
        while let Some((at, depth)) = waiting.pop() {
            let node = narrow(order.len());
            path.truncate(depth as usize);
            self.parents.push(path.last().copied().unwrap_or(NOWHERE));
            path.push(node);
            order.push(at);
            self.ids.push(folders[at].id);
            self.depths.push(depth);
            self.unknown.push(folders[at].unknown);
            let below = children(Some(folders[at].id)).rev();
            waiting.extend(below.map(|at| (at, depth + 1)));
        }
        self.ends = (1..=narrow(order.len())).collect();
        for node in (0..order.len()).rev() {
            if let Some(parent) = self.parent(narrow(node)) {
                let end = self.ends[node];
                let parent_end = &mut self.ends[parent as usize];
                *parent_end = end.max(*parent_end);
            }
        }
        order
    }

    /// Extends what is unknown and unresolved in a folder to those above it.
    fn spread_unknown(&mut self) {
        self.unresolved = vec![false; self.len()];
        for node in (0..narrow(self.len())).rev() {
            let own = &self.contents[self.own_files(node)];
            if own.iter().any(|&content| !self.is_certain(content)) {
                self.unknown[node as usize] |= Unknown::UNRESOLVED;
            }
            let mut own = own.iter();
            self.unresolved[node as usize] |= own.any(|&content| self.is_unresolved(content));
            if let Some(parent) = self.parent(node) {
                let unknown = self.unknown[node as usize];
                self.unknown[parent as usize] |= unknown;
                self.unresolved[parent as usize] |= self.unresolved[node as usize];
            }
        }
    }

    /// Number of folders.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no folders.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The id of a folder.
    pub fn id(&self, node: Node) -> FolderId {
        self.ids[node as usize]
    }

    /// The folder with this id.
    pub fn node(&self, id: FolderId) -> Option<Node> {
        self.ids.iter().position(|&known| known == id).map(narrow)
    }

    /// A folder and all below it.
    pub fn subtree(&self, node: Node) -> Range<Node> {
        node..self.ends[node as usize]
    }

    /// How the subtree of a folder is incomplete.
    pub fn unknown(&self, node: Node) -> Unknown {
        self.unknown[node as usize]
    }

    /// Why a folder cannot be called unique for certain: it is incomplete, or
    /// unread files elsewhere may equal its own.
    pub(crate) fn unresolved(&self, node: Node) -> Unknown {
        let mut unresolved = self.unknown(node);
        if self.unresolved[node as usize] {
            unresolved |= Unknown::UNRESOLVED;
        }
        unresolved
    }

    /// The contents of a folder's own files, in the order they came.
    pub fn own_contents(&self, node: Node) -> &[u32] {
        &self.contents[self.own_files(node)]
    }

    /// Whether a content is that of an empty file.
    pub fn is_empty_content(&self, content: u32) -> bool {
        content == EMPTY
    }

    /// Whether it is certain which contents this one equals.
    pub fn is_certain(&self, content: u32) -> bool {
        self.catalogue.is_certain(content)
    }

    /// Whether a file that was not read may have a content.
    pub fn is_unresolved(&self, content: u32) -> bool {
        self.catalogue.is_unresolved(content)
    }

    pub(crate) fn parent(&self, node: Node) -> Option<Node> {
        Some(self.parents[node as usize]).filter(|&parent| parent != NOWHERE)
    }

    pub(crate) fn depth(&self, node: Node) -> u32 {
        self.depths[node as usize]
    }

    /// Whether one is the other, or is inside it.
    pub(crate) fn are_related(&self, a: Node, b: Node) -> bool {
        self.subtree(a).contains(&b) || self.subtree(b).contains(&a)
    }

    pub(crate) fn own_files(&self, node: Node) -> Range<usize> {
        self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize
    }

    /// The files of a folder and of all below it.
    pub(crate) fn files(&self, node: Node) -> Range<usize> {
        let end = self.ends[node as usize] as usize;
        self.starts[node as usize] as usize..self.starts[end] as usize
    }

    /// The contents of a folder's files and of all below it.
    pub(crate) fn contents(&self, node: Node) -> &[u32] {
        &self.contents[self.files(node)]
    }

    pub(crate) fn copies(&self, node: Node) -> &[u32] {
        &self.copies[self.files(node)]
    }

    /// Names of a copy in the whole catalog.
    pub(crate) fn copy_names(&self, copy: u32) -> u32 {
        self.copy_names.get(&copy).copied().unwrap_or(1)
    }

    /// Bytes that deleting a copy with this content gives back.
    pub(crate) fn occupied(&self, copy: u32, content: u32) -> u64 {
        let sparse = self.sparse.get(&copy).copied();
        sparse.unwrap_or_else(|| self.catalogue.size(content))
    }

    pub(crate) fn catalogue(&self) -> &Contents {
        &self.catalogue
    }

    /// Whether names are compared.
    pub(crate) fn has_names(&self) -> bool {
        !self.folder_names.is_empty()
    }

    /// The key of a folder's name, if names are compared.
    pub(crate) fn folder_name(&self, node: Node) -> u64 {
        self.folder_names[node as usize]
    }

    /// The keys of the names of a folder's own files.
    pub(crate) fn own_names(&self, node: Node) -> &[u64] {
        &self.file_names[self.own_files(node)]
    }
}
