//! What deleting files gives back to their disks: predicted from their blocks,
//! and measured.

mod free;
mod ranges;

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use free::FreeSpace;

use super::files::IN_MEMORY;
use crate::model::Reclaimable;
use crate::platform::{DiskExtent, OpenFile, Unwritten, Volume};
use ranges::Ranges;

/// What a compressed extent takes at least.
const BLOCK: u64 = 4096;

/// What deleting files one after the other gives back. Blocks that several files
/// share are given back with the last of them: they count once, and not at all
/// while a file that is known to stay has them.
///
/// Whether other files or snapshots share a block, the system tells; which, it does
/// not. So blocks that are shared may stay in use whatever goes.
pub(crate) struct Blocks {
    /// What to do about blocks that are only in memory yet.
    unwritten: Unwritten,
    /// Shared bytes that stay, or were counted.
    seen: HashMap<Storage, Ranges>,
    /// What stores the blocks of each device.
    storages: HashMap<u64, Storage>,
}

type Storage = (Option<String>, String);

impl Blocks {
    pub(crate) fn new(unwritten: Unwritten) -> Self {
        Self {
            unwritten,
            seen: HashMap::new(),
            storages: HashMap::new(),
        }
    }

    /// A file stays.
    pub(crate) fn stays(&mut self, file: &OpenFile) {
        // What cannot be read is taken for shared with nobody known: more may seem
        // to become free, at most.
        for extent in self.extents(file).ok().flatten().unwrap_or_default() {
            self.take_shared(file, &extent);
        }
    }

    /// A file goes.
    pub(crate) fn goes(&mut self, file: &OpenFile) -> Reclaimable {
        self.try_goes(file).unwrap_or_else(|_| {
            let allocated = file.opened_as().meta.allocated;
            Reclaimable::between(0, allocated)
        })
    }

    fn try_goes(&mut self, file: &OpenFile) -> io::Result<Reclaimable> {
        let extents = self.extents(file)?;
        // Asked afterwards: content that was only in memory has its blocks now.
        let allocated = file.stat()?.meta.allocated;
        let Some(extents) = extents else {
            return Ok(match Volume::type_of(file)? == IN_MEMORY {
                true => Reclaimable::exactly(allocated),
                false => Reclaimable::between(0, allocated),
            });
        };
        if extents.iter().all(is_plain) {
            return Ok(Reclaimable::exactly(allocated));
        }
        let mut sum = Reclaimable::default();
        for extent in &extents {
            sum.add(self.of_extent(file, extent));
        }
        Ok(sum)
    }

    fn of_extent(&mut self, file: &OpenFile, extent: &DiskExtent) -> Reclaimable {
        if extent.is_shared() {
            return Reclaimable::between(0, self.take_shared(file, extent));
        }
        match (extent.has_place(), extent.is_encoded()) {
            (true, false) => Reclaimable::exactly(extent.length),
            (true, true) => Reclaimable::between(BLOCK.min(extent.length), extent.length),
            (false, _) => Reclaimable::between(0, extent.length),
        }
    }

    fn extents(&self, file: &OpenFile) -> io::Result<Option<Vec<DiskExtent>>> {
        let extents = file.extents(self.unwritten)?;
        extents.map(Iterator::collect).transpose()
    }

    fn storage_of(&mut self, file: &OpenFile) -> io::Result<Storage> {
        let dev = file.opened_as().dev;
        if let Some(known) = self.storages.get(&dev) {
            return Ok(known.clone());
        }
        let storage = Volume::of(file, dev)?.storage();
        self.storages.insert(dev, storage.clone());
        Ok(storage)
    }

    /// How many bytes of a shared extent are neither known to stay nor counted yet.
    fn take_shared(&mut self, file: &OpenFile, extent: &DiskExtent) -> u64 {
        if !extent.is_shared() {
            return 0;
        }
        if !extent.has_place() {
            return extent.length;
        }
        let Ok(storage) = self.storage_of(file) else {
            return extent.length;
        };
        let ranges = self.seen.entry(storage).or_default();
        ranges.add(extent.physical..extent.physical.saturating_add(extent.length))
    }
}

/// Blocks of its own, as many as the file says.
fn is_plain(extent: &DiskExtent) -> bool {
    extent.has_place() && !extent.is_encoded() && !extent.is_shared()
}

/// The sum of what several workers delete or move to the trash. They hold both files
/// then, and programs may wait to write to them: nothing is written to the disk first.
pub(crate) struct Space {
    sum: Mutex<(Blocks, Reclaimable)>,
}

impl Default for Space {
    fn default() -> Self {
        let blocks = Blocks::new(Unwritten::Leave);
        Self {
            sum: Mutex::new((blocks, Reclaimable::default())),
        }
    }
}

impl Space {
    /// A file stays.
    pub(crate) fn stays(&self, file: &OpenFile) {
        self.lock().0.stays(file);
    }

    /// A file goes.
    pub(crate) fn goes(&self, file: &OpenFile) {
        let (blocks, sum) = &mut *self.lock();
        sum.add(blocks.goes(file));
    }

    /// What deleting all that went gives back.
    pub(crate) fn reclaimable(&self) -> Reclaimable {
        self.lock().1
    }

    fn lock(&self) -> MutexGuard<'_, (Blocks, Reclaimable)> {
        self.sum.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
