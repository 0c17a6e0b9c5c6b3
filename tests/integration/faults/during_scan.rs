//! What goes wrong while a scan runs: files that change, vanish or cannot be
//! read, disks that are full, limits that are low.

use std::fs;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::env::oracle;
use crate::env::report_json::expected;
use crate::env::run::Run;
use crate::env::{Background, TestEnv, skip};

fn has_strace() -> bool {
    Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .status()
        .is_ok_and(|status| status.success())
}

/// A scan with an error injected into a system call on one file.
fn inject(env: &TestEnv, file: &str, fault: &str, line: &str) -> Run {
    env.finish(injecting(env, file, fault, line))
}

fn injecting(env: &TestEnv, file: &str, fault: &str, line: &str) -> Command {
    let mut command = env.bare_command("strace");
    command
        .args(["-f", "-qq", "-o", "/dev/null", "-P"])
        .arg(env.path(file))
        .args([
            "-e",
            "trace=read,pread64,getdents64,openat,newfstatat,fstat,statx",
            "-e",
        ])
        .arg(format!("inject={fault}"))
        .arg(env!("CARGO_BIN_EXE_dupescan"))
        .arg("--db")
        .arg(env.db())
        .args(line.split_whitespace());
    command
}

#[test]
fn a_read_error_is_a_dead_letter_never_a_digest() {
    if !has_strace() {
        skip!("no strace to make reads fail");
    }
    let env = TestEnv::new();
    env.random("tree/a", 1, 300_000)
        .copy("tree/a", "tree/b")
        .copy("tree/a", "tree/bad");
    let run = inject(
        &env,
        "tree/bad",
        "read,pread64:error=EIO:when=2+",
        "scan tree --backoff 10ms",
    );
    run.code(1).mentions(" errors");
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
    env.run("errors")
        .ok()
        .says(env.path("tree/bad").to_str().unwrap())
        .says("disk");
    let digest: Option<Vec<u8>> =
        env.sql("SELECT digest FROM files WHERE name = CAST('bad' AS BLOB)");
    assert_eq!(digest, None);
    // The disk recovers.
    env.run("retry").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    env.run("errors").ok().keeps_quiet_about("tree/bad");
}

#[test]
fn a_passing_read_error_is_tried_again() {
    if !has_strace() {
        skip!("no strace to make reads fail");
    }
    let env = TestEnv::new();
    env.random("tree/a", 1, 300_000).copy("tree/a", "tree/b");
    let run = inject(
        &env,
        "tree/b",
        "read,pread64:error=EIO:when=1..2",
        "scan tree --backoff 10ms",
    );
    run.ok();
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
    env.run("errors").ok().keeps_quiet_about("tree/b");
}

#[test]
fn errors_that_pass_are_tried_again_whatever_they_are() {
    if !has_strace() {
        skip!("no strace to make reads fail");
    }
    for errno in ["ESTALE", "EAGAIN", "EBUSY", "ETIMEDOUT"] {
        let env = TestEnv::new();
        env.random("tree/a", 1, 300_000).copy("tree/a", "tree/b");
        let fault = format!("pread64:error={errno}:when=1..2");
        // strace counts per thread.
        let line = "scan tree --backoff 10ms --threads 1";
        inject(&env, "tree/b", &fault, line).ok();
        assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]), "{errno}");
        // For good: a dead letter.
        let fault = format!("pread64:error={errno}");
        let line = "scan tree --rehash --retries 1 --backoff 10ms";
        inject(&env, "tree/b", &fault, line).code(1);
        env.run("errors")
            .ok()
            .says(env.path("tree/b").to_str().unwrap());
    }
}

#[test]
fn without_retries_the_first_error_counts() {
    if !has_strace() {
        skip!("no strace to make reads fail");
    }
    let env = TestEnv::new();
    env.random("tree/a", 1, 300_000).copy("tree/a", "tree/b");
    // One that fails while its folder is listed is left to its own attempt.
    inject(
        &env,
        "tree/b",
        "read,pread64:error=EIO:when=1..2",
        "scan tree --retries 0",
    )
    .code(1);
    env.run("errors")
        .ok()
        .says(env.path("tree/b").to_str().unwrap());
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
}

