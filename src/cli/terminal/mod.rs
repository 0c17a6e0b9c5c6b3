//! Standard output, standard error, questions, files, exit codes.

mod ask;
pub(crate) mod atomic_file;
pub(crate) mod exit;
pub(crate) mod output;
mod repeating;
pub(crate) mod unfinished;

pub(crate) use ask::ask;
pub use exit::Exit;
pub(crate) use repeating::Repeating;
