//! What commands share around the catalog and the run: context, paths, signals.

mod answer;
mod catalog;
mod context;
mod logging;
mod metrics_file;
pub(crate) mod paths;
mod run;
mod signals;

pub(crate) use answer::{Form, Question, Writing, header, named_place, named_place_ever};
pub(crate) use catalog::open_or_create;
pub(crate) use context::Context;
pub(crate) use logging::start as start_logging;
pub(crate) use run::{Session, explain};
