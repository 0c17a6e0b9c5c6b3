//! Acting on duplicates: plans, applying them, undoing, the trash.

mod any_plan_file;
mod apply;
mod change;
mod crash;
mod journal;
mod keep;
mod last_moment;
mod left_in_trash;
mod plan;
mod plan_files;
mod progress;
mod recover;
mod trash;
mod undo;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use crate::env::{Background, TestEnv};

/// The files below a folder, the trash included.
fn all_files(env: &TestEnv, folder: &str) -> Vec<PathBuf> {
    let walk = walkdir::WalkDir::new(env.path(folder)).sort_by_file_name();
    walk.into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .collect()
}

/// What a folder holds, but for trash folders: paths and contents.
fn contents(env: &TestEnv, folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    all_files(env, folder)
        .into_iter()
        .filter(|path| !path.to_string_lossy().contains(".dupescan-trash-"))
        .map(|path| (path.clone(), std::fs::read(env.path(&path)).unwrap()))
        .collect()
}

/// The names of a folder's files, sorted, but for trash folders.
fn names(env: &TestEnv, folder: &str) -> Vec<String> {
    let top = env.path("");
    let paths = contents(env, folder).into_keys();
    paths
        .map(|path| {
            let below = path.strip_prefix(&top).unwrap_or(&path);
            below.display().to_string()
        })
        .collect()
}

/// Files `a/1` to `a/N` with their copies in `b`, scanned.
fn pairs(number: usize) -> TestEnv {
    let env = TestEnv::new();
    for at in 1..=number {
        env.random(format!("tree/a/{at}"), at as u64, 3_000 + at);
        env.copy(format!("tree/a/{at}"), format!("tree/b/{at}"));
    }
    env.settle_clock();
    env.run("scan tree").ok();
    env
}

/// A command under strace, which tampers with system calls as `inject` says.
/// `None` where there is no strace.
fn injected(env: &TestEnv, inject: &str, line: &str) -> Option<Command> {
    let calls = inject.split(':').next().unwrap_or_default();
    let mut can = Command::new("strace");
    let can = can.args(["-o", "/dev/null", "true"]).status();
    if !can.is_ok_and(|status| status.success()) {
        return None;
    }
    let mut command = env.bare_command("strace");
    command
        .args(["-f", "-qq", "-o", "/dev/null", "-e"])
        .arg(format!("trace={calls}"))
        .arg("-e")
        .arg(format!("inject={inject}"))
        .arg(env!("CARGO_BIN_EXE_dupescan"))
        .arg("--db")
        .arg(env.db())
        .args(line.split_whitespace());
    Some(command)
}

/// Starts a command that waits for two seconds before each of these calls, and
/// comes back once it does so. `None` where there is no strace.
fn delayed(env: &TestEnv, calls: &str, line: &str) -> Option<Background> {
    let command = injected(env, &format!("{calls}:delay_enter=2000000"), line)?;
    let started = Background::start(command);
    std::thread::sleep(std::time::Duration::from_millis(1_200));
    Some(started)
}
