//! Filesystems and the disks below them.

mod disk;
mod fstype;
pub(crate) mod identity;
mod volume;

pub use disk::{read_ahead, says_it_turns};
pub(crate) use fstype::Nature;
pub use volume::{Volume, VolumeTable};
