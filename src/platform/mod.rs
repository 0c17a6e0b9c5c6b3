//! What the operating system must be asked for: folders by handle, file
//! states, contents, volumes and priorities.
//!
//! Linux comes first; other Unix systems get the same names with the nearest
//! thing they offer. No policy lives here: what to skip, retry or record is the
//! caller's decision, and errors keep their `errno` so that it can be made.
//! This is the only layer where `unsafe` code is allowed.

mod fs;
mod process;
mod sha256;
#[cfg(test)]
mod testing;
mod volumes;

pub use fs::{
    AlignedBuffer, Dir, DiskExtent, Entries, EntryKind, Extents, FileExtent, FileId, Links,
    NoLease, OpenFile, Ownership, RawEntry, ReadLease, Stat, Unwritten, effective_user,
};
pub use process::{
    Allocator, give_back_memory, lower_priority, make_room_for_files, most_open_files,
    share_work_with_those_there_are,
};
pub use sha256::{Sha256Block, Sha256Message, Sha256State, sha256_at_once, sha256_compress_all};
pub use volumes::{KnownVolume, Spindles, Volume, VolumeTable, WriteTraces, read_ahead};
