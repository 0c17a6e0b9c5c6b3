//! A device that fails every read: the scan stops, nothing is deleted, no
//! flood of errors is kept, and a resume continues once it is back.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::env::oracle;
use crate::env::run::Run;
use crate::env::{TestEnv, skip};

const FILES: usize = 60;

/// Pairs of equal files, all of one size, so that every one is opened.
fn tree() -> TestEnv {
    tree_of(FILES)
}

fn tree_of(files: usize) -> TestEnv {
    let env = TestEnv::new();
    for number in 0..files {
        env.random(format!("disk/{number}"), number as u64 / 2, 60_000);
    }
    env
}

/// A scan in which every read below `disk` fails.
fn scan_failing_disk(env: &TestEnv, line: &str) -> Option<Run> {
    scan_failing(env, &[], line)
}

/// The same, where listing some other folders fails as well.
fn scan_failing(env: &TestEnv, folders: &[&Path], line: &str) -> Option<Run> {
    let mut traced = env.bare_command("strace");
    traced
        .args(["-f", "-qq", "-o", "/dev/null"])
        .args(["-e", "trace=pread64,getdents64"])
        .args(["-e", "inject=pread64,getdents64:error=EIO"]);
    for folder in folders {
        traced.arg("-P").arg(folder);
    }
    for number in 0..FILES {
        traced.arg("-P").arg(env.path(format!("disk/{number}")));
    }
    let program = env.command(line.split(' '));
    traced.arg(program.get_program()).args(program.get_args());
    let is_there = std::process::Command::new("strace")
        .arg("-V")
        .output()
        .is_ok();
    is_there.then(|| env.finish(traced))
}

#[test]
fn a_device_that_keeps_failing_stops_its_scan_and_can_be_resumed() {
    let env = tree();
    let Some(run) = scan_failing_disk(&env, "scan disk --backoff 10ms") else {
        skip!("no strace to inject errors with");
    };
    run.code(3).mentions("keeps failing");
    assert_eq!(
        env.sql::<i64>("SELECT count(*) FROM files WHERE removed_in IS NOT NULL"),
        0
    );
    assert!(env.sql::<i64>("SELECT count(*) FROM faults") < 20);
    let state: String = env.sql("SELECT state FROM scans");
    assert_eq!(state, "interrupted");
    env.run("resume").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["disk"]));
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM faults"), 0);
}

#[test]
fn roots_on_other_devices_are_still_scanned() {
    let env = tree();
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else {
        skip!("no second filesystem in /dev/shm");
    };
    for name in ["a", "b"] {
        std::fs::write(other.path().join(name), "same").unwrap();
    }
    let line = format!("scan disk {} --backoff 10ms", other.path().display());
    let Some(run) = scan_failing_disk(&env, &line) else {
        skip!("no strace to inject errors with");
    };
    run.code(3).mentions("keeps failing");
    let complete: Vec<u8> = env.sql(
        "SELECT roots.path FROM scans JOIN roots ON roots.id = scans.root
          WHERE scans.state = 'complete'",
    );
    assert_eq!(complete, other.path().as_os_str().as_encoded_bytes());
    assert_eq!(env.report("")["totals"]["groups"], 1);
}

#[test]
fn a_root_behind_one_whose_folders_cannot_be_listed_is_listed() {
    let env = TestEnv::new();
    env.file("sound/a", "same").file("sound/b", "same");
    // Before the other one in any order: as typed, and by path.
    let Ok(failing) = tempfile::tempdir_in("/dev/shm") else {
        skip!("no second filesystem in /dev/shm");
    };
    let folders = (0..FILES).map(|number| failing.path().join(number.to_string()));
    let folders: Vec<_> = folders.collect();
    for folder in &folders {
        std::fs::create_dir(folder).unwrap();
    }
    let folders: Vec<&Path> = folders.iter().map(|folder| &**folder).collect();
    let line = format!("scan {} sound --backoff 10ms", failing.path().display());
    let Some(run) = scan_failing(&env, &folders, &line) else {
        skip!("no strace to inject errors with");
    };
    run.code(3).mentions("keeps failing");
    let complete: Vec<u8> = env.sql(
        "SELECT roots.path FROM scans JOIN roots ON roots.id = scans.root
          WHERE scans.state = 'complete'",
    );
    assert_eq!(complete, env.path("sound").as_os_str().as_encoded_bytes());
    assert_eq!(env.report("")["totals"]["groups"], 1);
}

/// The topmost folder of the filesystem that a folder lies on.
fn mount_point(folder: &Path) -> &Path {
    let device = |path: &Path| path.metadata().unwrap().dev();
    let mut above = folder.ancestors();
    let top = above.find(|path| path.parent().is_none_or(|up| device(up) != device(folder)));
    top.unwrap()
}

#[test]
fn a_device_that_dies_near_the_end_is_given_up_too() {
    let env = tree_of(6);
    let disk = env.path("disk");
    let Some(run) = scan_failing(&env, &[mount_point(&disk)], "scan disk --backoff 10ms") else {
        skip!("no strace to inject errors with");
    };
    run.code(3).mentions("keeps failing");
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM faults"), 0);
    assert_eq!(env.sql::<String>("SELECT state FROM scans"), "interrupted");
    env.run("resume").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["disk"]));
}

#[test]
fn a_few_bad_files_at_the_end_of_a_device_that_answers_are_errors() {
    let env = tree_of(6);
    let Some(run) = scan_failing_disk(&env, "scan disk --backoff 10ms") else {
        skip!("no strace to inject errors with");
    };
    run.code(1);
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM faults"), 6);
    assert_eq!(env.sql::<String>("SELECT state FROM scans"), "complete");
    env.run("retry").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["disk"]));
}

/// What waits in the queue when the breaker opens would fail, or hang, as well.
#[test]
fn what_waits_for_a_failing_device_is_not_tried() {
    const FOLDERS: usize = 150;
    let env = TestEnv::new();
    let log = env.path("home/strace.log");
    let mut traced = env.bare_command("strace");
    traced.args(["-f", "-qq", "-o"]).arg(&log);
    // Slowly, so that the queue is full when the twentieth fails.
    traced.args(["-e", "trace=getdents64"]);
    traced.args(["-e", "inject=getdents64:error=EIO:delay_enter=20000"]);
    for number in 0..FOLDERS {
        let folder = format!("disk/{number}");
        env.folder(&folder);
        traced.arg("-P").arg(env.path(folder));
    }
    let program = env.command(["scan", "disk", "--threads", "1", "--backoff", "3s"]);
    traced.arg(program.get_program()).args(program.get_args());
    let is_there = std::process::Command::new("strace").arg("-V").output();
    if is_there.is_err() {
        skip!("no strace to inject errors with");
    }
    env.finish(traced).code(3).mentions("keeps failing");
    let log = std::fs::read_to_string(log).unwrap();
    let tried = log.lines().filter(|line| line.contains("INJECTED")).count();
    assert!((20..40).contains(&tried), "{tried} folders were tried");
}
