//! Where the work of the first stages comes from: folders to list, files to
//! probe. Classes to read come from `hash_source`.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;

use super::Source;
use super::item::{Item, ItemReport, ListItem, Origin};
use crate::catalog::{Candidates, ReadOnly, WorkCopy, WriterHandle};
use crate::model::{FolderId, RootId, ScanId, VolumeId};
use crate::scan::error::ScanError;
use crate::scan::plan::RootPlan;

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
/// Files in one probe item.
const PROBE_BATCH: usize = 64;

/// What a listing starts from.
#[derive(Debug, Clone)]
pub(crate) enum Seeds {
    /// These folders.
    Folders(Vec<FolderId>),
    /// What the catalog says is still to do in an interrupted scan, which
    /// began at this folder, or at dead letters.
    Unfinished(Option<FolderId>),
}

/// The folders of one root that are still to be listed.
pub(crate) struct ListSource {
    scan: ScanId,
    root: RootId,
    volume: VolumeId,
    start_depth: usize,
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
        plan: &RootPlan,
        seeds: Seeds,
        catalog: ReadOnly,
        writer: WriterHandle,
    ) -> Self {
        let mut source = Self {
            scan: plan.scan,
            root: plan.root,
            volume: plan.volume,
            start_depth: plan.start_depth,
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
            Seeds::Unfinished(start) => {
                source.seeds = start.into_iter().collect();
                source.has_more = true;
                source.recheck_after = Some(FolderId(0));
            }
        }
        source
    }

    fn push_all(&mut self, folders: Vec<FolderId>, origin: &Origin) {
        let items = folders.into_iter().map(|folder| ListItem {
            scan: self.scan,
            root: self.root,
            volume: self.volume,
            folder,
            start_depth: self.start_depth,
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
        let page = self
            .catalog
            .listed_folders(self.scan, self.root, after, PAGE)?;
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

    fn accept(&mut self, report: &mut ItemReport) {
        for item in report.subfolders.drain(..) {
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

    fn held(&mut self) {
        self.has_more = true;
    }

    fn refill(&mut self, is_device_given_up: bool) -> Result<bool, ScanError> {
        // One at a time, so that the next scan finds the same paths.
        if let Some(link) = self.links.pop() {
            self.waiting.push_back(link);
            return Ok(true);
        }
        // What is visited and what is pending is derived from what is committed.
        self.writer.flush()?;
        while let Some(seed) = self.seeds.pop() {
            if self.catalog.folder(seed)?.visited_in != Some(self.scan) {
                self.push_all(vec![seed], &Origin::Catalog);
                return Ok(true);
            }
        }
        // What a failed device owes would be found pending for ever.
        if !self.has_more || is_device_given_up {
            return Ok(false);
        }
        let pending = self.catalog.pending_folders(self.scan, self.root, PAGE)?;
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

/// Files to probe, in batches.
pub(crate) struct ProbeSource(pub Candidates);

impl Source for ProbeSource {
    fn next(&mut self) -> Result<Option<Item>, ScanError> {
        let batch = self.0.next_batch(PROBE_BATCH)?;
        Ok((!batch.is_empty()).then_some(Item::Probe(batch)))
    }
}

/// Files whose probe was put off while they were listed.
pub(crate) struct DeferredSource(pub VecDeque<WorkCopy>);

impl Source for DeferredSource {
    fn next(&mut self) -> Result<Option<Item>, ScanError> {
        let batch: Vec<WorkCopy> = self.0.drain(..PROBE_BATCH.min(self.0.len())).collect();
        Ok((!batch.is_empty()).then_some(Item::Probe(batch)))
    }
}
