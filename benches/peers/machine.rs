//! What the figures were taken on.

use std::fs;
use std::path::Path;
use std::thread;

/// The machine in one line: processor, cores, memory, kernel, filesystem.
pub(crate) fn describe(dir: &Path) -> String {
    let cpu = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let cores = thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let memory = field("/proc/meminfo", "MemTotal").and_then(|text| {
        let kib: u64 = text.split_whitespace().next()?.parse().ok()?;
        Some(format!("{} GiB", kib.div_ceil(1 << 20)))
    });
    let memory = memory.unwrap_or_else(|| "unknown".into());
    let kernel = read("/proc/sys/kernel/osrelease");
    format!(
        "{cpu}, {cores} cores, {memory} of memory, Linux {kernel}, {}",
        filesystem(dir)
    )
}

/// The load of the last minute.
pub(crate) fn load() -> f64 {
    let text = read("/proc/loadavg");
    let first = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok());
    first.unwrap_or(0.0)
}

pub(crate) fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

fn read(path: &str) -> String {
    fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// The value of the first line `name : value`.
fn field(path: &str, name: &str) -> Option<String> {
    let text = read(path);
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The filesystem of a folder, and what its disk says about itself.
fn filesystem(dir: &Path) -> String {
    let dir = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
    let mounts = read("/proc/self/mountinfo");
    let mounted = mounts.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(2);
        let (device, point) = (left.next()?, left.nth(1)?);
        let fstype = right.split(' ').next()?;
        dir.starts_with(point).then_some((point, fstype, device))
    });
    let Some((_, fstype, device)) = mounted.max_by_key(|(point, ..)| point.len()) else {
        return "unknown filesystem".to_owned();
    };
    match read(&format!("/sys/dev/block/{device}/queue/rotational")).as_str() {
        "1" => format!("{fstype} on a disk that calls itself rotational"),
        "0" => format!("{fstype} on a disk without seeks"),
        _ => fstype.to_owned(),
    }
}
