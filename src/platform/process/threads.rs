//! Whether this process may start threads.

use std::sync::RwLock;
use std::thread;

use rayon::ThreadPoolBuilder;
use rustix::process::{Resource, getrlimit};

/// With a limit this high, nobody asks whether threads can be started.
const PLENTY: u64 = 4_096;

/// Lets the calling thread do what is shared among threads, if the system does not
/// grant as many as there are cores. Where rayon finds out by itself, it
/// panics. To be called by the thread that shares the work.
pub fn share_work_with_those_there_are() {
    let is_limited = getrlimit(Resource::Nproc)
        .current
        .is_some_and(|most| most < PLENTY);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    if is_limited && !can_start(cores) {
        // An error means that there are threads already.
        let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        alone.build_global().unwrap_or_default();
    }
}

/// Whether this many threads can exist at once.
fn can_start(count: usize) -> bool {
    let gate = RwLock::new(());
    thread::scope(|scope| {
        let closed = gate.write();
        let start = |_| thread::Builder::new().spawn_scoped(scope, || drop(gate.read()));
        let all = (0..count).map(start).all(|started| started.is_ok());
        drop(closed);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_threads_can_be_started() {
        assert!(can_start(3));
    }
}
