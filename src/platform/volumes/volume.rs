//! Which filesystem a folder is on, and what a scan can rely on there.

use std::io;

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
    /// one disk look the same here; [`VolumeTable`](super::VolumeTable) tells them apart.
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
    /// The type of the filesystem of an open file: one call, where [`Volume::of`]
    /// takes dozens.
    pub fn type_of(file: &impl AsFd) -> io::Result<&'static str> {
        Ok(identity::fstype(file.as_fd())?.name)
    }

    /// What stores its blocks: the same for all subvolumes of one btrfs, another for
    /// each clone of a disk.
    pub fn storage(&self) -> (Option<String>, String) {
        let (uuid, _) = self
            .identity
            .split_once(identity::SUBVOLUME)
            .unwrap_or((&self.identity, ""));
        (self.disk.clone(), uuid.to_owned())
    }

    /// Whether two different files, one on each volume, are known not to be two
    /// views of one.
    pub fn is_separate_from(&self, other: &Self) -> bool {
        self.dev == other.dev || (self.own_storage && other.own_storage)
    }
}
