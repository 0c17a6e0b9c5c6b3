//! The test environment: a folder of its own with files to scan, a catalog, a
//! home, and a clean set of variables; builders for what git cannot hold; and
//! the real binary to run on it. All paths are relative to that folder, which
//! is also where the binary runs.
//!
//! When an environment goes away, `dupescan verify` must find nothing wrong
//! with the catalogs used in it: a test cannot forget to check.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;

use crate::report_json::{self, Copies, Groups};
use crate::run::Run;

/// Files whose ctime is younger than this when they are hashed are hashed
/// again by the next scan.
const RACY: Duration = Duration::from_millis(3_100);

/// No command of a test takes longer, however slow the machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A folder with everything a test needs.
pub(crate) struct TestEnv {
    folder: TempDir,
    root: PathBuf,
    db: RefCell<PathBuf>,
    /// The catalogs to check at the end.
    catalogs: RefCell<BTreeSet<PathBuf>>,
    last_write: Cell<Option<Instant>>,
}

impl TestEnv {
    /// An environment with an empty folder `tree`.
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("dupescan-test-")
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir()
            .unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["tree", "home", "data"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let env = Self {
            folder,
            db: RefCell::default(),
            catalogs: RefCell::default(),
            last_write: Cell::new(None),
            root,
        };
        env.use_db("data/catalog.db");
        env
    }

    /// The absolute path of something in the environment.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// The catalog in use.
    pub(crate) fn db(&self) -> PathBuf {
        self.db.borrow().clone()
    }

    /// Uses another catalog from now on; both are checked at the end.
    pub(crate) fn use_db(&self, relative: &str) -> &Self {
        let path = self.path(relative);
        self.catalogs.borrow_mut().insert(path.clone());
        *self.db.borrow_mut() = path;
        self
    }

    /// Says that the catalog in use is broken on purpose.
    pub(crate) fn catalog_is_broken_on_purpose(&self) -> &Self {
        self.catalogs.borrow_mut().remove(&self.db());
        self
    }
}

/// Building files.
impl TestEnv {
    /// Writes a file, and the folders above it.
    pub(crate) fn file(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.above(path);
        fs::write(path, content).unwrap();
        self.wrote()
    }

    /// Writes `size` bytes that look random and depend on `seed` only.
    pub(crate) fn random(&self, path: impl AsRef<Path>, seed: u64, size: usize) -> &Self {
        self.file(path, noise(seed, size))
    }

    /// A folder, with those above it.
    pub(crate) fn folder(&self, path: impl AsRef<Path>) -> &Self {
        fs::create_dir_all(self.path(path)).unwrap();
        self.wrote()
    }

