//! A process that runs alongside the test.

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::TIMEOUT;
use crate::env::run::Run;

/// A command that runs alongside the test. Killed when it is dropped.
pub(crate) struct Background {
    child: Option<Child>,
    line: String,
    started: Instant,
}

impl Background {
    pub(crate) fn start(mut command: Command) -> Self {
        let line = describe(&command);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            child: Some(child),
            line,
            started: Instant::now(),
        }
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// The process that it started, for a command that runs another one.
    pub(crate) fn child(&self) -> rustix::process::Pid {
        let id = self.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        let first = children.split_whitespace().next().unwrap();
        rustix::process::Pid::from_raw(first.parse().unwrap()).unwrap()
    }

    /// Whether it has not ended yet.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.as_mut().unwrap().try_wait().unwrap().is_none()
    }

    /// Sends a signal, unless it has ended.
    pub(crate) fn signal(&mut self, signal: rustix::process::Signal) {
        if self.is_running() {
            let pid = rustix::process::Pid::from_child(self.child.as_ref().unwrap());
            rustix::process::kill_process(pid, signal).unwrap();
        }
    }

    /// Waits until `ready` says so, while it runs; false when it ended first.
    pub(crate) fn wait_until(&mut self, mut ready: impl FnMut() -> bool) -> bool {
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            if ready() {
                return true;
            }
            if !self.is_running() {
                return false;
            }
            thread::sleep(Duration::from_millis(2));
        }
        panic!("{}: waited in vain", self.line);
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> Run {
        let deadline = Instant::now() + TIMEOUT;
        let mut child = self.child.take().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let watchdog = thread::spawn(move || {
            let left = deadline.saturating_duration_since(Instant::now());
            if is_done.recv_timeout(left) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
            }
        });
        drop(child.stdin.take());
        let output = child.wait_with_output().unwrap();
        drop(done);
        watchdog.join().unwrap();
        Run::new(
            std::mem::take(&mut self.line),
            output,
            self.started.elapsed(),
        )
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// The words of a command, for messages.
pub(super) fn describe(command: &Command) -> String {
    let args = command.get_args().map(OsStr::to_string_lossy);
    args.fold("dupescan".to_owned(), |mut line, arg| {
        write!(line, " {arg}").unwrap();
        line
    })
}
