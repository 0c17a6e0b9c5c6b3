//! Which disk or partition a filesystem is on, by what the system says of it: a
//! clone has the UUID of the original, but not its serial number.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where a disk, or the device that it is plugged into, keeps numbers of its own.
const SERIALS: [&str; 6] = [
    "serial",
    "wwid",
    "device/serial",
    "device/wwid",
    "device/vpd_pg80",
    "device/cid",
];

/// The name of the disk or partition with this device number: equal for two only if
/// they are the same one. `None` where the system does not tell.
pub(crate) fn name(dev: u64) -> Option<String> {
    let (major, minor) = (rustix::fs::major(dev), rustix::fs::minor(dev));
    of_device(Path::new(&format!("/sys/dev/block/{major}:{minor}")))
}

/// The name of all disks of the btrfs with this UUID, which has a device number of
/// none of them.
pub(crate) fn name_of_btrfs(uuid: &str) -> Option<String> {
    of_all(&Path::new("/sys/fs/btrfs").join(uuid).join("devices"))
}

fn of_device(device: &Path) -> Option<String> {
    let device = fs::canonicalize(device).ok()?;
    if let Some(number) = text(&device.join("partition")) {
        let disk = of_device(device.parent()?)?;
        let start = text(&device.join("start"))?;
        return Some(format!("{disk} partition {number} at {start}"));
    }
    if device.join("loop").is_dir() {
        return of_image(&device.join("loop"));
    }
    match text(&device.join("dm/uuid")) {
        Some(mapping) => Some(format!("{mapping} on {}", of_slaves(&device)?)),
        None if device.join("dm").is_dir() => None,
        None => of_slaves(&device).or_else(|| serials(&device)),
    }
}

/// The file that is mounted as if it were a disk. Another one may get its path.
fn of_image(device: &Path) -> Option<String> {
    let path = text(&device.join("backing_file"))?;
    let file = fs::metadata(&path).ok()?;
    let offset = text(&device.join("offset"))?;
    Some(format!("{path} ({}) at {offset}", file.ino()))
}

/// The disks below one that is made of others.
fn of_slaves(device: &Path) -> Option<String> {
    of_all(&device.join("slaves"))
}

/// All devices of a folder; `None` unless each is known.
fn of_all(folder: &Path) -> Option<String> {
    let devices = fs::read_dir(folder).ok()?;
    let names: Option<Vec<_>> = devices.flatten().map(|d| of_device(&d.path())).collect();
    let mut names = names.filter(|names| !names.is_empty())?;
    names.sort();
    Some(names.join(", "))
}

/// What tells a disk from others of its kind; of one at a USB port, also what tells
/// its case.
fn serials(disk: &Path) -> Option<String> {
    let above = disk.ancestors().skip(1);
    let case = above
        .take_while(|device| device.starts_with("/sys/devices"))
        .find(|device| device.join("idVendor").exists());
    let own = SERIALS.iter().map(|file| disk.join(file));
    let all = own.chain(case.map(|case: &Path| PathBuf::from(case).join("serial")));
    let mut found: Vec<String> = all.filter_map(|file| text(&file)).collect();
    found.retain(|serial| serial.chars().any(|c| c.is_alphanumeric() && c != '0'));
    found.dedup();
    (!found.is_empty()).then(|| found.join(" "))
}

/// What a file of the kernel says, without what cannot be printed.
fn text(file: &Path) -> Option<String> {
    let bytes = fs::read(file).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree like `/sys/devices`, with the contents of its files.
    fn devices(files: &[(&str, &str)]) -> tempfile::TempDir {
        let temp = tempfile::tempdir().unwrap();
        for (file, content) in files {
            let file = temp.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        temp
    }

    #[test]
    fn a_partition_is_known_by_its_disk_and_place() {
        let temp = devices(&[
            ("sda/device/vpd_pg80", "\u{0}\u{8}WD-1234 "),
            ("sda/sda2/partition", "2\n"),
            ("sda/sda2/start", "4096\n"),
        ]);
        let of = |device| of_device(&temp.path().join(device));
        assert_eq!(of("sda").unwrap(), "WD-1234");
        assert_eq!(of("sda/sda2").unwrap(), "WD-1234 partition 2 at 4096");
    }

    #[test]
    fn a_disk_without_a_serial_number_has_no_name() {
        let temp = devices(&[
            ("vda/serial", "\n"),
            ("vdb/serial", "0000-0000\n"),
            ("dm-0/dm/name", "unnamed"),
        ]);
        for device in ["vda", "vdb", "dm-0", "vdz"] {
            assert_eq!(of_device(&temp.path().join(device)), None, "{device}");
        }
    }

    #[test]
    fn a_disk_made_of_others_is_known_only_if_all_are() {
        let temp = devices(&[
            ("sda/serial", "A"),
            ("sdb/serial", "B"),
            ("sdc/size", "9"),
            ("dm-0/dm/uuid", "LVM-1"),
        ]);
        let link = |disk: &str, below: &str| {
            let slaves = temp.path().join(below).join("slaves");
            fs::create_dir_all(&slaves).unwrap();
            std::os::unix::fs::symlink(temp.path().join(disk), slaves.join(disk)).unwrap();
        };
        link("sdb", "dm-0");
        link("sda", "dm-0");
        let of = || of_device(&temp.path().join("dm-0"));
        assert_eq!(of().unwrap(), "LVM-1 on A, B");
        link("sdc", "dm-0");
        assert_eq!(of(), None);
    }
}