    /// A copy of a file with content of its own on the disk.
    pub(crate) fn copy(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> &Self {
        let content = fs::read(self.path(from)).unwrap();
        self.file(to, content)
    }

    /// Another name of a file.
    pub(crate) fn hard_link(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> &Self {
        let to = self.above(to);
        fs::hard_link(self.path(from), to).unwrap();
        self.wrote()
    }

    /// A symbolic link at `at`; `target` is taken as it is.
    pub(crate) fn symlink(&self, target: impl AsRef<Path>, at: impl AsRef<Path>) -> &Self {
        let at = self.above(at);
        std::os::unix::fs::symlink(target, at).unwrap();
        self.wrote()
    }

    /// A named pipe.
    pub(crate) fn fifo(&self, path: impl AsRef<Path>) -> &Self {
        self.node(path, rustix::fs::FileType::Fifo, 0)
    }

    /// A socket that nobody listens on.
    pub(crate) fn socket(&self, path: impl AsRef<Path>) -> &Self {
        // The address of a socket is short: bind by a relative name in a folder
        // handle is not possible, so go through /proc.
        let path = self.above(path);
        let parent = File::open(path.parent().unwrap()).unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&parent);
        let short = Path::new("/proc/self/fd")
            .join(fd.to_string())
            .join(path.file_name().unwrap());
        drop(UnixListener::bind(short).unwrap());
        self.wrote()
    }

    /// A character device that reads as zeros for ever; needs root.
    pub(crate) fn zero_device(&self, path: impl AsRef<Path>) -> &Self {
        let zero = rustix::fs::makedev(1, 5);
        self.node(path, rustix::fs::FileType::CharacterDevice, zero)
    }

    /// A file of `size` bytes, all of them a hole.
    pub(crate) fn sparse(&self, path: impl AsRef<Path>, size: u64) -> &Self {
        let path = self.above(path);
        File::create(path).unwrap().set_len(size).unwrap();
        self.wrote()
    }

    /// Sets a file's modification time.
    pub(crate) fn mtime(&self, path: impl AsRef<Path>, time: SystemTime) -> &Self {
        let file = File::open(self.path(path)).unwrap();
        file.set_times(FileTimes::new().set_modified(time)).unwrap();
        self.wrote()
    }

    /// Changes one byte in place.
    pub(crate) fn flip(&self, path: impl AsRef<Path>, offset: u64) -> &Self {
        let mut byte = [0];
        let file = File::open(self.path(path.as_ref())).unwrap();
        file.read_exact_at(&mut byte, offset).unwrap();
        self.write_at(path, offset, [!byte[0]])
    }

    /// Writes into a file in place; a hole stays one on both sides.
    pub(crate) fn write_at(
        &self,
        path: impl AsRef<Path>,
        offset: u64,
        content: impl AsRef<[u8]>,
    ) -> &Self {
        let file = OpenOptions::new().write(true).open(self.path(path));
        file.unwrap()
            .write_all_at(content.as_ref(), offset)
            .unwrap();
        self.wrote()
    }

    /// Changes one byte in place and puts the modification time back.
    pub(crate) fn flip_secretly(&self, path: impl AsRef<Path>, offset: u64) -> &Self {
        let path = path.as_ref();
        let before = fs::metadata(self.path(path)).unwrap().modified().unwrap();
        self.flip(path, offset).mtime(path, before)
    }

    /// Adds to the end of a file.
    pub(crate) fn append(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let file = OpenOptions::new().append(true).open(self.path(path));
        file.unwrap().write_all(content.as_ref()).unwrap();
        self.wrote()
    }

    /// Removes a file, or a folder with all that is in it.
    pub(crate) fn remove(&self, path: impl AsRef<Path>) -> &Self {
        let path = self.path(path);
        if path.symlink_metadata().unwrap().is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
        self.wrote()
    }

    /// Moves a file or folder.
    pub(crate) fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> &Self {
        let to = self.above(to);
        fs::rename(self.path(from), to).unwrap();
        self.wrote()
    }

    /// Sets the permissions.
    pub(crate) fn chmod(&self, path: impl AsRef<Path>, mode: u32) -> &Self {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
        self.wrote()
    }

    /// Copies a folder of the project's fixtures here.
    pub(crate) fn fixture(&self, name: &str, to: &str) -> &Self {
        let from = fixtures().join(name);
        for entry in walkdir::WalkDir::new(&from) {
            let entry = entry.unwrap();
            let to = self
                .path(to)
                .join(entry.path().strip_prefix(&from).unwrap());
            if entry.file_type().is_dir() {
                fs::create_dir_all(to).unwrap();
            } else {
                fs::copy(entry.path(), to).unwrap();
            }
        }
        self.wrote()
    }

    /// Waits until no file written so far is racy any more: nothing can set a
    /// ctime. Costs up to three seconds, so only for tests of what is *not*
    /// read again.
    pub(crate) fn settle_clock(&self) -> &Self {
        if let Some(last) = self.last_write.get() {
            thread::sleep(RACY.saturating_sub(last.elapsed()));
        }
        self
    }

    fn above(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn node(&self, path: impl AsRef<Path>, kind: rustix::fs::FileType, device: u64) -> &Self {
        let path = self.above(path);
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, device).unwrap();
        self.wrote()
    }

    fn wrote(&self) -> &Self {
        self.last_write.set(Some(Instant::now()));
        self
    }
}

/// Running the binary.
impl TestEnv {
    /// Runs `dupescan` with the words of `line` on this environment's catalog.
    pub(crate) fn run(&self, line: &str) -> Run {
        self.run_args(line.split_whitespace())
    }

