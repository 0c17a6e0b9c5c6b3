//! Folders, files and names as the system hands them out.

mod buffer;
mod change;
mod dir;
mod extents;
mod file;
mod lease;
mod listing;
mod open;
mod resolve;
mod stat;

pub use buffer::AlignedBuffer;
pub use change::{Ownership, effective_user};
pub use dir::Dir;
pub use extents::{DiskExtent, Extents, Unwritten};
pub use file::{FileExtent, OpenFile};
pub use lease::{NoLease, ReadLease};
pub use listing::{Entries, RawEntry};
pub use open::Links;
pub use stat::{EntryKind, FileId, Stat};
