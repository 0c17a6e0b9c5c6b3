//! The file itself: opening, locking, the schema, the log, and how values and
//! paths are stored.

mod error;
mod lock;
mod open;
mod pages;
mod paths;
pub(crate) mod rows;
pub(crate) mod schema;
pub(crate) mod terms;
mod wal;

pub use error::CatalogError;
pub use lock::Lock;
#[cfg(test)]
pub(crate) use lock::lock_path;
pub(crate) use open::with_suffix;
pub use open::{Exclusive, ReadOnly, own_files};
pub(crate) use pages::Pages;
pub use paths::FolderPaths;
pub(crate) use rows::{blob, path_blob, signed, unsigned};
pub use wal::Pause;
pub(crate) use wal::Wal;
