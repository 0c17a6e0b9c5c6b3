//! One run of one program from a cold cache, and its row of the table.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::groups::{Agreement, Found};
use super::output::Format;
use super::storage::Mounted;

/// The programs of one workload and what they found.
pub(crate) struct Race<'r> {
    pub(crate) tree: &'r Path,
    /// Where the emulated disk counts, if there is one.
    pub(crate) disk: Option<&'r Mounted>,
    pub(crate) dir: &'r Path,
    /// The fastest time of fclones so far, and its groups.
    best: Option<f64>,
    theirs: Option<Found>,
}

/// What to run, and what to say of it.
pub(crate) struct Call<'c> {
    pub(crate) label: &'c str,
    pub(crate) program: &'c OsStr,
    pub(crate) arguments: Vec<String>,
    pub(crate) finds: Finds<'c>,
}

/// Where the groups are that a run found.
pub(crate) enum Finds<'c> {
    Nothing,
    /// In what fclones prints.
    Fclones,
    /// In this catalog.
    Catalog(&'c Path),
}

impl<'r> Race<'r> {
    pub(crate) fn new(tree: &'r Path, disk: Option<&'r Mounted>, dir: &'r Path) -> Self {
        Self {
            tree,
            disk,
            dir,
            best: None,
            theirs: None,
        }
    }

    /// Runs a program from a cold cache and prints its row.
    pub(crate) fn run(&mut self, call: &Call<'_>) -> io::Result<()> {
        // The program itself comes from the cache.
        let mut version = Command::new(call.program);
        version.arg("--version").stdout(Stdio::null());
        drop(version.stderr(Stdio::null()).status());
        drop_caches()?;
        if let Some(disk) = self.disk {
            disk.counted()?;
        }
        let stdout = self.dir.join("stdout");
        let mut command = Command::new(call.program);
        command
            .args(&call.arguments)
            .stdout(File::create(&stdout)?)
            .stderr(File::create(self.dir.join("stderr"))?);
        let began = Instant::now();
        let mut child = command.spawn()?;
        let peak = watch_memory(child.id());
        let status = child.wait()?;
        let seconds = began.elapsed().as_secs_f64();
        let rss = peak.join().unwrap_or(0);
        if !status.success() {
            let stderr = fs::read_to_string(self.dir.join("stderr"))?;
            return Err(io::Error::other(format!("{}: {stderr}", call.label)));
        }
        let (seeks, bytes) = match self.disk {
            Some(disk) => disk.counted()?,
            None => Default::default(),
        };
        let groups = self.groups(call, &stdout)?;
        if matches!(call.finds, Finds::Fclones) {
            self.best = Some(self.best.map_or(seconds, |best| best.min(seconds)));
        }
        let ratio = self.best.map(|best| format!("{:.2}", seconds / best));
        println!(
            "| {} | {seconds:.2} s | {} | {seeks} | {bytes} | {} MB | {groups} |",
            call.label,
            ratio.unwrap_or_default(),
            rss / 1_000,
        );
        Ok(())
    }

    /// How many groups it found, and whether they are those of fclones.
    fn groups(&mut self, call: &Call<'_>, stdout: &Path) -> io::Result<String> {
        let found = match call.finds {
            Finds::Nothing => return Ok(String::new()),
            Finds::Fclones => parse(&fs::read(stdout)?, Format::FclonesJson)?,
            Finds::Catalog(catalog) => {
                let report = Command::new(call.program)
                    .args(["report", "--format", "fdupes", "--null", "--db"])
                    .arg(catalog)
                    .arg(self.tree)
                    .output()?;
                parse(&report.stdout, Format::NulBlocks)?
            }
        };
        let Some(theirs) = &self.theirs else {
            let known = matches!(call.finds, Finds::Fclones);
            self.theirs = known.then_some(found);
            return Ok(String::new());
        };
        Ok(match theirs.agreement(&found) {
            Agreement::Same { groups } => format!("{groups}, equal"),
            other => format!("{other:?}"),
        })
    }
}

fn parse(output: &[u8], format: Format) -> io::Result<Found> {
    let groups = format.parse(output).map_err(io::Error::other)?;
    Ok(Found::new(&groups))
}

/// Drops everything cached, after what is to be written was.
fn drop_caches() -> io::Result<()> {
    Command::new("sync").status()?;
    fs::write("/proc/sys/vm/drop_caches", "3")
}

/// The largest memory that a process had, in kB, looked at until it ends.
fn watch_memory(process: u32) -> std::thread::JoinHandle<u64> {
    let status = PathBuf::from(format!("/proc/{process}/status"));
    std::thread::spawn(move || {
        let mut peak = 0;
        while let Ok(status) = fs::read_to_string(&status) {
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let Some(line) = line else {
                break;
            };
            let number = line.trim().trim_end_matches(" kB").parse();
            peak = peak.max(number.unwrap_or(0));
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        peak
    })
}
