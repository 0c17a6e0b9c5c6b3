//! The request to stop, as a token that every thread holds: a flag to check
//! between chunks and a channel to wait on in `select!`. Who asks, and how long
//! it may take, is decided elsewhere.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crossbeam_channel::{Receiver, Sender, bounded};

/// A request to stop; clones share it, and it cannot be taken back.
#[derive(Debug, Clone)]
pub struct Shutdown {
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    stopped: AtomicBool,
    signal: Receiver<Infallible>,
    /// `None` once stopped.
    open: Mutex<Option<Open>>,
}

/// What exists only until the stop.
#[derive(Debug)]
struct Open {
    /// Never sends; dropping it is the signal.
    _sender: Sender<Infallible>,
    children: Vec<Weak<State>>,
}

impl Shutdown {
    /// A token on which nobody has asked to stop yet.
    pub fn token() -> Self {
        let (sender, signal) = bounded(0);
        let open = Open {
            _sender: sender,
            children: Vec::new(),
        };
        Self {
            state: Arc::new(State {
                stopped: AtomicBool::new(false),
                signal,
                open: Mutex::new(Some(open)),
            }),
        }
    }

    /// A token that stops with this one, but can also be stopped alone: a
    /// pool may end without looking like an interruption.
    pub fn child(&self) -> Self {
        let child = Self::token();
        if let Some(open) = self.state.lock().as_mut() {
            open.children.retain(|known| known.strong_count() > 0);
            open.children.push(Arc::downgrade(&child.state));
            return child;
        }
        child.stop();
        child
    }

    /// Whether somebody asked to stop; cheap enough for every chunk.
    pub fn is_stopped(&self) -> bool {
        // The flag carries no data that a reader would have to see with it.
        self.state.stopped.load(Ordering::Relaxed)
    }

    /// Asks everyone who holds this token, or a child of it, to stop.
    pub fn stop(&self) {
        self.state.stop();
    }

    /// A channel that never yields a message and disconnects on the stop, so
    /// that `recv` on it in `select!` means "stopped".
    pub fn signal(&self) -> &Receiver<Infallible> {
        &self.state.signal
    }
}

impl State {
    fn stop(&self) {
        let open = {
            let mut open = self.lock();
            // Before the sender goes: whoever the signal wakes sees the flag.
            self.stopped.store(true, Ordering::Relaxed);
            open.take()
        };
        let children = open.map(|open| open.children).unwrap_or_default();
        for child in children.iter().filter_map(Weak::upgrade) {
            child.stop();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use crossbeam_channel::{RecvTimeoutError, TryRecvError, select};

    use super::*;

    #[test]
    fn stop_reaches_every_clone_and_may_be_repeated() {
        let token = Shutdown::token();
        let other = token.clone();
        assert!(!other.is_stopped());
        assert_eq!(other.signal().try_recv(), Err(TryRecvError::Empty));
        token.stop();
        token.stop();
        assert!(other.is_stopped());
        assert_eq!(other.signal().try_recv(), Err(TryRecvError::Disconnected));
    }

    #[test]
    fn the_signal_wakes_a_select() {
        let token = Shutdown::token();
        let waiting = token.clone();
        let thread = thread::spawn(move || {
            select! {
                recv(waiting.signal()) -> _ => waiting.is_stopped(),
                default(Duration::from_secs(30)) => false,
            }
        });
        token.stop();
        assert!(thread.join().unwrap());
    }

    #[test]
    fn a_child_stops_with_its_parent_but_not_the_other_way_round() {
        let parent = Shutdown::token();
        let (one, two) = (parent.child(), parent.child());
        let grandchild = two.child();
        one.stop();
        assert!(one.is_stopped() && !parent.is_stopped() && !two.is_stopped());
        parent.stop();
        assert!(two.is_stopped() && grandchild.is_stopped());
        assert_eq!(
            grandchild.signal().recv_timeout(Duration::ZERO),
            Err(RecvTimeoutError::Disconnected)
        );
    }

    #[test]
    fn a_child_of_a_stopped_token_is_stopped() {
        let parent = Shutdown::token();
        parent.stop();
        assert!(parent.child().is_stopped());
    }
}
