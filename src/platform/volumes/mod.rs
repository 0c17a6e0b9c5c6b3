//! Filesystems and the disks below them.

mod disk;
mod fstype;
pub(crate) mod identity;
mod partition;
mod table;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
mod traces;
mod volume;

pub use disk::{is_rotational, read_ahead};
pub(crate) use fstype::Nature;
pub use table::{KnownVolume, VolumeTable};
pub use traces::WriteTraces;
pub use volume::Volume;
