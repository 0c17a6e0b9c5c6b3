//! What is known about each type of filesystem.

/// A type of filesystem and what a scan may rely on there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FsType {
    pub(crate) name: &'static str,
    pub(crate) nature: Nature,
}

/// What a scan may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nature {
    /// A view into the kernel; its files are not real files.
    Pseudo,
    /// Stores files on this machine; an inode number identifies one file.
    Local,
    /// Keeps files on this machine under passing or ambiguous inode numbers.
    LocalUnstable,
    /// Keeps files elsewhere, under the server's own inode numbers.
    Network,
    /// May keep files elsewhere, under passing inode numbers.
    NetworkUnstable,
}

impl FsType {
    /// The type behind the magic number that `statfs` reports.
    #[cfg(target_os = "linux")]
    pub(crate) fn from_magic(magic: u32) -> Self {
        Self::find(|(known, _, _)| *known == magic)
    }

    /// The type of that name.
    #[cfg(any(test, not(target_os = "linux")))]
    pub(crate) fn from_name(name: &str) -> Self {
        Self::find(|(_, known, _)| *known == name)
    }

    /// Whether the times of a folder move whenever a name in it comes or goes.
    /// Only where that is known: FUSE and network servers do as they please, FAT
    /// keeps none for its topmost folder, and an overlay is changed from below.
    pub(crate) fn has_folder_times(&self) -> bool {
        FOLDER_TIMES.contains(&self.name)
    }

    /// Whether it keeps files itself, rather than showing those of another
    /// filesystem or machine, though its device number is that of no disk.
    pub(crate) fn stores_without_device(&self) -> bool {
        STORES_WITHOUT_DEVICE.contains(&self.name)
    }

    /// Whether it shows the files of other filesystems under the device numbers of
    /// those.
    pub(crate) fn is_layered(&self) -> bool {
        self.name == "overlay"
    }

    /// Whether it is read from an image that never changes: the times and inodes of
    /// its files are whatever the maker of the image chose, so that those of another
    /// image may be the same.
    pub(crate) fn is_image(&self) -> bool {
        IMAGES.contains(&self.name)
    }

    /// Whether nothing reaches its files but through it, so that it knows of every
    /// program that has one open. The layers of an overlay and what is behind a FUSE
    /// daemon or a server change by other ways.
    pub(crate) fn knows_all_writers(&self) -> bool {
        matches!(self.nature, Nature::Local | Nature::LocalUnstable)
            && !matches!(self.name, "overlay" | UNKNOWN_NAME)
    }

    /// Whether it keeps its files in memory only.
    pub(crate) fn is_in_memory(&self) -> bool {
        IN_MEMORY.contains(&self.name)
    }

    fn find(wanted: impl Fn(&&Row) -> bool) -> Self {
        let (_, name, nature) = TABLE.iter().find(wanted).unwrap_or(&UNKNOWN);
        Self {
            name,
            nature: *nature,
        }
    }
}

/// Filesystems that keep the times of folders as POSIX says. ext4 stands for ext2
/// and ext3 too, which have its magic number.
const FOLDER_TIMES: &[&str] = &[
    "ext4", "xfs", "btrfs", "tmpfs", "zfs", "f2fs", "bcachefs", "ramfs", "reiserfs", "jfs",
    "nilfs2", "ubifs", "apfs", "ufs",
];

/// Filesystems that span several disks, or need none.
const STORES_WITHOUT_DEVICE: &[&str] = &["btrfs", "zfs", "bcachefs", "tmpfs", "ramfs", "ubifs"];

/// Filesystems that only exist as images made in one go.
const IMAGES: &[&str] = &["squashfs", "erofs", "iso9660", "udf", "cramfs", "romfs"];

/// Filesystems without a disk.
const IN_MEMORY: &[&str] = &["tmpfs", "ramfs"];

