//! Which filesystem a folder is on, and what a scan can rely on there.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::fstype::Nature;
use super::identity;
use rustix::fd::{AsFd, BorrowedFd};

/// One mounted filesystem, or one btrfs subvolume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// `uuid:…`, the same whenever and wherever the volume is mounted, or
    /// `dev:…@…`, which is valid until the next boot; of an image with `/mount:…@…`,
    /// valid until it is unmounted.
    pub identity: String,
    /// The identity without what tells a clone from the original.
    pub plain: String,
    /// The disk or partition it is on, where the system tells. That of a clone is
    /// another one.
    pub disk: Option<String>,
    /// Name of the filesystem's type, `unknown` where it is not known.
    pub fstype: &'static str,
    /// Whether an inode number identifies one file, now and in later scans.
    pub stable_inodes: bool,
    /// Whether its files are made up by the kernel and not worth reading.
    pub pseudo: bool,
    /// Whether its files may lie on another machine.
    pub network: bool,
    /// Whether the times of a folder move whenever a name in it comes or goes.
    pub folder_times: bool,
    /// Whether it is known to keep files itself: it has a disk of its own (a FUSE
    /// filesystem too, if it is mounted from a block device), or needs none. An
    /// overlay, other FUSE filesystems and network shares may show files that are
    /// also reached in another way.
    pub own_storage: bool,
    /// Whether its files may have the device numbers of the filesystems that it
    /// shows, so that only device and inode together identify one.
    pub layered: bool,
    /// Device number, as `stat` gives it.
    pub dev: u64,
}

impl Volume {
    /// The volume of an open folder whose device number is `dev`. Two clones of
    /// one disk look the same here; [`VolumeTable`] tells them apart.
    pub fn of(folder: &impl AsFd, dev: u64) -> io::Result<Self> {
        let fd: BorrowedFd<'_> = folder.as_fd();
        let fstype = identity::fstype(fd)?;
        let nature = fstype.nature;
        let identity = identity::identity(fd, dev, fstype);
        Ok(Self {
            plain: identity.clone(),
            disk: identity::disk(&identity, dev, fstype),
            identity,
            fstype: fstype.name,
            stable_inodes: matches!(nature, Nature::Local | Nature::Network),
            pseudo: nature == Nature::Pseudo,
            network: matches!(nature, Nature::Network | Nature::NetworkUnstable),
            folder_times: fstype.has_folder_times(),
            own_storage: identity::has_disk(fstype, dev) || fstype.stores_without_device(),
            layered: fstype.is_layered(),
            dev,
        })
    }
}

