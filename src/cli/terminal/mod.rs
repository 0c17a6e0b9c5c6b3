//! Standard output, standard error, files, exit codes.

pub(crate) mod atomic_file;
pub(crate) mod exit;
pub(crate) mod logging;
pub(crate) mod output;
mod usage_errors;

pub use exit::Exit;
