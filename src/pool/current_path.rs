//! The path that some worker is at, for a display. Workers pass by for every
//! chunk they read, so a path is copied only after somebody asked for one.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::panics::lock;

/// The last path that was asked for.
#[derive(Debug, Default)]
pub(crate) struct CurrentPath {
    /// `Relaxed` is enough: it guards nothing, and a request that is seen late
    /// is answered by the next chunk.
    is_wanted: AtomicBool,
    path: Mutex<PathBuf>,
}

impl CurrentPath {
    /// A worker is at this path.
    pub(crate) fn offer(&self, path: &Path) {
        // The load alone keeps the cache line shared while nobody asks.
        if self.is_wanted.load(Ordering::Relaxed) && self.is_wanted.swap(false, Ordering::Relaxed) {
            path.clone_into(&mut lock(&self.path));
        }
    }

    /// The answer to the last request, and a new request.
    pub(crate) fn ask(&self) -> PathBuf {
        let answer = lock(&self.path).clone();
        self.is_wanted.store(true, Ordering::Relaxed);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_path_after_a_request_is_kept() {
        let current = CurrentPath::default();
        current.offer(Path::new("/before"));
        assert_eq!(current.ask(), Path::new(""));
        current.offer(Path::new("/a"));
        current.offer(Path::new("/b"));
        assert_eq!(current.ask(), Path::new("/a"));
        assert_eq!(current.ask(), Path::new("/a"), "nobody came by");
        current.offer(Path::new("/c"));
        assert_eq!(current.ask(), Path::new("/c"));
    }
}
