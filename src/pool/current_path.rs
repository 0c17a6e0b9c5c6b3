//! The path that some worker is at, for a display. Workers come by for every
//! chunk they read, so a path is copied only when one was asked for.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The last path that was asked for.
#[derive(Debug, Default)]
pub(crate) struct Whereabouts {
    /// `Relaxed` will do: it guards nothing, and a request that is seen late
    /// is answered by the next chunk.
    is_wanted: AtomicBool,
    path: Mutex<PathBuf>,
}

impl Whereabouts {
    /// A worker is at this path.
    pub(crate) fn offer(&self, path: &Path) {
        // The load alone keeps the cache line shared while nobody asks.
        if self.is_wanted.load(Ordering::Relaxed) && self.is_wanted.swap(false, Ordering::Relaxed) {
            path.clone_into(&mut self.path());
        }
    }

    /// The answer to the last request, and a new request.
    pub(crate) fn ask(&self) -> PathBuf {
        let answer = self.path().clone();
        self.is_wanted.store(true, Ordering::Relaxed);
        answer
    }

    fn path(&self) -> MutexGuard<'_, PathBuf> {
        self.path.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_path_after_a_request_is_kept() {
        let whereabouts = Whereabouts::default();
        whereabouts.offer(Path::new("/before"));
        assert_eq!(whereabouts.ask(), Path::new(""));
        whereabouts.offer(Path::new("/a"));
        whereabouts.offer(Path::new("/b"));
        assert_eq!(whereabouts.ask(), Path::new("/a"));
        assert_eq!(whereabouts.ask(), Path::new("/a"), "nobody came by");
        whereabouts.offer(Path::new("/c"));
        assert_eq!(whereabouts.ask(), Path::new("/c"));
    }
}
