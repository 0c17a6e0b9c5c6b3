//! Filesystems and the disks below them.

mod disk;
mod fstype;
pub(crate) mod identity;
mod partition;
mod volume;

pub use disk::{is_rotational, read_ahead};
pub(crate) use fstype::Nature;
pub use volume::{KnownVolume, Volume, VolumeTable};
