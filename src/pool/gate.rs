//! Which threads of a pool take items: all are started with the pool, and as many are
//! admitted as are of use at the moment. The others wait here.

use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_channel::{Receiver, Sender, select_biased, unbounded};

use super::stop::Shutdown;

/// The way in.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Threads that are to leave before they take another item.
    too_many: AtomicUsize,
    admit: Sender<()>,
    admitted: Receiver<()>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        let (admit, admitted) = unbounded();
        Self {
            too_many: AtomicUsize::new(0),
            admit,
            admitted,
        }
    }

    /// Admits as many more threads.
    pub(crate) fn admit(&self, mut more: usize) {
        while more > 0 && self.leaves() {
            more -= 1;
        }
        for _ in 0..more {
            // The gate holds the other end.
            self.admit.send(()).ok();
        }
    }

    /// Asks as many threads to leave once they are done with their item.
    pub(crate) fn send_out(&self, mut fewer: usize) {
        while fewer > 0 && self.admitted.try_recv().is_ok() {
            fewer -= 1;
        }
        self.too_many.fetch_add(fewer, Ordering::Relaxed);
    }

    /// Whether the calling thread is one that is to leave.
    pub(crate) fn leaves(&self) -> bool {
        if self.too_many.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let leave = |too_many: usize| too_many.checked_sub(1);
        let left = (self.too_many).fetch_update(Ordering::Relaxed, Ordering::Relaxed, leave);
        left.is_ok()
    }

    /// Waits to be admitted; `false` once stopped.
    pub(crate) fn wait(&self, shutdown: &Shutdown) -> bool {
        select_biased! {
            recv(shutdown.signal()) -> _ => false,
            recv(self.admitted) -> admitted => admitted.is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_sent_out_is_admitted_first() {
        let (gate, shutdown) = (Gate::new(), Shutdown::token());
        assert!(!gate.leaves());
        gate.send_out(2);
        gate.admit(3);
        assert!(!gate.leaves(), "both stay");
        assert!(gate.wait(&shutdown), "and one more comes in");
        gate.admit(1);
        gate.send_out(2);
        assert!(gate.leaves() && !gate.leaves(), "one had not come in yet");
        shutdown.stop();
        assert!(!gate.wait(&shutdown));
    }
}
