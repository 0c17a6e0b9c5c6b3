//! Bounds the rows that wait for the writer, and so memory, however many rows a
//! record has.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Rows that may wait: about what workers find while a batch is written.
const MOST_ROWS: usize = 8_000;

/// Counts the rows that were sent and not yet received.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    waiting: Mutex<Waiting>,
    has_room: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    rows: usize,
    is_closed: bool,
}

impl Backlog {
    /// Waits until there is room, and takes it. One record always has room,
    /// however large.
    pub(crate) fn add(&self, rows: usize) {
        let is_full = |waiting: &mut Waiting| !waiting.is_closed && waiting.rows >= MOST_ROWS;
        let waited = self.has_room.wait_while(self.lock(), is_full);
        waited.unwrap_or_else(PoisonError::into_inner).rows += rows;
    }

    /// Makes room: the writer has received a record.
    pub(crate) fn remove(&self, rows: usize) {
        let mut waiting = self.lock();
        let was_full = waiting.rows >= MOST_ROWS;
        waiting.rows = waiting.rows.saturating_sub(rows);
        if was_full && waiting.rows < MOST_ROWS {
            self.has_room.notify_all();
        }
    }

    /// The writer has ended: nobody waits for room any longer.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.has_room.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Starts a thread that adds three records; returns how many it added.
    fn adding(backlog: &Arc<Backlog>, rows: usize) -> (Arc<AtomicUsize>, thread::JoinHandle<()>) {
        let added = Arc::new(AtomicUsize::new(0));
        let (backlog, count) = (Arc::clone(backlog), Arc::clone(&added));
        let thread = thread::spawn(move || {
            for _ in 0..3 {
                backlog.add(rows);
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        (added, thread)
    }

    fn waits_at(added: &AtomicUsize, expected: usize) {
        for _ in 0..2_000 {
            if added.load(Ordering::SeqCst) >= expected {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(20));
        assert_eq!(added.load(Ordering::SeqCst), expected);
    }

    #[test]
    fn who_sends_too_much_waits_for_room() {
        let backlog = Arc::new(Backlog::default());
        let (added, thread) = adding(&backlog, MOST_ROWS);
        waits_at(&added, 1);
        backlog.remove(MOST_ROWS);
        waits_at(&added, 2);
        backlog.remove(MOST_ROWS);
        thread.join().unwrap();
    }

    #[test]
    fn a_closed_one_keeps_nobody_waiting() {
        let backlog = Arc::new(Backlog::default());
        let (added, thread) = adding(&backlog, 2 * MOST_ROWS);
        waits_at(&added, 1);
        backlog.close();
        thread.join().unwrap();
    }
}
