//! The disks that a filesystem is on in the end: below partitions, mappings, arrays
//! and images.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::volume::Volume;

/// The disks below a filesystem.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spindles {
    /// Their places in the device tree; empty where the system does not tell.
    pub disks: BTreeSet<PathBuf>,
    /// Whether they claim to be rotational; `None` if the system does not say.
    ///
    /// Virtual disks often claim it wrongly, so callers should not act on this alone.
    pub are_rotational: Option<bool>,
}

/// Images in images and mappings of mappings end somewhere.
const DEEPEST: usize = 8;

impl Spindles {
    /// The disks below a volume.
    pub fn of(volume: &Volume) -> Self {
        let devices = match volume.fstype {
            "btrfs" => of_btrfs(&volume.plain),
            _ => vec![by_number(volume.dev)],
        };
        let devices = devices
            .iter()
            .filter_map(|device| fs::canonicalize(device).ok());
        let devices: Vec<PathBuf> = devices.collect();
        let mut disks = BTreeSet::new();
        for device in &devices {
            descend(device, &mut disks, DEEPEST);
        }
        let claims: Vec<bool> = devices.iter().filter_map(|it| is_rotational(it)).collect();
        Self {
            disks,
            are_rotational: (!claims.is_empty()).then(|| claims.contains(&true)),
        }
    }
}

fn by_number(dev: u64) -> PathBuf {
    let (major, minor) = (rustix::fs::major(dev), rustix::fs::minor(dev));
    Path::new("/sys/dev/block").join(format!("{major}:{minor}"))
}

/// The devices of a btrfs, which has a device number of none of them.
fn of_btrfs(identity: &str) -> Vec<PathBuf> {
    let uuid = identity.strip_prefix("uuid:");
    let uuid = uuid.and_then(|rest| rest.split('/').next()).unwrap_or("");
    entries(&Path::new("/sys/fs/btrfs").join(uuid).join("devices"))
}

/// Collects the disks below a device, or the device itself where there are none.
fn descend(device: &Path, disks: &mut BTreeSet<PathBuf>, depth: usize) {
    let below = below(device);
    if below.is_empty() || depth == 0 {
        disks.insert(device.to_owned());
    }
    for device in below.iter().filter(|_| depth > 0) {
        descend(device, disks, depth - 1);
    }
}

/// What a device is made of: the disk of a partition, the devices of an array or a
/// mapping, the disk that an image lies on.
fn below(device: &Path) -> Vec<PathBuf> {
    if device.join("partition").exists() {
        return device.parent().map(Path::to_owned).into_iter().collect();
    }
    if let Ok(image) = fs::read_to_string(device.join("loop/backing_file")) {
        let image = fs::metadata(image.trim_end_matches('\n'));
        let disk = image.map(|image| fs::canonicalize(by_number(image.dev())));
        return disk.into_iter().flatten().collect();
    }
    let slaves = entries(&device.join("slaves"));
    let slaves = slaves
        .iter()
        .filter_map(|slave| fs::canonicalize(slave).ok());
    slaves.collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// What the queue of requests to a device says; a partition has that of its disk.
fn is_rotational(device: &Path) -> Option<bool> {
    let value = ["queue/rotational", "../queue/rotational"]
        .iter()
        .find_map(|file| fs::read_to_string(device.join(file)).ok())?;
    Some(value.trim() == "1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::testing::skipped;
    use crate::platform::{Dir, Volume};

    fn device(folder: &Path, files: &[(&str, &str)]) -> PathBuf {
        for (file, content) in files {
            let file = folder.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        folder.to_owned()
    }

    fn disks_below(device: &Path) -> BTreeSet<PathBuf> {
        let mut disks = BTreeSet::new();
        descend(device, &mut disks, DEEPEST);
        disks
    }

    #[test]
    fn partitions_mappings_and_arrays_end_at_their_disks() {
        let sys = tempfile::tempdir().unwrap();
        let sys = fs::canonicalize(sys.path()).unwrap();
        let one = device(&sys.join("one"), &[("queue/rotational", "1\n")]);
        let two = device(&sys.join("two"), &[("queue/rotational", "0\n")]);
        let part = device(&one.join("one1"), &[("partition", "1")]);
        let array = device(&sys.join("md0"), &[("queue/rotational", "1\n")]);
        fs::create_dir_all(array.join("slaves")).unwrap();
        for (name, of) in [("a", &part), ("b", &two)] {
            std::os::unix::fs::symlink(of, array.join("slaves").join(name)).unwrap();
        }
        let mapping = device(&sys.join("dm-0"), &[]);
        fs::create_dir_all(mapping.join("slaves")).unwrap();
        std::os::unix::fs::symlink(&part, mapping.join("slaves/it")).unwrap();
        assert_eq!(disks_below(&part), BTreeSet::from([one.clone()]));
        assert_eq!(disks_below(&mapping), BTreeSet::from([one.clone()]));
        assert_eq!(disks_below(&array), BTreeSet::from([one, two.clone()]));
        assert_eq!(is_rotational(&part), Some(true));
        assert_eq!(is_rotational(&two), Some(false));
        assert_eq!(is_rotational(&mapping), None);
    }

    #[test]
    fn what_is_on_no_disk_tells_of_none() {
        let Ok(dir) = Dir::open_root(Path::new("/proc")) else {
            return skipped("there is no /proc");
        };
        let volume = Volume::of(&dir, dir.stat().unwrap().dev).unwrap();
        assert_eq!(Spindles::of(&volume), Spindles::default());
    }
}
