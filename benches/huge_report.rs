//! How soon a report over a huge catalog begins, and how much memory it takes.
//!
//! `cargo bench --bench huge_report -- [FILES GROUPS [DIR]]`; ten million files
//! and two million groups are what is asked for, a hundredth of that is the
//! default. About 130 bytes of disk a file are needed in DIR.
//!
//! The rows are made here, with SQL, in a catalog that dupescan created: writing
//! ten million files to have them scanned would take hours. That is the only
//! SQL outside `src/catalog`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for developers that prints figures"
)]

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, params};

const DUPESCAN: &str = env!("CARGO_BIN_EXE_dupescan");
const FILES_PER_FOLDER: i64 = 100;
/// Above every id that the scan of the real files used.
const FIRST_FOLDER: i64 = 1_000;

/// What the report showed.
struct Shown {
    first: Duration,
    /// Processor seconds up to the first group: what other work on the machine
    /// does not lengthen.
    first_cpu: f64,
    whole: Duration,
    groups: i64,
    /// Peak resident memory in KiB.
    peak: u64,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let number = |at: usize, default: i64| arguments.get(at).map_or(Ok(default), |n| n.parse());
    let (files, groups) = (number(0, 100_000)?, number(1, 20_000)?);
    if files < 4 * groups || groups < 1 {
        return Err("FILES must be at least four times GROUPS, which must be at least 1".into());
    }
    let top = match arguments.get(2) {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir()?,
    };
    let catalog = top.path().join("catalog.db");
    create(top.path(), &catalog)?;
    let start = Instant::now();
    fill(&catalog, files, groups)?;
    println!(
        "{files} files, {groups} groups: rows made in {:.1} s, {} bytes a file",
        start.elapsed().as_secs_f64(),
        fs::metadata(&catalog)?.len().cast_signed() / files
    );
    let shown = report(&catalog)?;
    println!(
        "first group after {:.2} s ({:.2} s of processor time), all {} after {:.2} s, peak memory {} MB",
        shown.first.as_secs_f64(),
        shown.first_cpu,
        shown.groups,
        shown.whole.as_secs_f64(),
        shown.peak * 1_024 / 1_000_000
    );
    if shown.groups == groups + 1 {
        Ok(())
    } else {
        Err(format!("{} groups were made, and one scanned", groups).into())
    }
}

/// Lets dupescan create a catalog, with one group of its own finding.
fn create(top: &Path, catalog: &Path) -> Result<(), Box<dyn Error>> {
    let tree = top.join("tree");
    fs::create_dir(&tree)?;
    fs::write(tree.join("one"), "same")?;
    fs::write(tree.join("two"), "same")?;
    let scanned = Command::new(DUPESCAN)
        .args(["scan", "--db"])
        .args([catalog, &tree])
        .stdout(Stdio::null())
        .status()?;
    if scanned.success() {
        Ok(())
    } else {
        Err(format!("the scan failed: {scanned}").into())
    }
}

/// Adds rows: every second file is a copy, two or more to a group and far from
/// each other; the others are unique by their size.
fn fill(catalog: &Path, files: i64, groups: i64) -> rusqlite::Result<()> {
    let mut connection = Connection::open(catalog)?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "cache_size", -65_536)?;
    let transaction = connection.transaction()?;
    add_folders(&transaction, (files - 1) / FILES_PER_FOLDER + 1)?;
    add_files(&transaction, files, groups)?;
    transaction.commit()?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

fn add_folders(transaction: &Transaction<'_>, folders: i64) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare(
        "INSERT INTO folders (id, root, parent, name, volume, visited_in, listed_in, first_scan)
         SELECT ?1, root, id, ?2, volume, visited_in, listed_in, first_scan
           FROM folders WHERE parent IS NULL",
    )?;
    for number in 0..folders {
        let name = format!("folder{number:06}");
        insert.execute(params![FIRST_FOLDER + number, name.as_bytes()])?;
    }
    Ok(())
}

fn add_files(transaction: &Transaction<'_>, files: i64, groups: i64) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare(
        "INSERT INTO files (folder, name, size, allocated, mtime_ns, ctime_ns, ino, nlink, digest,
                            hashed_in, first_scan)
         VALUES (?1, ?2, ?3, ?3, ?4, ?4, ?5, 1, ?6, ?7, 1)",
    )?;
    for number in 0..files {
        let group = (number % 2 == 0).then_some(number / 2 % groups);
        // Sizes repeat among groups, and are unique among the others.
        let size = group.map_or(1_000_000_000 + number, |group| 1_000 + group % 100_000);
        let digest = group.map(|group| blake3::hash(&group.to_le_bytes()));
        insert.execute(params![
            FIRST_FOLDER + number / FILES_PER_FOLDER,
            format!("file{number:08}.dat").as_bytes(),
            size,
            1_700_000_000_000_000_000 + number,
            1_000_000_000_000 + number,
            digest.as_ref().map(|digest| digest.as_bytes().as_slice()),
            digest.map(|_| 1),
        ])?;
    }
    Ok(())
}

/// Reads the report as a program would and watches the one that writes it.
fn report(catalog: &Path) -> Result<Shown, Box<dyn Error>> {
    let start = Instant::now();
    let mut child = Command::new(DUPESCAN)
        .args(["report", "--format", "jsonl", "--db"])
        .arg(catalog)
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().ok_or("no output")?;
    let mut shown = Shown {
        first: Duration::ZERO,
        first_cpu: 0.0,
        whole: Duration::ZERO,
        groups: 0,
        peak: 0,
    };
    for line in BufReader::with_capacity(1 << 16, stdout).split(b'\n') {
        line?;
        if shown.groups == 0 {
            shown.first = start.elapsed();
            shown.first_cpu = processor_time(child.id());
        }
        // The peak so far: the last of these looks is near the end.
        if shown.groups % 1_000 == 0 {
            shown.peak = shown.peak.max(peak(child.id()));
        }
        shown.groups += 1;
    }
    let status = child.wait()?;
    shown.whole = start.elapsed();
    if status.success() {
        Ok(shown)
    } else {
        Err(format!("the report failed: {status}").into())
    }
}

/// The peak resident memory of a running process, in KiB.
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

/// The processor time that a running process has used, in seconds.
#[expect(clippy::cast_precision_loss, reason = "seconds")]
fn processor_time(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything; utime and stime are the 12th
    // and 13th field behind it.
    let behind = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = behind
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}
