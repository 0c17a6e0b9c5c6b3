//! Asking a filesystem for its type and for a name that outlives the mount.
#![allow(unsafe_code)]

use std::path::Path;
use std::sync::OnceLock;

use rustix::fd::BorrowedFd;

use super::fstype::FsType;
use super::partition;
use crate::model;

/// What stands between the uuid of a btrfs and the number of a subvolume.
pub(crate) const SUBVOLUME: &str = "/subvol:";

/// The identity of the filesystem that `fd` is on, by what is known of it. An
/// image is itself only while it stays mounted: another one may have its uuid.
pub(crate) fn identity(fd: BorrowedFd<'_>, dev: u64, fstype: FsType) -> String {
    let name = match system::uuid(fd, dev) {
        Some(uuid) => format!("uuid:{uuid}"),
        None => format!("dev:{}", device_until_reboot(dev)),
    };
    match fstype.is_image() {
        true => format!("{name}/mount:{}", mount_until_unmounted(fd)),
        false => name,
    }
}

/// The disk or partition that a filesystem with this identity is on, if the system
/// tells.
pub(crate) fn disk(identity: &str, dev: u64, fstype: FsType) -> Option<String> {
    match (fstype.name, identity.strip_prefix("uuid:")) {
        ("btrfs", Some(uuid)) => partition::name_of_btrfs(uuid.split('/').next()?),
        _ => partition::name(dev),
    }
}

/// A name of the mount that `fd` is on, which no other mount ever gets. Where the
/// system has none, it holds for this process, so that nothing is taken for known.
fn mount_until_unmounted(fd: BorrowedFd<'_>) -> String {
    match system::mount(fd) {
        Some(mount) => format!("{mount}@{}", boot_id()),
        None => format!("unknown@{}", process_id()),
    }
}

/// A device number, bound to the time in which it keeps its meaning.
pub(crate) fn device_until_reboot(dev: u64) -> String {
    format!("{}@{}", system::device(dev), boot_id())
}

/// Whether the filesystem has a disk of its own.
pub(crate) fn has_disk(fstype: FsType, dev: u64) -> bool {
    system::has_disk(fstype, dev)
}

/// The type of the filesystem that `fd` is on.
pub(crate) fn fstype(fd: BorrowedFd<'_>) -> std::io::Result<FsType> {
    let statfs = rustix::io::retry_on_intr(|| rustix::fs::fstatfs(fd))?;
    Ok(system::fstype(&statfs))
}

/// Changes with every start of the machine; where the system does not number
/// its starts, with every process, which is safe if wasteful.
fn boot_id() -> &'static str {
    static BOOT_ID: OnceLock<String> = OnceLock::new();
    BOOT_ID.get_or_init(|| {
        let kernels = std::fs::read_to_string(Path::new("/proc/sys/kernel/random/boot_id"));
        match kernels.as_deref().map(str::trim) {
            Ok(id) if !id.is_empty() => id.to_owned(),
            _ => process_id().to_owned(),
        }
    })
}

