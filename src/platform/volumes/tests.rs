//! Volumes that are mounted, clones and subvolumes among them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::{KnownVolume, Volume, VolumeTable};
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
