//! The file itself: opening, locking, the schema, the log, and how values and
//! paths are stored.

mod connection;
mod error;
mod exclusive;
mod files;
mod integrity;
mod lock;
mod pages;
mod paths;
mod read_only;
pub(crate) mod rows;
pub(crate) mod schema;
pub(crate) mod sql;
pub(crate) mod terms;
mod wal;

pub use error::CatalogError;
pub use exclusive::Exclusive;
pub(crate) use files::has_wal;
#[cfg(test)]
pub(crate) use files::lock_path;
pub use files::{belongs_to, own_files};
pub(crate) use integrity::{integrity, is_damage, refuse_damage, refuse_malformed};
pub use lock::Lock;
pub(crate) use pages::Pages;
pub use paths::FolderPaths;
pub use read_only::ReadOnly;
pub(crate) use rows::{blob, path_blob, signed, unsigned};
pub use wal::Pause;
pub(crate) use wal::Wal;
