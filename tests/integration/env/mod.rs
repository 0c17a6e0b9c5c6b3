//! The test environment: a folder of its own with files to scan, a catalog, a
//! home, and a clean set of variables; builders for what git cannot hold; and
//! the real binary to run on it. All paths are relative to that folder, which
//! is also where the binary runs.
//!
//! When an environment goes away, `dupescan verify` must find nothing wrong
//! with the catalogs used in it: a test cannot forget to check.

mod background;
mod files;
pub(crate) mod oracle;
pub(crate) mod pty;
pub(crate) mod report_json;
pub(crate) mod run;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use dupescan::model::TOO_YOUNG;
use tempfile::TempDir;

pub(crate) use self::background::Background;
use self::background::describe;
pub(crate) use self::files::{fixtures, noise, odd};
use self::report_json::{Copies, Groups};
use self::run::Run;

/// No command of a test takes longer, however slow the machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// What debug builds take for too young instead of [`TOO_YOUNG`], so that tests
/// need not wait: several ticks of the kernel, by which file times move.
const SHORT_YOUTH: Duration = Duration::from_millis(50);

/// A folder with everything a test needs.
pub(crate) struct TestEnv {
    folder: TempDir,
    root: PathBuf,
    db: RefCell<PathBuf>,
    /// The catalogs to check at the end.
    catalogs: RefCell<BTreeSet<PathBuf>>,
    last_write: Cell<Option<Instant>>,
    /// Files younger than this are not trusted.
    too_young: Cell<Duration>,
    /// What debug builds take for the most zeros of an ordinary hash.
    most_zeros: Cell<Option<u64>>,
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
            too_young: Cell::new(SHORT_YOUTH),
            most_zeros: Cell::new(None),
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

    /// Lets files stay young for as long as in a release build, for tests of
    /// what is not trusted yet.
    pub(crate) fn with_real_youth(&self) -> &Self {
        self.too_young.set(TOO_YOUNG);
        self
    }

    /// Lets contents with more zeros than this have a sparse hash, for tests that
    /// cannot write as many as a release build asks for.
    pub(crate) fn with_most_zeros(&self, most: u64) -> &Self {
        self.most_zeros.set(Some(most));
        self
    }

    /// Says that the catalog in use is broken on purpose.
    pub(crate) fn catalog_is_broken_on_purpose(&self) -> &Self {
        self.catalogs.borrow_mut().remove(&self.db());
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
        let too_young = self.too_young.get().as_millis().to_string();
        command.env("DUPESCAN_TEST_TOO_YOUNG_MS", too_young);
        if let Some(most) = self.most_zeros.get() {
            command.env("DUPESCAN_TEST_MOST_ZEROS", most.to_string());
        }
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

    /// As [`run_with_mounts`](Self::run_with_mounts), with an overlay over the
    /// folder `lower` mounted read-only at `merged`.
    pub(crate) fn run_with_overlay(&self, script: &str) -> Option<Run> {
        const NOT_MOUNTED: i32 = 32;
        self.folder("lower").folder("merged").folder("data/over");
        let mount = "mount -t overlay -o lowerdir=lower:data/over none merged";
        let run = self.run_with_mounts(&format!("{mount}\n{script}"))?;
        (run.exit != Some(NOT_MOUNTED)).then_some(run)
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

    /// A value from a catalog that may just be coming into being.
    pub(crate) fn peek<T: rusqlite::types::FromSql>(&self, query: &str) -> Option<T> {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = rusqlite::Connection::open_with_flags(self.db(), flags).ok()?;
        connection.query_row(query, [], |row| row.get(0)).ok()
    }

    /// Lets a folder of the catalog have the times that `folder` has now, as if
    /// they had not moved since it was listed.
    pub(crate) fn freeze_folder_times(&self, folder: &str, catalogued: &str) -> &Self {
        let meta = fs::metadata(self.path(folder)).unwrap();
        let mtime = meta.mtime() * 1_000_000_000 + meta.mtime_nsec();
        let ctime = meta.ctime() * 1_000_000_000 + meta.ctime_nsec();
        let update = "UPDATE folders SET mtime_ns = ?1, ctime_ns = ?2
             WHERE id = (SELECT folder FROM folder_paths WHERE path = ?3)";
        let path = self.path(catalogued);
        let values = rusqlite::params![mtime, ctime, path.to_str().unwrap()];
        let db = rusqlite::Connection::open(self.db()).unwrap();
        assert_eq!(db.execute(update, values).unwrap(), 1, "{catalogued}");
        self
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