/// Differs in every process.
fn process_id() -> &'static str {
    static PROCESS_ID: OnceLock<String> = OnceLock::new();
    PROCESS_ID.get_or_init(|| format!("process-{}-{}", std::process::id(), model::now_ns()))
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::fd::BorrowedFd;
    use rustix::fs::{AtFlags, StatFs, StatxFlags, major, minor};
    use rustix::ioctl::{self, Getter, Opcode, Updater, opcode};
    use std::os::unix::fs::MetadataExt;

    use super::SUBVOLUME;
    use crate::platform::volumes::fstype::FsType;

    /// The magic number is 32 bits wide whatever the width of the field.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(crate) fn fstype(statfs: &StatFs) -> FsType {
        FsType::from_magic(statfs.f_type as u32)
    }

    /// Filesystems without a block device get device numbers with major 0.
    pub(crate) fn has_disk(_: FsType, dev: u64) -> bool {
        major(dev) != 0
    }

    pub(crate) fn device(dev: u64) -> String {
        format!("{}:{}", major(dev), minor(dev))
    }

    /// The id of a mount that is never used again, since Linux 6.8.
    pub(crate) fn mount(fd: BorrowedFd<'_>) -> Option<u64> {
        const MNT_ID_UNIQUE: StatxFlags = StatxFlags::from_bits_retain(0x4000);
        let statx = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, MNT_ID_UNIQUE).ok()?;
        let answered = StatxFlags::from_bits_retain(statx.stx_mask);
        answered.contains(MNT_ID_UNIQUE).then_some(statx.stx_mnt_id)
    }

    /// The uuid, and on btrfs the subvolume, whose inode numbers are its own.
    pub(crate) fn uuid(fd: BorrowedFd<'_>, dev: u64) -> Option<String> {
        let uuid = kernel_uuid(fd)
            .or_else(|| btrfs_uuid(fd))
            .or_else(|| udev_uuid(dev))?;
        Some(match btrfs_subvolume(fd) {
            Some(tree) => format!("{uuid}{SUBVOLUME}{tree}"),
            None => uuid,
        })
    }

    /// `struct fsuuid2`.
    #[repr(C)]
    struct FsUuid {
        len: u8,
        uuid: [u8; 16],
    }

    /// `FS_IOC_GETFSUUID`, since Linux 6.9.
    fn kernel_uuid(fd: BorrowedFd<'_>) -> Option<String> {
        const GETFSUUID: Opcode = opcode::read::<FsUuid>(0x15, 0);
        // SAFETY: The kernel writes one `struct fsuuid2`, which `FsUuid`
        // mirrors, and every bit pattern of it is valid.
        let answer = unsafe { ioctl::ioctl(fd, Getter::<GETFSUUID, FsUuid>::new()) }.ok()?;
        // Shorter ids (vfat) are left to udev, which names them as people do.
        (answer.len == 16).then(|| format_uuid(&answer.uuid))?
    }

    /// The head of `struct btrfs_ioctl_fs_info_args`, padded to its size.
    #[repr(C)]
    struct BtrfsInfo {
        max_id: u64,
        num_devices: u64,
        fsid: [u8; 16],
        rest: [u8; 992],
    }

    /// `BTRFS_IOC_FS_INFO`: btrfs does not answer the general question (Linux
    /// 6.18).
    fn btrfs_uuid(fd: BorrowedFd<'_>) -> Option<String> {
        const FS_INFO: Opcode = opcode::read::<BtrfsInfo>(0x94, 31);
        if !is_btrfs(fd) {
            return None;
        }
        // SAFETY: The kernel writes one `struct btrfs_ioctl_fs_info_args` of
        // 1024 bytes, as large as `BtrfsInfo`; every bit pattern is valid.
        let answer = unsafe { ioctl::ioctl(fd, Getter::<FS_INFO, BtrfsInfo>::new()) }.ok()?;
        format_uuid(&answer.fsid)
    }

    /// `struct btrfs_ioctl_ino_lookup_args`.
    #[repr(C)]
    struct BtrfsLookup {
        tree: u64,
        object: u64,
        name: [u8; 4080],
    }

    /// `BTRFS_IOC_INO_LOOKUP` of the first object, which needs no privilege and
    /// answers with the id of the subvolume.
    fn btrfs_subvolume(fd: BorrowedFd<'_>) -> Option<u64> {
        const INO_LOOKUP: Opcode = opcode::read_write::<BtrfsLookup>(0x94, 18);
        const FIRST_FREE_OBJECT: u64 = 256;
        if !is_btrfs(fd) {
            return None;
        }
        let mut lookup = BtrfsLookup {
            tree: 0,
            object: FIRST_FREE_OBJECT,
            name: [0; 4080],
        };
        // SAFETY: The kernel reads and writes one 4096-byte structure, which
        // `BtrfsLookup` mirrors and which outlives the call.
        unsafe { ioctl::ioctl(fd, Updater::<INO_LOOKUP, _>::new(&mut lookup)) }.ok()?;
        Some(lookup.tree)
    }

    /// Asked first, since other filesystems and FUSE servers may give the numbers
    /// of btrfs calls a meaning of their own.
    fn is_btrfs(fd: BorrowedFd<'_>) -> bool {
        rustix::fs::fstatfs(fd).is_ok_and(|statfs| fstype(&statfs).name == "btrfs")
    }

    /// The link that udev keeps for the block device `dev`.
    fn udev_uuid(dev: u64) -> Option<String> {
        let links = std::fs::read_dir("/dev/disk/by-uuid").ok()?;
        links.flatten().find_map(|link| {
            let device = std::fs::metadata(link.path()).ok()?;
            (device.rdev() == dev).then(|| link.file_name().into_string().ok())?
        })
    }

    /// The usual spelling; all zeros mean that none was ever given.
    fn format_uuid(bytes: &[u8; 16]) -> Option<String> {
        if *bytes == [0; 16] {
            return None;
        }
        let hex = format!("{:032x}", u128::from_be_bytes(*bytes));
        let parts = [
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..],
        ];
        Some(parts.join("-"))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_uuid_is_spelled_as_usual_and_zeros_are_none() {
            let bytes = std::array::from_fn(|n| u8::try_from(n).unwrap() * 17);
            let uuid = format_uuid(&bytes).unwrap();
            assert_eq!(uuid, "00112233-4455-6677-8899-aabbccddeeff");
            assert_eq!(format_uuid(&[0; 16]), None);
        }

        #[test]
        fn structures_are_as_large_as_the_kernels() {
            assert_eq!(size_of::<FsUuid>(), 17);
            assert_eq!(size_of::<BtrfsInfo>(), 1024);
            assert_eq!(size_of::<BtrfsLookup>(), 4096);
        }
    }
}

/// Without uuids volumes are told apart within one run only.
#[cfg(not(target_os = "linux"))]
mod system {
    use rustix::fd::BorrowedFd;
    use rustix::fs::StatFs;

    use crate::platform::volumes::fstype::FsType;

    #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
    pub(crate) fn fstype(statfs: &StatFs) -> FsType {
        let name = statfs.f_fstypename.iter();
        let name: String = name
            .take_while(|byte| **byte != 0)
            .map(|byte| char::from(*byte as u8))
            .collect();
        FsType::from_name(&name)
    }

    #[cfg(not(any(target_vendor = "apple", target_os = "freebsd")))]
    pub(crate) fn fstype(_statfs: &StatFs) -> FsType {
        FsType::from_name("unknown")
    }

    /// No device number tells, so the type must.
    pub(crate) fn has_disk(fstype: FsType, _: u64) -> bool {
        use crate::platform::volumes::fstype::Nature;
        fstype.nature == Nature::Local
    }

    pub(crate) fn device(dev: u64) -> String {
        dev.to_string()
    }

    pub(crate) fn mount(_fd: BorrowedFd<'_>) -> Option<u64> {
        None
    }

    pub(crate) fn uuid(_fd: BorrowedFd<'_>, _dev: u64) -> Option<String> {
        None
    }
}
