//! A contender on this machine: its program, its state folder, and running it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::contenders::{Contender, Groups};
use super::ground::remove;
use super::groups::Found;
use super::measure::Call;
use super::output::Format;
use super::results::Sample;

/// A contender whose program is there.
pub(crate) struct Competitor {
    pub(crate) contender: &'static Contender,
    pub(crate) version: String,
    program: PathBuf,
    state: PathBuf,
    timeout: Duration,
}

impl Competitor {
    /// `None` if its program is not installed.
    pub(crate) fn find(
        contender: &'static Contender,
        dir: &Path,
        timeout: Duration,
    ) -> Option<Self> {
        let program = match contender.program {
            None => PathBuf::from(env!("CARGO_BIN_EXE_dupescan")),
            Some(name) => find_program(name)?,
        };
        Some(Self {
            contender,
            version: version(&program),
            program,
            state: dir.join("state").join(contender.slug()),
            timeout,
        })
    }

    /// Forgets everything: its caches, its catalog, its output.
    pub(crate) fn forget(&self) -> io::Result<()> {
        remove(&self.state)?;
        fs::create_dir_all(&self.state)
    }

    /// Whether it remembers anything from one run to the next.
    pub(crate) fn remembers(&self) -> bool {
        self.contender.cached.is_some()
    }

    /// Runs it on a tree; with `cached` in the way that makes and uses its
    /// cache.
    pub(crate) fn run(&self, tree: &Path, cached: bool) -> Result<Sample, String> {
        let arguments = match self.contender.cached {
            Some(arguments) if cached => arguments,
            _ => self.contender.arguments,
        };
        self.call(arguments, tree)
    }

    /// The groups that its last run found, and what asking for them cost where
    /// that is a run of its own.
    pub(crate) fn found(&self, tree: &Path) -> Result<(Found, Option<Sample>), String> {
        let (file, format, asking) = match &self.contender.groups {
            Groups::Stdout(format) => ("stdout.txt", *format, None),
            Groups::File(name, format) => (*name, *format, None),
            Groups::Asked(arguments, format) => {
                ("stdout.txt", *format, Some(self.call(arguments, tree)?))
            }
            Groups::Incomparable => return Err("finds blocks, not files".to_owned()),
        };
        Ok((self.parse(file, format)?, asking))
    }

    fn parse(&self, file: &str, format: Format) -> Result<Found, String> {
        let output = fs::read(self.state.join(file));
        let output = output.map_err(|error| format!("no output: {error}"))?;
        Ok(Found::new(&format.parse(&output)?))
    }

    /// Bytes of the catalog that it wrote.
    pub(crate) fn catalog(&self) -> Option<u64> {
        let catalog = fs::metadata(self.state.join("catalog.db")).ok()?;
        Some(catalog.len())
    }

    /// Touches its program, so that a cold run need not load it.
    pub(crate) fn warm_program(&self) {
        version(&self.program);
    }

    fn call(&self, arguments: &[&str], tree: &Path) -> Result<Sample, String> {
        let arguments: Vec<_> = arguments
            .iter()
            .map(|argument| fill_in(argument, tree, &self.state))
            .collect();
        let call = Call {
            program: &self.program,
            arguments: &arguments,
            home: &self.state,
            stdout: &self.state.join("stdout.txt"),
            timeout: self.timeout,
        };
        call.run()
    }
}

/// An argument with its placeholders filled in.
fn fill_in(argument: &str, tree: &Path, state: &Path) -> String {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    argument
        .replace("{tree}", &tree.to_string_lossy())
        .replace("{state}", &state.to_string_lossy())
        .replace("{cores}", &cores.to_string())
        .replace("{twice}", &(2 * cores).to_string())
}

/// The program in the search path, or where cargo installs programs.
fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    let cargo = cargo_home.or(home).map(|home| home.join("bin"));
    std::env::split_paths(&path)
        .chain(cargo)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// The first line with a number that `--version` prints.
fn version(program: &Path) -> String {
    let Ok(output) = Command::new(program).arg("--version").output() else {
        return "unknown".to_owned();
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text
        .lines()
        .find(|line| line.contains(|c: char| c.is_ascii_digit()));
    let words = line.unwrap_or("unknown").split_whitespace();
    let word = words
        .map(|word| word.trim_start_matches('v'))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    word.unwrap_or("unknown").to_owned()
}
