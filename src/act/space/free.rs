//! The free space of filesystems before and after files are deleted there.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::platform::{Dir, Links};

/// How long a filesystem may take to give back blocks of deleted files: xfs and
/// btrfs do so in the background.
const LATEST: Duration = Duration::from_secs(2);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Free bytes of filesystems, as they were when each was first seen.
#[derive(Default)]
pub(crate) struct FreeSpace {
    before: HashMap<u64, (Dir, u64)>,
}

impl FreeSpace {
    /// Notes the free space of the filesystem of a folder, unless that was done.
    pub(crate) fn note(&mut self, dir: &Dir) -> io::Result<()> {
        if let Entry::Vacant(first) = self.before.entry(dir.stat()?.dev) {
            let dir = dir.open_beneath([""; 0], Links::Refuse)?;
            dir.sync_filesystem()?;
            let free = dir.free_bytes()?;
            first.insert((dir, free));
        }
        Ok(())
    }

    /// How much more is free now; waits a moment if it is less than `expected`.
    /// Whatever other programs write or delete meanwhile counts, too.
    pub(crate) fn gained(&self, expected: u64) -> io::Result<u64> {
        let began = Instant::now();
        loop {
            let mut gained = 0;
            for (dir, before) in self.before.values() {
                dir.sync_filesystem()?;
                gained += dir.free_bytes()?.saturating_sub(*before);
            }
            if gained >= expected || began.elapsed() >= LATEST {
                return Ok(gained);
            }
            sleep(PAUSE);
        }
    }
}