    /// As [`run`](Self::run), with arguments that may hold anything.
    pub(crate) fn run_args<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        self.finish(self.command(args))
    }

    /// The command that [`run_args`](Self::run_args) runs.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.bare_command(BINARY);
        command.arg("--db").arg(self.db()).args(args);
        command
    }

    /// A program with the clean environment and nothing else said.
    pub(crate) fn bare_command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(&self.root).envs([
            ("HOME", self.path("home")),
            ("XDG_CONFIG_HOME", self.path("home/config")),
            ("XDG_DATA_HOME", self.path("home/data")),
            ("XDG_CACHE_HOME", self.path("home/cache")),
        ]);
        command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        // Coverage of the binary is measured through these.
        for name in ["PATH", "LLVM_PROFILE_FILE", "CARGO_LLVM_COV"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    /// Runs a command to its end.
    pub(crate) fn finish(&self, command: Command) -> Run {
        let line = describe(&command);
        let started = Instant::now();
        let mut command = assert_cmd::Command::from_std(command);
        let output = command.timeout(TIMEOUT).output().unwrap();
        Run::new(line, output, started.elapsed())
    }

    /// Starts the binary and lets it run; its output is kept for
    /// [`Background::wait`].
    pub(crate) fn start(&self, line: &str) -> Background {
        Background::start(self.command(line.split_whitespace()))
    }

    /// Runs a shell script in a mount namespace of its own, with `$DUPESCAN`
    /// standing for the binary and its catalog. `None` where mounting is not
    /// permitted.
    pub(crate) fn run_with_mounts(&self, script: &str) -> Option<Run> {
        let can = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c"])
            .arg(format!(
                "mount -t tmpfs none {}",
                self.path("home").display()
            ))
            .stderr(Stdio::null())
            .status();
        if !can.is_ok_and(|status| status.success()) {
            return None;
        }
        let mut command = self.bare_command("unshare");
        let dupescan = format!("{BINARY} --db {}", self.db().display());
        command
            .args(["--mount", "--propagation", "private", "sh", "-euc", script])
            .env("DUPESCAN", dupescan);
        Some(self.finish(command))
    }

    /// Runs `dupescan` without the right to read what permissions forbid.
    /// `None` where root cannot give that up.
    pub(crate) fn run_unprivileged(&self, line: &str) -> Option<Run> {
        if !rustix::process::geteuid().is_root() {
            return Some(self.run(line));
        }
        let drop = "-dac_override,-dac_read_search";
        let setpriv = [
            format!("--bounding-set={drop}"),
            format!("--inh-caps={drop}"),
        ];
        let can = Command::new("setpriv").args(&setpriv).arg("true").status();
        if !can.is_ok_and(|status| status.success()) {
            return None;
        }
        let mut command = self.bare_command("setpriv");
        command.args(setpriv).arg(BINARY);
        command
            .arg("--db")
            .arg(self.db())
            .args(line.split_whitespace());
        Some(self.finish(command))
    }

    /// Runs `dupescan` under strace. `None` where there is no strace.
    pub(crate) fn run_traced(&self, line: &str) -> Option<(Run, Opens)> {
        let can = Command::new("strace")
            .args(["-o", "/dev/null", "true"])
            .status();
        if !can.is_ok_and(|status| status.success()) {
            return None;
        }
        let log = self.path("home/strace.log");
        let mut command = self.bare_command("strace");
        command
            .args([
                "-f",
                "-qq",
                "-y",
                "-s",
                "4096",
                "-e",
                "trace=open,openat,openat2",
                "-o",
            ])
            .arg(&log)
            .arg(BINARY)
            .arg("--db")
            .arg(self.db())
            .args(line.split_whitespace());
        let run = self.finish(command);
        let opens = Opens(String::from_utf8_lossy(&fs::read(log).unwrap()).into_owned());
        Some((run, opens))
    }
}

