//! What commands share around the catalog and the run: context, signals.

mod answer;
mod catalog;
mod context;
mod excluding;
mod keep;
mod logging;
mod metrics_file;
mod run;
pub(crate) mod signals;
mod watched;

pub(crate) use answer::{Output, Question, Writing, header};
pub(crate) use catalog::open_or_create;
pub(crate) use context::{Context, shell_word};
pub(crate) use excluding::Excluding;
pub(crate) use keep::{folder_to_protect, keep_rules};
pub(crate) use logging::start as start_logging;
pub(crate) use run::{Session, explain};
pub(crate) use signals::survive_file_size_limit;
pub(crate) use watched::Watched;
