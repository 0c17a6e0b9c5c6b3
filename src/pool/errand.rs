//! Errands: parts of an item that threads without an item may take over. Whoever asks
//! does what nobody takes, so that it never has to wait for help to come.

use std::fmt;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::panics;

/// Errands that wait for a thread. More would not find one.
const MOST: usize = 256;

/// Something that several threads may do at once; each returns when nothing is left.
pub type Errand = Arc<dyn Fn() + Send + Sync>;

/// Where errands wait.
#[derive(Clone)]
pub(crate) struct Errands {
    sender: Sender<Errand>,
    pub(crate) waiting: Receiver<Errand>,
}

impl fmt::Debug for Errands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Errands({})", self.waiting.len())
    }
}

impl Errands {
    pub(crate) fn new() -> Self {
        let (sender, waiting) = bounded(MOST);
        Self { sender, waiting }
    }

    /// Offers an errand to as many threads.
    pub(crate) fn offer(&self, errand: &Errand, helpers: usize) {
        for _ in 0..helpers {
            if self.sender.try_send(Arc::clone(errand)).is_err() {
                break;
            }
        }
    }

    /// Runs an errand. Whoever asked finds out what a panic left undone.
    pub(crate) fn run(errand: &Errand) {
        if let Err(panicked) = panics::catch(|| errand()) {
            tracing::error!(panic = panicked.message, "an errand panicked");
        }
    }
}