type Row = (u32, &'static str, Nature);

const UNKNOWN_NAME: &str = "unknown";

const UNKNOWN: Row = (0, UNKNOWN_NAME, Nature::LocalUnstable);

/// By magic number; 0 stands for types that only other systems have.
///
/// bcachefs has inode numbers for good, but a snapshot shares them and the
/// device number with its origin, so they do not identify a file.
/// autofs only waits for real filesystems to be mounted in it, so it is not
/// pseudo: skipping it would skip those too.
const TABLE: &[Row] = {
    use Nature::{Local, LocalUnstable, Network, NetworkUnstable, Pseudo};
    &[
        (0xEF53, "ext4", Local),
        (0x5846_5342, "xfs", Local),
        (0x9123_683E, "btrfs", Local),
        (0x0102_1994, "tmpfs", Local),
        (0x794C_7630, "overlay", Local),
        (0x2FC1_2FC1, "zfs", Local),
        (0xF2F5_2010, "f2fs", Local),
        (0x8584_58F6, "ramfs", Local),
        (0x7371_7368, "squashfs", Local),
        (0xE0F5_E1E2, "erofs", Local),
        (0x9660, "iso9660", Local),
        (0x1501_3346, "udf", Local),
        (0x28CD_3D45, "cramfs", LocalUnstable),
        (0x7275, "romfs", LocalUnstable),
        (0x5265_4973, "reiserfs", Local),
        (0x3153_464A, "jfs", Local),
        (0x3434, "nilfs2", Local),
        (0x2405_1905, "ubifs", Local),
        (0x72B6, "jffs2", Local),
        (0x7366_746E, "ntfs3", Local),
        (0x4253_584E, "apfs", Local),
        (0x482B, "hfsplus", Local),
        (0x4244, "hfs", Local),
        (0x0001_1954, "ufs", Local),
        (0xCA45_1A4E, "bcachefs", LocalUnstable),
        (0x4D44, "vfat", LocalUnstable),
        (0x2011_BAB0, "exfat", LocalUnstable),
        (0x5346_544E, "ntfs", LocalUnstable),
        (0x0187, "autofs", LocalUnstable),
        (0, "msdos", LocalUnstable),
        (0x6969, "nfs", Network),
        (0xFF53_4D42, "cifs", NetworkUnstable),
        (0xFE53_4D42, "smb2", NetworkUnstable),
        (0x517B, "smb", NetworkUnstable),
        (0, "smbfs", NetworkUnstable),
        (0x0102_1997, "9p", NetworkUnstable),
        (0x00C3_6400, "ceph", NetworkUnstable),
        (0x5346_414F, "afs", NetworkUnstable),
        (0x6B41_4653, "afs", NetworkUnstable),
        (0x7375_7245, "coda", NetworkUnstable),
        (0x0BD0_0BD0, "lustre", NetworkUnstable),
        (0x786F_4256, "vboxsf", NetworkUnstable),
        (0xBACB_ACBC, "vmhgfs", NetworkUnstable),
        (0x6573_5546, "fuse", NetworkUnstable),
        (0x9FA0, "proc", Pseudo),
        (0x6265_6572, "sysfs", Pseudo),
        (0x0027_E0EB, "cgroup", Pseudo),
        (0x6367_7270, "cgroup2", Pseudo),
        (0x1CD1, "devpts", Pseudo),
        (0x6462_6720, "debugfs", Pseudo),
        (0x7472_6163, "tracefs", Pseudo),
        (0x7363_6673, "securityfs", Pseudo),
        (0x5A3C_69F0, "apparmorfs", Pseudo),
        (0xF97C_FF8C, "selinuxfs", Pseudo),
        (0x4341_5D53, "smackfs", Pseudo),
        (0xCAFE_4A11, "bpf", Pseudo),
        (0x6265_6570, "configfs", Pseudo),
        (0x1980_0202, "mqueue", Pseudo),
        (0x4249_4E4D, "binfmt_misc", Pseudo),
        (0x6573_5543, "fusectl", Pseudo),
        (0x6759_6969, "rpc_pipefs", Pseudo),
        (0x6E66_7364, "nfsd", Pseudo),
        (0x6E73_6673, "nsfs", Pseudo),
        (0xDE5E_81E4, "efivarfs", Pseudo),
        (0x9584_58F6, "hugetlbfs", Pseudo),
        (0x6165_676C, "pstore", Pseudo),
        (0x0765_5821, "resctrl", Pseudo),
        (0x6C6F_6F70, "binder", Pseudo),
        (0xABBA_1974, "xenfs", Pseudo),
        (0x9FA1, "openpromfs", Pseudo),
        (0, "devfs", Pseudo),
    ]
};

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_magic_number_occurs_twice() {
        let mut seen = HashSet::new();
        for (magic, name, _) in TABLE {
            assert!(*magic == 0 || seen.insert(magic), "{name}");
        }
    }

    #[test]
    fn folder_times_are_trusted_only_where_they_are_known_to_move() {
        let has = |name| FsType::from_name(name).has_folder_times();
        for name in FOLDER_TIMES {
            assert!(has(name), "{name} is in no row of the table");
        }
        for name in [
            "fuse",
            "vfat",
            "exfat",
            "nfs",
            "cifs",
            "overlay",
            "9p",
            "no such type",
        ] {
            assert!(!has(name), "{name}");
        }
    }

    #[test]
    fn what_stores_without_a_device_is_in_the_table() {
        for name in STORES_WITHOUT_DEVICE {
            assert!(FsType::from_name(name).stores_without_device(), "{name}");
        }
        assert!(!FsType::from_name("overlay").stores_without_device());
        assert!(!FsType::from_name("fuse").stores_without_device());
    }

    #[test]
    fn only_what_nothing_goes_around_knows_all_writers() {
        for name in ["ext4", "tmpfs", "btrfs", "vfat"] {
            assert!(FsType::from_name(name).knows_all_writers(), "{name}");
        }
        for name in ["overlay", "fuse", "nfs", "cifs", "no such type"] {
            assert!(!FsType::from_name(name).knows_all_writers(), "{name}");
        }
        for name in IN_MEMORY {
            assert!(FsType::from_name(name).is_in_memory(), "{name}");
        }
        assert!(!FsType::from_name("ext4").is_in_memory());
    }

    #[test]
    fn every_type_of_image_is_in_the_table() {
        for name in IMAGES {
            assert!(FsType::from_name(name).is_image(), "{name}");
        }
        assert!(!FsType::from_name("ext4").is_image());
    }

    #[test]
    fn an_unknown_type_promises_nothing() {
        let unknown = FsType::from_name("no such filesystem");
        assert_eq!(unknown.name, "unknown");
        assert_eq!(unknown.nature, Nature::LocalUnstable);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn magic_numbers_lead_to_names() {
        assert_eq!(FsType::from_magic(0xEF53), FsType::from_name("ext4"));
        assert_eq!(FsType::from_magic(0x6969).nature, Nature::Network);
        assert_eq!(FsType::from_magic(12_345).name, "unknown");
    }
}
