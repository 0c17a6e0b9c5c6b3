//! Where work comes from, and the source of the first stage: folders to list.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;

use super::item::{Item, ListItem, Origin};
use super::report::ItemResult;
use crate::catalog::{ReadOnly, WriterHandle};
use crate::model::{FolderId, RootId, ScanId, VolumeId};
use crate::scan::error::ScanError;

/// Folders kept in memory; further ones are found again in the catalog.
const FRONTIER: usize = 10_000;
/// Bytes of paths kept in memory with them.
const FRONTIER_BYTES: usize = 16 << 20;
/// Folders fetched from the catalog at once.
const PAGE: u32 = 5_000;
/// While no more folders wait than this, they are listed in the order in which
/// they were found, which is that of their ids: rows are appended. Beyond it,
/// depth first, so that fewer wait.
const IN_ORDER: usize = FRONTIER / 2;

/// Where a stage's work comes from.
pub(crate) trait Source {
    /// The next item that is ready now.
    fn next(&mut self) -> Result<Option<Item>, ScanError>;

    /// Takes in what a finished item found.
    fn accept(&mut self, _found: ItemResult) {}

    /// Notes that an item ended, in whatever way.
    fn ended(&mut self, _item: &Item) {}

    /// Called when nothing is queued, running or waiting: is there more?
    fn refill(&mut self, _held: Held) -> Result<bool, ScanError> {
        Ok(false)
    }
}

/// What was not done because its device keeps failing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    /// Whether work was held since the source was last refilled.
    pub(crate) is_new: bool,
    /// Whether a device was given up: what it owes counts as done.
    pub(crate) is_given_up: bool,
}

/// What a listing starts from.
#[derive(Debug, Clone)]
pub(crate) enum Seeds {
    /// These folders.
    Folders(Vec<FolderId>),
    /// What the catalog says is still to do in an interrupted scan, which
    /// began at this folder, or at dead letters.
    Unfinished(Option<FolderId>),
}

/// Where a listing belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListStart {
    pub(crate) scan: ScanId,
    pub(crate) root: RootId,
    pub(crate) volume: VolumeId,
    /// How deep below the root the folder is that the user named.
    pub(crate) start_depth: usize,
}

/// The folders of one root that are still to be listed.
pub(crate) struct ListSource {
    start: ListStart,
    catalog: ReadOnly,
    writer: WriterHandle,
    waiting: VecDeque<ListItem>,
    /// Folders reached through links wait until all others are listed, so
    /// that a folder gets its real path where it has one in the root.
    links: Vec<ListItem>,
    path_bytes: usize,
    /// Starting points still to be visited, one after the other: one may lie
    /// below another, and no folder is listed twice at a time.
    seeds: Vec<FolderId>,
    /// Whether the catalog may know folders that are not in memory.
    has_more: bool,
    /// Folders listed before the stop are looked at again, in id order.
    recheck_after: Option<FolderId>,
}

impl ListSource {
    /// A source over one root, or a part of it.
    pub(crate) fn new(
        start: ListStart,
        seeds: Seeds,
        catalog: ReadOnly,
        writer: WriterHandle,
    ) -> Self {
        let mut source = Self {
            start,
            catalog,
            writer,
            waiting: VecDeque::new(),
            links: Vec::new(),
            path_bytes: 0,
            seeds: Vec::new(),
            has_more: false,
            recheck_after: None,
        };
        match seeds {
            Seeds::Folders(folders) => source.seeds = folders,
            Seeds::Unfinished(folder) => {
                source.seeds = folder.into_iter().collect();
                source.has_more = true;
                source.recheck_after = Some(FolderId(0));
            }
        }
        source
    }

    fn push_all(&mut self, folders: Vec<FolderId>, origin: &Origin) {
        let items = folders.into_iter().map(|folder| ListItem {
            scan: self.start.scan,
            root: self.start.root,
            volume: self.start.volume,
            folder,
            start_depth: self.start.start_depth,
            origin: origin.clone(),
            hung: None,
            is_repeated: false,
        });
        self.waiting.extend(items);
    }

    fn recheck(&mut self) -> Result<(), ScanError> {
        let Some(after) = self.recheck_after else {
            return Ok(());
        };
        let ListStart { scan, root, .. } = self.start;
        let page = self.catalog.listed_folders(scan, root, after, PAGE)?;
        self.recheck_after = page.last().copied();
        self.push_all(page, &Origin::Listed);
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.waiting.len() + self.links.len() >= FRONTIER || self.path_bytes >= FRONTIER_BYTES
    }
}

impl Source for ListSource {
    fn next(&mut self) -> Result<Option<Item>, ScanError> {
        if self.waiting.is_empty() {
            self.recheck()?;
        }
        let item = match self.waiting.len() {
            0..=IN_ORDER => self.waiting.pop_front(),
            _ => self.waiting.pop_back(),
        };
        if let Some(item) = &item {
            self.path_bytes -= path_len(item);
        }
        Ok(item.map(Item::List))
    }

    fn accept(&mut self, found: ItemResult) {
        let ItemResult::Subfolders(subfolders) = found else {
            return;
        };
        for item in subfolders {
            if self.is_full() {
                self.has_more = true;
                continue;
            }
            self.path_bytes += path_len(&item);
            match &item.origin {
                Origin::Parent(parent) if parent.is_link => self.links.push(item),
                _ => self.waiting.push_back(item),
            }
        }
    }

    fn refill(&mut self, held: Held) -> Result<bool, ScanError> {
        let ListStart { scan, root, .. } = self.start;
        self.has_more |= held.is_new;
        // One at a time, so that the next scan finds the same paths.
        if let Some(link) = self.links.pop() {
            self.waiting.push_back(link);
            return Ok(true);
        }
        // What is visited and what is pending is derived from what is committed.
        self.writer.flush()?;
        while let Some(seed) = self.seeds.pop() {
            if self.catalog.folder(seed)?.visited_in != Some(scan) {
                self.push_all(vec![seed], &Origin::Catalog);
                return Ok(true);
            }
        }
        // What a failed device owes would be found pending for ever.
        if !self.has_more || held.is_given_up {
            return Ok(false);
        }
        let pending = self.catalog.pending_folders(scan, root, PAGE)?;
        self.has_more = !pending.is_empty();
        self.push_all(pending, &Origin::Catalog);
        Ok(self.has_more)
    }
}

fn path_len(item: &ListItem) -> usize {
    match &item.origin {
        Origin::Parent(parent) => parent.path.as_os_str().as_bytes().len(),
        Origin::Catalog | Origin::Listed => 0,
    }
}
