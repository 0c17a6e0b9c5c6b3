//! Doing the same for many folders at once, with working memory that is made
//! once per thread and not once per folder.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Folders that a thread takes at once: large enough that taking them costs
/// nothing, small enough that a thread with the large ones is not waited for.
const PORTION: usize = 16;

/// The results of `work` for every index below `count`, in order.
pub(crate) fn for_each<S, T: Send>(
    count: usize,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let threads = rayon::current_num_threads().min(count.div_ceil(PORTION));
    let parts: Vec<Vec<(usize, Vec<T>)>> = (0..threads)
        .into_par_iter()
        .map(|_| {
            let mut scratch = scratch();
            let mut done = Vec::new();
            loop {
                let from = next.fetch_add(PORTION, Ordering::Relaxed);
                if from >= count {
                    return done;
                }
                let portion = from..count.min(from + PORTION);
                let results = portion.map(|at| work(&mut scratch, at)).collect();
                done.push((from, results));
            }
        })
        .collect();
    let mut parts: Vec<_> = parts.into_iter().flatten().collect();
    parts.sort_unstable_by_key(|(from, _)| *from);
    parts.into_iter().flat_map(|(_, results)| results).collect()
}

/// Marks on contents that need no wiping between one use and the next.
#[derive(Debug)]
pub(crate) struct Marks {
    marks: Vec<u32>,
    now: u32,
}

impl Marks {
    pub(crate) fn new(contents: usize) -> Self {
        Self {
            marks: vec![0; contents],
            now: 0,
        }
    }

    /// Forgets all marks.
    pub(crate) fn clear(&mut self) {
        if self.now == u32::MAX {
            self.marks.fill(0);
            self.now = 0;
        }
        self.now += 1;
    }

    /// Marks a content; false when it was marked before.
    pub(crate) fn mark(&mut self, content: u32) -> bool {
        std::mem::replace(&mut self.marks[content as usize], self.now) != self.now
    }

    pub(crate) fn is_marked(&self, content: u32) -> bool {
        self.marks[content as usize] == self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whoever_made_them() {
        for count in [0, 1, PORTION, 1000] {
            let squares = for_each(count, || 0_usize, |_, at| at * at);
            assert_eq!(squares, (0..count).map(|at| at * at).collect::<Vec<_>>());
        }
    }

    #[test]
    fn marks_last_until_they_are_cleared() {
        let mut marks = Marks::new(2);
        for now in [0, u32::MAX] {
            marks.now = now;
            marks.clear();
            assert!(marks.mark(1));
            assert!(!marks.mark(1));
            assert!(marks.is_marked(1) && !marks.is_marked(0));
        }
    }
}
