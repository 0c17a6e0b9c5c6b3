//! What the operating system must be asked for: folders by handle, file
//! states, contents, volumes and priorities.
//!
//! Linux comes first; other Unix systems get the same names with the nearest
//! thing they offer. No policy lives here: what to skip, retry or record is the
//! caller's decision, and errors keep their `errno` so that it can be made.
//! This is the only layer where `unsafe` code is allowed.

mod buffer;
mod descriptors;
mod dir;
mod disk;
mod file;
mod fstype;
mod listing;
mod memory;
mod priority;
mod resolve;
mod sha256;
mod stat;
#[cfg(test)]
mod testing;
mod volume;
mod volume_id;

pub use buffer::AlignedBuffer;
pub use descriptors::{make_room_for_files, most_open_files};
pub use dir::{Dir, Links};
pub use disk::{read_ahead, says_it_turns};
pub use file::{Extent, OpenFile};
pub use listing::{Entries, RawEntry};
pub use memory::{Allocator, give_back_memory};
pub use priority::lower_priority;
pub use sha256::{Sha256Block, Sha256Message, Sha256State, sha256_at_once, sha256_compress_all};
pub use stat::{EntryKind, FileId, Stat};
pub use volume::{Volume, VolumeTable};