/// Looking at results.
impl TestEnv {
    /// The groups of `dupescan report`, each the set of one name per copy.
    pub(crate) fn groups(&self) -> Groups {
        self.groups_of("")
    }

    /// The groups of `dupescan report` with options.
    pub(crate) fn groups_of(&self, options: &str) -> Groups {
        report_json::groups(&self.report(options), &self.root)
    }

    /// The groups of `dupescan report`, with every name of every copy.
    pub(crate) fn copies(&self) -> Copies {
        report_json::copies(&self.report("--links"), &self.root)
    }

    /// The JSON document of `dupescan report` with options.
    pub(crate) fn report(&self, options: &str) -> serde_json::Value {
        self.run(&format!("report --format json {options}"))
            .ok()
            .json()
    }

    /// One value out of the catalog, read by SQLite beside dupescan.
    pub(crate) fn sql<T: rusqlite::types::FromSql>(&self, query: &str) -> T {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = rusqlite::Connection::open_with_flags(self.db(), flags).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        connection.query_row(query, [], |row| row.get(0)).unwrap()
    }

    /// A column of the newest scan.
    pub(crate) fn last_scan(&self, column: &str) -> i64 {
        self.sql(&format!(
            "SELECT {column} FROM scans ORDER BY id DESC LIMIT 1"
        ))
    }

    fn check_catalog(&self, catalog: &Path) {
        let mut verify = self.bare_command(BINARY);
        verify.arg("--db").arg(catalog).arg("verify");
        self.finish(verify).ok();
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        for catalog in &*self.catalogs.borrow() {
            if catalog.exists() {
                self.check_catalog(catalog);
            }
        }
        assert!(
            self.folder.path().exists(),
            "the test removed its own folder"
        );
    }
}

const BINARY: &str = env!("CARGO_BIN_EXE_dupescan");

/// The project's fixtures.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// A relative path of arbitrary bytes.
pub(crate) fn odd(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}

/// Bytes that look random and depend on `seed` only (xorshift64*).
pub(crate) fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        bytes.extend(state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

fn describe(command: &Command) -> String {
    let args = command.get_args().map(OsStr::to_string_lossy);
    args.fold("dupescan".to_owned(), |mut line, arg| {
        write!(line, " {arg}").unwrap();
        line
    })
}

/// The opens in a log of strace.
pub(crate) struct Opens(String);

impl Opens {
    /// The regular files below `folder` that were opened.
    pub(crate) fn files_below(&self, folder: &Path) -> BTreeSet<PathBuf> {
        // With -y a successful call ends in `= 7</the/path>`.
        let opened = self.0.lines().filter_map(|line| {
            let (_, result) = line.rsplit_once(" = ")?;
            let (_, path) = result.split_once('<')?;
            Some(PathBuf::from(path.strip_suffix('>')?))
        });
        opened
            .filter(|path| path.starts_with(folder) && path.is_file())
            .collect()
    }

    /// Whether there was so much as an attempt to open a path with this last
    /// name.
    pub(crate) fn tried(&self, name: &str) -> bool {
        let (whole, end) = (format!("\"{name}\""), format!("/{name}\""));
        self.0.contains(&whole) || self.0.contains(&end)
    }

    /// The log, for messages.
    pub(crate) fn log(&self) -> &str {
        &self.0
    }
}

/// A command that runs beside the test. Killed when it is dropped.
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

/// Leaves a test that this machine does not permit, with a line that shows
/// even though the test passes.
macro_rules! skip {
    ($($reason:tt)*) => {{
        use std::io::Write;
        // Straight to the stream: the harness would swallow eprintln!.
        writeln!(std::io::stderr(), "SKIPPED: {}: {}", module_path!(), format_args!($($reason)*)).ok();
        return;
    }};
}
pub(crate) use skip;

/// `OsString`s of everything, for lines that hold paths.
pub(crate) fn words(parts: &[&dyn AsRef<OsStr>]) -> Vec<OsString> {
    parts.iter().map(|part| part.as_ref().to_owned()).collect()
}
