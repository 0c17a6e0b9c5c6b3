//! Running one program and measuring it.
//!
//! The program is not started by the bench itself but by a second, small
//! instance of it: on Linux a child's peak memory starts from that of the
//! process it was forked from, and `/proc/self/io` adds up all children.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use super::results::Sample;

/// The first argument of the instance that runs a program.
pub(crate) const RUN_MEASURED: &str = "--run-measured";

/// What the small instance tells the bench.
#[derive(Serialize, Deserialize)]
struct Told {
    sample: Sample,
    /// The status as the system gives it.
    status: i32,
    timed_out: bool,
}

/// A call of a program.
pub(crate) struct Call<'c> {
    pub(crate) program: &'c Path,
    pub(crate) arguments: &'c [String],
    /// Its home and working folder; it gets its caches and temporary files in
    /// there.
    pub(crate) home: &'c Path,
    pub(crate) stdout: &'c Path,
    pub(crate) timeout: Duration,
}

impl Call<'_> {
    /// Runs it to its end, or says in a few words why it failed.
    pub(crate) fn run(&self) -> Result<Sample, String> {
        let errors = self.home.join("stderr.txt");
        let told = self.delegate(&errors).map_err(|error| error.to_string())?;
        if told.timed_out {
            return Err(format!("gave up after {} s", self.timeout.as_secs()));
        }
        let status = ExitStatus::from_raw(told.status);
        if status.success() {
            return Ok(told.sample);
        }
        let errors = fs::read(&errors).unwrap_or_default();
        let errors = String::from_utf8_lossy(&errors);
        let last = errors.lines().rfind(|line| !line.trim().is_empty());
        Err(format!("{status}: {}", last.unwrap_or("no message")))
    }

    fn delegate(&self, errors: &Path) -> io::Result<Told> {
        let output = Command::new(std::env::current_exe()?)
            .arg(RUN_MEASURED)
            .arg(self.timeout.as_secs().to_string())
            .args([self.stdout, errors])
            .arg(self.program)
            .args(self.arguments)
            .current_dir(self.home)
            .env("HOME", self.home)
            .env("XDG_CACHE_HOME", self.home.join("cache"))
            .env("XDG_CONFIG_HOME", self.home.join("config"))
            .env("XDG_DATA_HOME", self.home.join("data"))
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        serde_json::from_slice(&output.stdout).map_err(io::Error::other)
    }
}

/// The small instance: `--run-measured SECONDS STDOUT STDERR PROGRAM ARG…`.
pub(crate) fn run_measured(arguments: &[String]) -> ExitCode {
    let told = match arguments {
        [seconds, stdout, stderr, program, rest @ ..] => {
            let seconds = seconds.parse().unwrap_or(600);
            let (stdout, stderr) = (File::create(stdout), File::create(stderr));
            let mut command = Command::new(program);
            command.args(rest);
            stdout.and_then(|stdout| {
                command.stdout(stdout).stderr(stderr?);
                watch(&mut command, Duration::from_secs(seconds))
            })
        }
        _ => Err(io::Error::other("too few arguments")),
    };
    match told.map(|told| serde_json::to_writer(io::stdout(), &told)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => fail(&error.into()),
        Err(error) => fail(&error),
    }
}

fn fail(error: &io::Error) -> ExitCode {
    eprintln!("cannot run: {error}");
    ExitCode::FAILURE
}

/// Runs a command and measures it.
fn watch(command: &mut Command, timeout: Duration) -> io::Result<Told> {
    let (read_before, disk_before) = read_so_far()?;
    let start = Instant::now();
    let child = command.spawn()?;
    let pid = Pid::from_child(&child);
    let (ended, has_ended) = mpsc::channel::<()>();
    let watchdog = thread::spawn(move || {
        let timed_out = has_ended.recv_timeout(timeout) == Err(mpsc::RecvTimeoutError::Timeout);
        timed_out && kill_process(pid, Signal::KILL).is_ok()
    });
    let (status, usage) = wait_with_usage(pid)?;
    let wall = start.elapsed().as_secs_f64();
    drop(ended);
    let (read_after, disk_after) = read_so_far()?;
    let sample = Sample {
        wall,
        cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        // Linux counts in KiB.
        rss: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        read: read_after - read_before,
        from_disk: disk_after - disk_before,
    };
    Ok(Told {
        sample,
        status,
        timed_out: watchdog.join().unwrap_or(false),
    })
}

/// What `Child::wait` does, with the resources that the child used.
fn wait_with_usage(pid: Pid) -> io::Result<(i32, libc::rusage)> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are to live values of the right types, and all
    // bytes zero is a valid rusage. Neither std nor rustix has wait4.
    #[expect(unsafe_code, reason = "the only way to one child's peak memory")]
    let (ended, usage) = unsafe {
        let ended = libc::wait4(pid.as_raw_pid(), &raw mut status, 0, usage.as_mut_ptr());
        (ended, usage.assume_init())
    };
    if ended == pid.as_raw_pid() {
        Ok((status, usage))
    } else {
        Err(io::Error::last_os_error())
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds")]
fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

/// Bytes that read calls returned and bytes from the disk, by this process
/// and the children it has waited for.
fn read_so_far() -> io::Result<(u64, u64)> {
    // Where the kernel does not count, there is nothing to show.
    let Ok(text) = fs::read_to_string("/proc/self/io") else {
        return Ok((0, 0));
    };
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
    };
    Ok((field("rchar:"), field("read_bytes:")))
}
