//! Filesystems and the disks below them.

mod disk;
mod fstype;
pub(crate) mod identity;
mod partition;
mod spindle;
mod table;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
mod traces;
mod volume;

pub use disk::read_ahead;
pub(crate) use fstype::Nature;
pub use spindle::Spindles;
pub use table::{KnownVolume, VolumeTable};
pub use traces::WriteTraces;
pub use volume::Volume;
