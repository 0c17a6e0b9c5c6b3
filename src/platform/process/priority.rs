//! Getting out of the way of everything else on the machine.

use std::io;

/// Gives the calling thread the lowest CPU priority (nice 19).
///
/// On Linux niceness belongs to the thread and is inherited by threads that it
/// starts, so call this before the workers start. The I/O priority follows by
/// itself: without one of its own, a thread has the best-effort level derived
/// from its niceness, which for 19 is the lowest. The idle class would need a
/// raw system call for little more.
pub fn lower_priority() -> io::Result<()> {
    const LOWEST: i32 = 19;
    rustix::process::setpriority_process(None, LOWEST).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_and_its_children_become_nice() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let nice_thread = std::thread::spawn(move || {
            lower_priority().unwrap();
            (priority(), std::thread::spawn(priority).join().unwrap())
        });
        assert_eq!(nice_thread.join().unwrap(), (19, 19));
    }
}
