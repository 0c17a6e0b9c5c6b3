//! A device that fails every read: the scan stops, nothing is removed, no
//! flood of errors is kept, and a resume goes on once it is back.

use crate::env::{TestEnv, skip};
use crate::oracle;
use crate::run::Run;

const FILES: usize = 60;

/// Pairs of equal files, all of one size, so that every one is opened.
fn tree() -> TestEnv {
    let env = TestEnv::new();
    for number in 0..FILES {
        env.random(format!("disk/{number}"), number as u64 / 2, 20_000);
    }
    env
}

/// A scan in which every read below `disk` fails.
fn scan_failing_disk(env: &TestEnv, line: &str) -> Option<Run> {
    let mut traced = env.bare_command("strace");
    traced
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=pread64"])
        .args(["-e", "inject=pread64:error=EIO"]);
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
fn a_device_that_keeps_failing_stops_its_scan_and_can_go_on() {
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
fn roots_on_other_devices_go_on() {
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