#[test]
fn files_that_change_under_the_scan_never_make_false_groups() {
    let env = TestEnv::new();
    for number in 0..40 {
        env.random(format!("tree/{number}"), number / 2, 100_000);
    }
    let mut scan = env.start("scan tree --bwlimit 2M --backoff 10ms");
    let mut turn = 0_u64;
    while scan.is_running() {
        turn += 1;
        let name = format!("tree/{}", turn % 40);
        match turn % 4 {
            0 => env.flip(&name, 50_000),
            1 => env.append(&name, "x"),
            2 => env.flip_secretly(&name, 100),
            _ => env.remove(&name).random(&name, turn, 100_000),
        };
        std::thread::sleep(Duration::from_millis(5));
    }
    let run = scan.wait();
    assert!(matches!(run.exit, Some(0 | 1)), "{}", run.describe());
    // At rest, the next scan has the truth.
    env.run("scan tree").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn files_that_vanish_under_the_scan_are_no_error() {
    let env = TestEnv::new();
    for number in 0..60 {
        env.random(format!("tree/{}/{number}", number % 3), number / 2, 70_000);
    }
    let mut scan = env.start("scan tree --bwlimit 1M --threads 1");
    let listed = || {
        env.db().exists()
            && env.run("status").exit == Some(0)
            && env.sql::<i64>("SELECT count(*) FROM files") == 60
    };
    assert!(scan.wait_until(listed));
    for number in (0..60).step_by(3) {
        env.remove(format!("tree/{}/{number}", number % 3));
    }
    scan.wait().ok();
    env.run("errors")
        .ok()
        .keeps_quiet_about(env.path("tree").to_str().unwrap());
    env.run("scan tree").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn a_full_disk_under_the_catalog_stops_cleanly_and_is_resumed() {
    let env = TestEnv::new();
    for number in 0..6_000 {
        env.file(
            format!("tree/{}/with-a-rather-long-name-{number}", number % 50),
            (number / 2).to_string(),
        );
    }
    let script = "mount -t tmpfs -o size=700k none data; $DUPESCAN scan tree && exit 50 || code=$?; \
                  mount -o remount,size=100m data; $DUPESCAN verify; $DUPESCAN resume; \
                  $DUPESCAN report --format json > report.json; $DUPESCAN verify; exit $code";
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    let run = run.code(3);
    let said = run.err();
    assert!(
        said.contains("full") || said.contains("space"),
        "{}",
        run.describe()
    );
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(env.path("report.json")).unwrap()).unwrap();
    let found = crate::env::report_json::groups(&report, &env.path(""));
    assert_eq!(found, oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn a_read_only_catalog_answers_but_is_not_scanned_into() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("tree/b", "x");
    env.run("scan tree").ok();
    let script = "mount --bind data data; mount -o remount,ro,bind data; \
                  $DUPESCAN report --format fdupes; $DUPESCAN status > /dev/null; \
                  $DUPESCAN scan tree && exit 50 || exit $?";
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    run.code(3)
        .says(env.path("tree/a").to_str().unwrap())
        .complains("Read-only");
}

#[test]
fn a_catalog_in_a_folder_without_write_permission_answers_but_is_not_scanned_into() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("tree/b", "x");
    env.run("scan tree").ok();
    let before = fs::read(env.db()).unwrap();
    env.remove("data/catalog.db.lock");
    env.chmod("data/catalog.db", 0o444).chmod("data", 0o555);
    let Some(run) = env.run_unprivileged("report --format fdupes") else {
        skip!("cannot give up the right to write everywhere");
    };
    run.ok().says(env.path("tree/a").to_str().unwrap());
    let message = env.run_unprivileged("scan tree").unwrap().refused(3);
    assert!(message.contains("catalog.db"), "{message}");
    assert_eq!(fs::read(env.db()).unwrap(), before);
    env.chmod("data", 0o755).chmod("data/catalog.db", 0o600);
}

#[test]
fn few_file_descriptors_are_enough() {
    let env = TestEnv::new();
    for number in 0..300 {
        env.random(
            format!("tree/{}/{number}", number % 20),
            number / 150,
            80_000,
        );
    }
    let script = format!(
        "ulimit -n 64; exec {} --db {} scan tree --threads 8",
        env!("CARGO_BIN_EXE_dupescan"),
        env.db().display()
    );
    let mut command = env.bare_command("bash");
    command.args(["-c", &script]);
    env.finish(command).ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn little_memory_is_one_sentence_never_an_abort() {
    let env = TestEnv::new();
    for number in 0..2_000 {
        let content = [b'x'; 1_000];
        env.file(
            format!("tree/{}/{number}", number % 100),
            &content[..100 + number % 900],
        );
    }
    let truth = oracle::groups(&env.path(""), &["tree"]);
    let mut refused = 0;
    for megabytes in (24..=160).step_by(12) {
        env.use_db(&format!("data/{megabytes}.db"));
        let script = format!(
            "ulimit -v {}; {program} --version >/dev/null || exit 127; \
             exec {program} --db {} scan tree",
            megabytes << 10,
            env.db().display(),
            program = env!("CARGO_BIN_EXE_dupescan"),
        );
        let mut command = env.bare_command("bash");
        command.args(["-c", &script]);
        let run = env.finish(command);
        match run.exit {
            Some(0) => break,
            // Not even the program itself could be loaded.
            Some(127) => continue,
            _ => refused += 1,
        }
        let run = run.code(3);
        let err = run.err();
        assert!(
            err.lines()
                .last()
                .is_some_and(|l| l.starts_with("dupescan: ")),
            "{err}"
        );
        assert!(!err.contains("panicked"), "{err}");
        // Refused if the catalog were damaged.
        env.run("scan tree").ok();
        assert_eq!(env.groups(), truth);
    }
    assert!(refused > 0, "no limit was too low");
}

#[test]
fn a_huge_sparse_file_can_be_interrupted() {
    let env = TestEnv::new();
    env.sparse("tree/a", 1 << 36).sparse("tree/b", 1 << 36);
    let mut scan = env.start("scan tree");
    assert!(scan.wait_until(|| env.db().exists() && env.run("status").out().contains("running")));
    std::thread::sleep(Duration::from_millis(100));
    let asked = std::time::Instant::now();
    scan.signal(Signal::INT);
    let run = scan.wait();
    assert!(matches!(run.exit, Some(0 | 130)), "{}", run.describe());
    assert!(
        asked.elapsed() < Duration::from_secs(5),
        "{}",
        run.describe()
    );
}

#[test]
fn a_folder_that_cannot_be_read_whole_takes_nothing_away() {
    if !has_strace() {
        skip!("no strace to make reads fail");
    }
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("tree/sub/b", "x")
        .file("tree/sub/c", "x");
    env.run("scan tree").ok();
    let before = env.groups();
    let fault = "getdents64:error=EIO:when=1+";
    inject(&env, "tree/sub", fault, "scan tree --backoff 10ms").code(1);
    assert_eq!(env.groups(), before);
    let deleted: i64 = env.sql("SELECT count(*) FROM files WHERE removed_in IS NOT NULL");
    assert_eq!(deleted, 0);
    env.run("errors")
        .ok()
        .says(env.path("tree/sub").to_str().unwrap());
    env.run("retry").ok();
    env.run("errors").ok().keeps_quiet_about("tree/sub");
    assert_eq!(env.groups(), before);
}

#[test]
fn a_catalog_that_cannot_be_written_ends_the_scan_in_time() {
    if !has_strace() {
        skip!("no strace to make writes fail");
    }
    for from in [3, 10, 25] {
        let env = TestEnv::new();
        for number in 0..200 {
            env.file(
                format!("tree/{}/{number}", number % 20),
                (number / 2).to_string(),
            );
        }
        let mut command = env.bare_command("timeout");
        command
            .args([
                "-s",
                "KILL",
                "20",
                "strace",
                "-f",
                "-qq",
                "-o",
                "/dev/null",
                "-P",
            ])
            .arg(env.path("data/catalog.db-wal"))
            .args(["-e", "trace=pwrite64", "-e"])
            .arg(format!("inject=pwrite64:error=EIO:when={from}+"))
            .arg(env!("CARGO_BIN_EXE_dupescan"))
            .arg("--db")
            .arg(env.db())
            .args(["scan", "tree", "--batch-rows", "5"]);
        let run = env.finish(command);
        assert_eq!(run.exit, Some(3), "from write {from}: {}", run.describe());
        let run = run.complains("catalog");
        assert!(run.elapsed < Duration::from_secs(10), "{}", run.describe());
        env.run("scan tree").ok();
        assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    }
}

#[test]
fn a_panic_in_a_worker_is_a_dead_letter_and_the_scan_continues() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 300_000)
        .copy("tree/a", "tree/b")
        .file("tree/sub/c", "x");
    let mut command = env.command(["scan", "tree"]);
    command.env("DUPESCAN_TEST_PANIC", "probe");
    env.finish(command).code(1).mentions(" errors");
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM files"), 3);
    env.run("errors")
        .ok()
        .says(env.path("tree/a").to_str().unwrap())
        .says("internal");
    env.run("retry").ok();
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
}

