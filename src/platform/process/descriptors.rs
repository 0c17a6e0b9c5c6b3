//! How many files this process may have open at once.

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that the table of open files has room for from the start: more
/// than two workers a core need on most machines.
const ROOM: u64 = 1_024;

/// Makes room for many open files at once. Call it before the first thread
/// starts: Linux lets a process of several threads wait for all processors each
/// time its table grows, several milliseconds in which no file can be opened.
pub fn make_room_for_files() {
    let room = most_open_files().min(ROOM);
    let Ok(last) = i32::try_from(room.saturating_sub(1)) else {
        return;
    };
    // Room is made for the number that is asked for, whatever it is a handle of.
    // Where that is refused, the table grows when it has to.
    let any = openat(CWD, c"/", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let held = any.and_then(|any| fcntl_dupfd_cloexec(any, last));
    drop(held);
}

/// How many files may be open, the limit raised as far as is allowed.
pub fn most_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // Only the soft limit is raised; where that is refused, it stays.
    setrlimit(Resource::Nofile, raised).ok();
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn making_room_leaves_nothing_open() {
        let is_open = || rustix::fs::stat(format!("/dev/fd/{}", ROOM - 1)).is_ok();
        let was_open = is_open();
        make_room_for_files();
        assert_eq!(is_open(), was_open);
    }

    #[test]
    fn the_limit_is_as_high_as_allowed() {
        let most = most_open_files();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
        assert_eq!(most, limit.maximum.unwrap_or(u64::MAX));
    }
}
