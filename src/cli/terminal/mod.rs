//! Standard output, standard error, files, exit codes.

pub(crate) mod atomic_file;
pub(crate) mod exit;
pub(crate) mod output;
mod repeating;
pub(crate) mod unfinished;

pub use exit::Exit;
pub(crate) use repeating::Repeating;
