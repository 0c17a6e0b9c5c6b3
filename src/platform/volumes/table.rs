//! The volumes of one run, and those of earlier runs that they may be or be clones
//! of.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fd::AsFd;

use super::identity;
use super::volume::Volume;

/// A volume that was met earlier: its identity in the table of that time, and its
/// disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownVolume {
    /// Its identity, which may end in what tells it from the disk it is a clone of.
    pub identity: String,
    /// The disk or partition it was on.
    pub disk: Option<String>,
}

impl KnownVolume {
    /// Whether its filesystem has the identity `plain`, as each of its clones does.
    pub fn has(&self, plain: &str) -> bool {
        let rest = self.identity.strip_prefix(plain);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(DISK) || is_clone(rest))
    }
}

/// What comes before the number of its disk in the identity of a clone.
const DISK: &str = "/disk:";
/// What comes before its device number, where the system tells nothing of its disk.
const CLONE: &str = "/clone:";

fn is_clone(rest: &str) -> bool {
    rest.starts_with(CLONE)
}

/// The volumes met during one scan, each looked up once, with an identity of
/// its own even if it is a clone of another one.
///
/// Do not keep a table longer: device numbers are used again after an unmount.
#[derive(Debug, Default)]
pub struct VolumeTable {
    /// Those met earlier, which keep their identities.
    known: Vec<KnownVolume>,
    by_dev: Mutex<HashMap<u64, Arc<Volume>>>,
}

impl VolumeTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty table that knows volumes met earlier.
    pub fn knowing(known: Vec<KnownVolume>) -> Self {
        Self {
            known,
            by_dev: Mutex::default(),
        }
    }

    /// The volume of an open folder whose device number is `dev`.
    ///
    /// A device on a known disk has the identity it had. If a known volume has its
    /// identity and is not known to be on the same disk, or if one met before has,
    /// `/disk:<number of the disk>` is added to it. Where the system tells nothing
    /// of a disk, `/clone:<major>:<minor>@<boot>` is: nothing better tells clones
    /// apart, and device numbers may change places when the machine is started.
    pub fn of(&self, folder: &impl AsFd, dev: u64) -> io::Result<Arc<Volume>> {
        if let Some(known) = self.lock().get(&dev) {
            return Ok(Arc::clone(known));
        }
        // Asked without the lock: a dead server must block only one worker.
        let volume = Volume::of(folder, dev)?;
        Ok(self.insert(volume, None))
    }

    /// Like [`VolumeTable::of`], for a folder in the place where a known volume was
    /// seen. One that has its identity is taken for it, also on a disk that was
    /// never seen: disks get new cases, and images new paths. `None` where another
    /// volume is there now.
    pub fn in_place(
        &self,
        folder: &impl AsFd,
        dev: u64,
        known: &KnownVolume,
    ) -> io::Result<Option<Arc<Volume>>> {
        if let Some(met) = self.lock().get(&dev) {
            let is_it = met.identity == known.identity;
            return Ok(is_it.then(|| Arc::clone(met)));
        }
        let volume = Volume::of(folder, dev)?;
        let is_it = match self.on_disk_of(&volume) {
            Some(on_disk) => on_disk.identity == known.identity,
            None => {
                let rest = known.identity.strip_prefix(&volume.identity);
                known.has(&volume.identity) && !rest.is_some_and(is_clone)
            }
        };
        Ok(is_it.then(|| self.insert(volume, Some(&known.identity))))
    }

    pub(super) fn insert(&self, mut volume: Volume, place: Option<&str>) -> Arc<Volume> {
        let mut by_dev = self.lock();
        if let Some(known) = by_dev.get(&volume.dev) {
            return Arc::clone(known);
        }
        let is_free = |name: &str| by_dev.values().all(|known| known.identity != name);
        let known = place.or_else(|| Some(&*self.on_disk_of(&volume)?.identity));
        let plain = Some(&*volume.identity).filter(|plain| !self.knows(plain));
        let as_known = known.or(plain).map(str::to_owned);
        let of_disk = volume.disk.as_ref().map(|disk| {
            let number = number_of(disk);
            format!("{}{DISK}{number:016x}", volume.identity)
        });
        let mut names = as_known.into_iter().chain(of_disk);
        let free = names.find(|name| is_free(name));
        volume.identity = free.unwrap_or_else(|| {
            let device = identity::device_until_reboot(volume.dev);
            format!("{}{CLONE}{device}", volume.identity)
        });
        let volume = Arc::new(volume);
        by_dev.insert(volume.dev, Arc::clone(&volume));
        volume
    }

    /// The known volume of this identity on the same disk.
    fn on_disk_of(&self, volume: &Volume) -> Option<&KnownVolume> {
        volume.disk.as_ref()?;
        let mut known = self.known.iter();
        known.find(|known| known.disk == volume.disk && known.has(&volume.identity))
    }

    /// Whether a known volume has the UUID of this identity. Others hold until the
    /// next boot or unmount, and nothing has them twice.
    fn knows(&self, identity: &str) -> bool {
        let is_uuid = identity.starts_with("uuid:") && !identity.contains("/mount:");
        is_uuid && self.known.iter().any(|known| known.identity == identity)
    }

    /// The map is valid between any two statements, so a panic elsewhere does
    /// not spoil it.
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Volume>>> {
        self.by_dev.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A number for a text, the same in all versions of the program (FNV-1a).
fn number_of(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