impl Volume {
    /// Whether two different files, one on each volume, are known not to be two
    /// views of one.
    pub fn is_separate_from(&self, other: &Self) -> bool {
        self.dev == other.dev || (self.own_storage && other.own_storage)
    }
}

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

    fn insert(&self, mut volume: Volume, place: Option<&str>) -> Arc<Volume> {
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

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs::{self, File};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    use super::*;
    use crate::platform::fs::Dir;
    use crate::platform::testing::skipped;

    fn volume_of(path: &Path) -> Volume {
        let dir = Dir::open_root(path).unwrap();
        Volume::of(&dir, dir.stat().unwrap().dev).unwrap()
    }

    fn look_up(table: &VolumeTable, path: &Path) -> Arc<Volume> {
        let dir = Dir::open_root(path).unwrap();
        table.of(&dir, dir.stat().unwrap().dev).unwrap()
    }

    /// Runs a tool; `false` when it is missing or fails, as mounting does
    /// without privileges.
    fn works(program: &str, arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> bool {
        let mut command = Command::new(program);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.args(arguments.iter().map(|a| a.as_ref())).status();
        status.is_ok_and(|status| status.success())
    }

    /// A mount that ends with the test.
    struct Mount(PathBuf);

    impl Mount {
        fn new(options: &[&str], source: &Path, at: &Path) -> Option<Self> {
            fs::create_dir(at).unwrap();
            let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = Vec::new();
            arguments.extend(options.iter().map(|o| o as &dyn AsRef<_>));
            arguments.extend([&source as &dyn AsRef<_>, &at]);
            works("mount", &arguments).then(|| Self(at.to_owned()))
        }
    }

    impl Drop for Mount {
        fn drop(&mut self) {
            if !works("umount", &[&self.0]) {
                eprintln!("cannot unmount {}", self.0.display());
            }
        }
    }

    fn image(at: &Path, megabytes: u64, mkfs: &str) -> bool {
        File::create(at).unwrap().set_len(megabytes << 20).unwrap();
        works(mkfs, &[&"-q", &at])
    }

    #[test]
    fn an_identity_is_the_same_each_time() {
        let temp = tempfile::tempdir().unwrap();
        let volume = volume_of(temp.path());
        assert_eq!(volume_of(temp.path()), volume);
        assert!(!volume.pseudo, "{volume:?}");
        let prefixes = ["uuid:", "dev:"];
        assert!(prefixes.iter().any(|p| volume.identity.starts_with(p)));
    }

    #[test]
    fn proc_and_sys_are_pseudo() {
        for (path, fstype) in [("/proc", "proc"), ("/sys", "sysfs")] {
            let volume = volume_of(Path::new(path));
            assert_eq!((volume.fstype, volume.pseudo), (fstype, true));
            assert!(!volume.network && !volume.stable_inodes, "{volume:?}");
        }
    }

    #[test]
    fn a_tmpfs_holds_files() {
        let temp = tempfile::tempdir().unwrap();
        let options = ["-t", "tmpfs"];
        let Some(mount) = Mount::new(&options, Path::new("none"), &temp.path().join("t")) else {
            return skipped("cannot mount a tmpfs");
        };
        let volume = volume_of(&mount.0);
        assert_eq!(volume.fstype, "tmpfs");
        assert!(volume.stable_inodes && !volume.pseudo && !volume.network);
        assert_ne!(volume.identity, volume_of(temp.path()).identity);
    }

    #[test]
    fn a_bind_mount_is_the_same_volume_on_another_mount() {
        let temp = tempfile::tempdir().unwrap();
        let Some(mount) = Mount::new(&["--bind"], temp.path(), &temp.path().join("bound")) else {
            return skipped("cannot bind mount");
        };
        assert_eq!(volume_of(&mount.0), volume_of(temp.path()));
        let stat = |path| Dir::open_root(path).unwrap().stat().unwrap();
        let (bound, origin) = (stat(&mount.0), stat(temp.path()));
        assert_eq!(bound.id(), origin.id());
        assert!(bound.mount.is_none() || bound.mount != origin.mount);
    }

    #[test]
    fn clones_are_told_apart() {
        let temp = tempfile::tempdir().unwrap();
        let [first, second] = ["1.img", "2.img"].map(|name| temp.path().join(name));
        if !image(&first, 8, "mkfs.ext4") {
            return skipped("cannot make an ext4 image");
        }
        fs::copy(&first, &second).unwrap();
        let mounts = [(&first, "1"), (&second, "2")]
            .map(|(image, at)| Mount::new(&["-o", "loop"], image, &temp.path().join(at)));
        let [Some(first), Some(second)] = mounts else {
            return skipped("cannot mount loop images");
        };
        assert_eq!(volume_of(&first.0).identity, volume_of(&second.0).identity);

        let table = VolumeTable::new();
        let [one, two] = [&first, &second].map(|mount| look_up(&table, &mount.0));
        assert_eq!(one.fstype, "ext4");
        assert!(one.identity.starts_with("uuid:"), "{one:?}");
        let clone = format!("{}/disk:", one.identity);
        assert!(two.identity.starts_with(&clone), "{two:?}");
        assert_eq!(look_up(&table, &first.0), one);
        assert_eq!(look_up(&table, &second.0), two);
    }

    #[test]
    fn what_may_be_a_clone_of_a_known_volume_gets_an_identity_of_its_own() {
        let any = volume_of(tempfile::tempdir().unwrap().path());
        let named = |disk: Option<&str>| {
            let known = KnownVolume {
                identity: "uuid:1".to_owned(),
                disk: Some("A".to_owned()),
            };
            let volume = Volume {
                identity: known.identity.clone(),
                disk: disk.map(str::to_owned),
                ..any.clone()
            };
            let table = VolumeTable::knowing(vec![known]);
            table.insert(volume, None).identity.clone()
        };
        assert_eq!(named(Some("A")), "uuid:1");
        assert!(named(Some("B")).starts_with("uuid:1/disk:"));
        assert!(named(None).starts_with("uuid:1/clone:"));
    }

    #[test]
    fn btrfs_subvolumes_are_volumes_of_one_filesystem() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("image");
        if !image(&file, 128, "mkfs.btrfs") {
            return skipped("cannot make a btrfs image");
        }
        let options = ["-o", "loop"];
        let Some(mount) = Mount::new(&options, &file, &temp.path().join("mount")) else {
            return skipped("cannot mount a btrfs image");
        };
        let subvolume = mount.0.join("sub");
        assert!(works("btrfs", &[&"subvolume", &"create", &subvolume]));
        fs::create_dir(mount.0.join("folder")).unwrap();

        let table = VolumeTable::new();
        let top = look_up(&table, &mount.0);
        let sub = look_up(&table, &subvolume);
        let uuid = top.identity.strip_suffix("/subvol:5").unwrap();
        assert_eq!(sub.identity, format!("{uuid}/subvol:256"));
        assert_eq!(look_up(&table, &mount.0.join("folder")), top);
        assert!(top.stable_inodes && top.fstype == "btrfs", "{top:?}");
    }

    #[test]
    fn views_are_not_separate_from_what_they_may_show() {
        let disk = volume_of(tempfile::tempdir().unwrap().path());
        let volume = |dev, own_storage| Volume {
            dev,
            own_storage,
            ..disk.clone()
        };
        let (disk, other, view) = (volume(1, true), volume(2, true), volume(3, false));
        assert!(disk.is_separate_from(&other));
        assert!(!disk.is_separate_from(&view) && !view.is_separate_from(&disk));
        assert!(!view.is_separate_from(&volume(4, false)));
        assert!(view.is_separate_from(&view.clone()));
    }

    #[test]
    fn a_table_gives_every_thread_the_same_volume() {
        let temp = tempfile::tempdir().unwrap();
        let table = VolumeTable::new();
        let expected = look_up(&table, temp.path());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    assert!(Arc::ptr_eq(&look_up(&table, temp.path()), &expected));
                });
            }
        });
    }
}
