//! Planning or acting while a user watches: signals and progress.

use std::sync::Arc;

use super::context::Context;
use super::signals;
use crate::act::ActProgress;
use crate::cli::progress::{Doing, start_acting};
use crate::cli::terminal::Repeating;
use crate::pool::Shutdown;

/// A command that plans or acts. Progress is shown until it is dropped.
pub(crate) struct Watched {
    pub(crate) shutdown: Shutdown,
    pub(crate) progress: Arc<ActProgress>,
    _shown: Option<Repeating>,
}

impl Watched {
    /// Starts listening for signals and showing progress.
    pub(crate) fn start(context: &Context, doing: Doing) -> anyhow::Result<Self> {
        let shutdown = Shutdown::token();
        signals::watch(&shutdown, &context.progress.bars)?;
        let progress = Arc::new(ActProgress::default());
        Ok(Self {
            _shown: start_acting(&context.progress, doing, &progress, &shutdown),
            shutdown,
            progress,
        })
    }
}