#[test]
fn a_file_that_hangs_takes_no_other_file_along() {
    if !has_strace() {
        skip!("no strace to make reads hang");
    }
    // In a batch of probes, and in a class that is read in step.
    for (size, from) in [(60_000, 1), (300_000, 3)] {
        let env = TestEnv::new();
        env.random("tree/a", 1, size)
            .copy("tree/a", "tree/b")
            .copy("tree/a", "tree/hangs")
            .copy("tree/a", "tree/z");
        let fault = format!("pread64:delay_enter=8s:when={from}+");
        inject(&env, "tree/hangs", &fault, "scan tree --item-timeout 1s").code(1);
        assert_eq!(
            env.groups(),
            expected(&[&["tree/a", "tree/b", "tree/z"]]),
            "{size}"
        );
        let listed: i64 = env.sql("SELECT count(*) FROM faults WHERE name = CAST('hangs' AS BLOB)");
        assert_eq!((listed, env.sql("SELECT count(*) FROM faults")), (1, 1));
    }
}

#[test]
fn a_scan_that_was_stopped_for_a_while_hangs_nowhere() {
    if !has_strace() {
        skip!("no strace to make a read slow");
    }
    let env = TestEnv::new();
    env.random("tree/a", 1, 300_000).copy("tree/a", "tree/slow");
    let fault = "pread64:delay_enter=7s:when=3";
    let line = "scan tree --threads 1 --item-timeout 4s --stall-warning 4s";
    let mut strace = Background::start(injecting(&env, "tree/slow", fault, line));
    let hashes = || env.db().exists() && env.run("status").out().contains("while reading");
    assert!(strace.wait_until(hashes));
    // Time for the slow read to begin. It has not ended when the scan continues,
    // but the scan was running for only two seconds of it.
    std::thread::sleep(Duration::from_secs(1));
    let scan = strace.child();
    rustix::process::kill_process(scan, Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_secs(5));
    rustix::process::kill_process(scan, Signal::CONT).unwrap();
    let run = strace.wait().ok().keeps_quiet_about("abandoned");
    assert!(run.elapsed > Duration::from_secs(7), "{}", run.describe());
    assert!(!run.err().contains("no progress"), "{}", run.describe());
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/slow"]]));
}

#[test]
fn a_dozen_bad_files_are_no_failing_device() {
    if !has_strace() {
        skip!("no strace to make reads fail");
    }
    let env = TestEnv::new();
    for number in 0..12 {
        env.random(format!("tree/good/{number}"), number / 2, 50_000)
            .random(format!("tree/bad/{number}"), number / 2, 50_000);
    }
    let mut command = env.bare_command("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=pread64"]);
    for number in 0..12 {
        command
            .arg("-P")
            .arg(env.path(format!("tree/bad/{number}")));
    }
    command
        .args(["-e", "inject=pread64:error=EIO"])
        .arg(env!("CARGO_BIN_EXE_dupescan"))
        .arg("--db")
        .arg(env.db())
        .args(["scan", "tree", "--backoff", "10ms"]);
    env.finish(command).code(1);
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM faults"), 12);
}

#[test]
fn a_large_folder_that_is_listed_twice_is_counted_once() {
    if !has_strace() {
        skip!("no strace to make a stat fail");
    }
    let env = TestEnv::new();
    env.folder("tree/d");
    for number in 0..10_500 {
        std::fs::File::create(env.path(format!("tree/d/{number:05}"))).unwrap();
    }
    // The first 10,000 were sent when this one fails.
    inject(
        &env,
        "tree/d/10400",
        "statx:error=EIO:when=1",
        "scan tree --backoff 1ms",
    )
    .ok();
    assert_eq!(env.sql::<i64>("SELECT files FROM roots"), 10_500);
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM files"), 10_500);
}
