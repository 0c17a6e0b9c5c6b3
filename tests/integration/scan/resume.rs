//! `dupescan resume`: whatever stops a scan, in whatever stage, the answer in
//! the end is that of a scan that was not stopped.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::env::oracle;
use crate::env::report_json::{self, expected};
use crate::env::{TestEnv, noise, skip};

/// Slow enough to be hit anywhere, and saved in small steps.
const SLOW: &str = "--threads 2 --batch-rows 25 --batch-time 2ms";

/// Folders to list, small files to probe, larger ones with equal heads and
/// tails to read whole.
fn tree() -> TestEnv {
    let env = TestEnv::new();
    for folder in 0..60 {
        for number in 0..10 {
            // Of each length one file is read after the listing, when another
            // one has turned up.
            let content = (folder * 10 + number) / 3;
            let content = format!("{content:>0$}", 30 + content);
            env.file(format!("tree/{folder}/sub/{number}"), content);
        }
    }
    for number in 0..24_u64 {
        let name = format!("tree/large/{number}");
        env.random(&name, number / 8, 150_000)
            .flip(&name, 60_000 + number % 4);
    }
    env
}

/// What must not depend on how often a scan was stopped.
fn answer(env: &TestEnv) -> Vec<Value> {
    let mut groups = env.report("")["groups"].as_array().unwrap().clone();
    for group in &mut groups {
        // Whether copies were compared or hashed may depend on it.
        group.as_object_mut().unwrap().remove("comparison");
    }
    groups
}

/// The number of scans that are not finished; 0 when there is no catalog yet.
fn unfinished(env: &TestEnv) -> i64 {
    env.peek("SELECT count(*) FROM scans WHERE state IN ('running', 'interrupted')")
        .unwrap_or(0)
}

fn stage(env: &TestEnv) -> Option<String> {
    env.peek("SELECT stage FROM scans WHERE state <> 'complete' ORDER BY id DESC LIMIT 1")
}

/// Finishes what was stopped: `resume`, or `scan` when it was stopped before
/// there was anything to resume.
fn resume(env: &TestEnv) {
    if unfinished(env) > 0 {
        env.run("resume").ok();
    } else if !env.db().exists() || env.peek::<i64>("SELECT count(*) FROM scans") != Some(1) {
        env.run("scan tree --hash blake3").ok();
    }
    assert_eq!(unfinished(env), 0);
}

/// The bandwidth at which the whole scan takes more than half a second, and how long
/// it takes. The hash does not matter here, and that of a dependency is
/// optimised in debug builds too: SHA-256 would take nearly all of the time.
fn calibrated(env: &TestEnv) -> (&'static str, Duration) {
    let line = "scan tree --hash blake3 --threads 2 --batch-rows 25 --batch-time 2ms --bwlimit 6M";
    env.use_db("data/whole.db");
    let whole = env.run(line).ok().elapsed;
    (line, whole)
}

/// The digests that another process can see, by folder and name; none where
/// there is no catalog yet.
fn digests(env: &TestEnv) -> BTreeSet<(i64, Vec<u8>, Vec<u8>)> {
    let read = || -> rusqlite::Result<BTreeSet<_>> {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = rusqlite::Connection::open_with_flags(env.db(), flags)?;
        let mut rows = connection
            .prepare("SELECT folder, name, digest FROM files WHERE digest IS NOT NULL")?;
        let found = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        found.collect()
    };
    read().unwrap_or_default()
}

/// Stops scans at seeded moments, until so many were stopped before their
/// end. Nothing committed may get lost, and each must give the answer when it
/// is resumed.
fn stop_and_resume(signal: Signal, seed: u64, times: usize) {
    let env = tree();
    let (line, whole) = calibrated(&env);
    let truth = answer(&env);
    assert!(truth.len() > 200);
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    let mut stopped = 0;
    for (number, byte) in noise(seed, 2 * times).into_iter().enumerate() {
        env.use_db(&format!("data/{number}.db"));
        let moment = whole * u32::from(byte) / 256;
        let context = format!("seed {seed}, stop {number} at {moment:?}");
        let mut scan = env.start(line);
        std::thread::sleep(moment);
        scan.signal(signal);
        let run = scan.wait();
        match (signal, run.exit) {
            (_, Some(0)) => {}
            // Before it listens for signals there is no catalog.
            (Signal::INT, None) if !env.db().exists() => {}
            (Signal::INT, Some(130)) | (Signal::KILL, None) => stopped += 1,
            _ => panic!("{context}: {}", run.describe()),
        }
        let committed = digests(&env);
        if !committed.is_empty() {
            env.run("verify").ok();
        }
        // A second stop, at once.
        if number % 3 == 0 && unfinished(&env) > 0 {
            let mut resume = env.start(&format!("resume {SLOW}"));
            std::thread::sleep(moment / 4);
            resume.signal(signal);
            resume.wait();
        }
        resume(&env);
        assert!(digests(&env).is_superset(&committed), "{context}");
        assert_eq!(answer(&env), truth, "{context}");
        env.run("verify").ok();
        if stopped == times {
            return;
        }
    }
    panic!("only {stopped} of {} scans were stopped in time", 2 * times);
}

#[test]
fn killed_scans_give_the_same_answer_1() {
    stop_and_resume(Signal::KILL, 1, 10);
}

#[test]
fn killed_scans_give_the_same_answer_2() {
    stop_and_resume(Signal::KILL, 2, 10);
}

#[test]
fn killed_scans_give_the_same_answer_3() {
    stop_and_resume(Signal::KILL, 4, 10);
}

#[test]
fn interrupted_scans_give_the_same_answer() {
    stop_and_resume(Signal::INT, 3, 10);
}

/// Starts scans until one is met in `wanted`, stops it there, and says so.
fn stop_in_stage(env: &TestEnv, line: &str, wanted: &str, signal: Signal) {
    for attempt in 0..10 {
        env.use_db(&format!("data/{wanted}-{}-{attempt}.db", signal.as_raw()));
        let mut scan = env.start(line);
        let met = scan.wait_until(|| stage(env).is_some_and(|stage| stage == wanted));
        scan.signal(signal);
        scan.wait();
        if met && unfinished(env) == 1 && stage(env).as_deref() == Some(wanted) {
            return;
        }
        resume(env);
    }
    panic!("no scan could be stopped in the stage {wanted}");
}

#[test]
fn every_stage_can_be_stopped() {
    let env = tree();
    let (line, _) = calibrated(&env);
    let truth = answer(&env);
    for wanted in ["list", "probe", "hash"] {
        for signal in [Signal::INT, Signal::KILL] {
            stop_in_stage(&env, line, wanted, signal);
            env.run("status").ok();
            resume(&env);
            assert_eq!(answer(&env), truth, "{wanted}, {signal:?}");
        }
    }
}

/// A scan stopped while it hashes, with some digests committed; their paths.
fn stopped_with_digests(env: &TestEnv, line: &str) -> BTreeSet<PathBuf> {
    let large = "SELECT count(*) FROM live_files WHERE digest <> '' AND size > 100000";
    let mut scan = env.start(line);
    let some = || env.peek::<i64>(large).is_some_and(|count| count > 3);
    assert!(scan.wait_until(some), "the scan ended first");
    scan.signal(Signal::INT);
    scan.wait().code(130);
    let paths: String = env
        .sql("SELECT group_concat(path, char(10)) FROM live_files WHERE digest <> '' AND size > 0");
    assert_eq!(unfinished(env), 1);
    paths.lines().map(PathBuf::from).collect()
}

const HASHING: &str =
    "scan tree --hash blake3 --threads 1 --batch-rows 1 --batch-time 1ms --bwlimit 2M";

#[test]
fn only_missing_work_is_done_again() {
    let env = tree();
    env.settle_clock();
    let digested = stopped_with_digests(&env, HASHING);
    let Some((run, opens)) = env.run_traced("resume") else {
        skip!("no strace to see what is read again");
    };
    run.ok();
    let opened = opens.files_below(&env.path("tree"));
    let again: Vec<_> = opened.intersection(&digested).collect();
    assert!(again.is_empty(), "read again: {again:?}");
    assert!(!opened.is_empty(), "something was left to do");
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn a_resumed_first_scan_reads_files_while_it_lists() {
    let env = TestEnv::new();
    for number in 0..1_000 {
        let content = format!("{:>1024}", number / 2);
        env.file(format!("tree/{}/{number}", number / 10), content);
    }
    let mut scan = env.start("scan tree --threads 2 --batch-rows 25 --batch-time 2ms --bwlimit 1M");
    let listed = || env.peek::<i64>("SELECT count(*) FROM files").unwrap_or(0);
    assert!(scan.wait_until(|| listed() > 50), "the scan ended first");
    scan.signal(Signal::KILL);
    scan.wait();
    assert!((50..900).contains(&listed()), "{}", listed());
    env.run("resume --log-file log -v").ok();
    let log = std::fs::read_to_string(env.path("log")).unwrap();
    let probe = log.lines().find(|line| line.contains("stage=\"probe\""));
    let left = probe.and_then(|line| line.split_once("files=")?.1.trim().parse().ok());
    assert!(left.is_some_and(|left: u64| left < 100), "{probe:?}");
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn a_resumed_scan_counts_every_file_once() {
    let env = tree();
    stopped_with_digests(&env, HASHING);
    // 60 folders with 10 files each, and the large ones.
    env.run("resume").ok().says("Scanned 624 files");
    assert_eq!(env.last_scan("files"), 624);
}

#[test]
fn restart_lists_again_and_keeps_digests() {
    let env = tree();
    env.settle_clock();
    let digested = stopped_with_digests(&env, HASHING);
    let Some((run, opens)) = env.run_traced("scan tree --restart") else {
        skip!("no strace to see what is read again");
    };
    run.ok();
    let opened = opens.files_below(&env.path("tree"));
    let again: Vec<_> = opened.intersection(&digested).collect();
    assert!(again.is_empty(), "read again: {again:?}");
    for folder in ["tree/0", "tree/59/sub"] {
        assert!(
            opens
                .log()
                .contains(&format!("<{}>", env.path(folder).display())),
            "{folder} was not listed"
        );
    }
    assert_eq!(unfinished(&env), 0);
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn scan_resumes_an_unfinished_scan_by_itself() {
    let env = tree();
    stopped_with_digests(&env, HASHING);
    env.run("scan tree").ok();
    assert_eq!(unfinished(&env), 0);
    assert_eq!(
        env.sql::<i64>("SELECT count(*) FROM scans"),
        1,
        "the same scan was resumed"
    );
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn resume_keeps_the_options_of_the_scan() {
    let env = tree();
    env.file("tree/excluded/a", "x")
        .file("tree/excluded/b", "x");
    stopped_with_digests(&env, &format!("{HASHING} --exclude excluded --hash blake3"));
    env.run("resume").ok();
    let report = env.report("");
    assert_eq!(report["groups"][0]["algorithm"], "blake3");
    let found = report_json::groups(&report, &env.path(""));
    assert!(
        !found
            .iter()
            .flatten()
            .any(|path| path.starts_with("tree/excluded"))
    );
    env.remove("tree/excluded");
    assert_eq!(found, oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn names_that_came_and_went_since_the_stop_are_seen() {
    let env = tree();
    stopped_with_digests(&env, HASHING);
    env.remove("tree/0/sub/0")
        .remove("tree/7")
        .remove("tree/large/3");
    env.file("tree/1/sub/new", "brand new")
        .file("tree/2/new-folder/new", "brand new");
    env.run("resume").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn a_folder_that_became_something_else_since_the_stop_is_no_error() {
    for what in ["file", "link", "nothing"] {
        let env = tree();
        stopped_with_digests(&env, HASHING);
        env.remove("tree/7/sub");
        match what {
            "file" => env.file("tree/7/sub", "small content number 1"),
            "link" => env.symlink("../8/sub", "tree/7/sub"),
            _ => &env,
        };
        let run = env.run("resume");
        let errors = env.run("errors").ok().out();
        assert_eq!(
            run.exit,
            Some(0),
            "it is a {what} now: {}\n{errors}",
            run.describe()
        );
        assert_eq!(
            env.groups(),
            oracle::groups(&env.path(""), &["tree"]),
            "{what}"
        );
    }
}

#[test]
fn every_interrupted_scan_is_resumed() {
    let env = tree();
    env.random("other/a", 77, 150_000)
        .copy("other/a", "other/b");
    stopped_with_digests(&env, HASHING);
    let mut scan = env.start("scan other --bwlimit 150k");
    let running =
        || env.peek::<i64>("SELECT count(*) FROM scans WHERE state = 'running'") == Some(1);
    assert!(scan.wait_until(running));
    std::thread::sleep(Duration::from_millis(50));
    scan.signal(Signal::INT);
    scan.wait().code(130);
    env.run("resume").ok();
    assert_eq!(unfinished(&env), 0);
    assert_eq!(
        env.groups(),
        oracle::groups(&env.path(""), &["tree", "other"])
    );
}

#[test]
fn nothing_to_resume_is_reported_and_fine() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("tree/b", "x");
    env.run("scan tree").ok();
    env.run("resume").ok();
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
}

#[test]
fn a_report_between_stop_and_resume_says_that_it_is_not_whole() {
    let env = tree();
    stopped_with_digests(&env, HASHING);
    let report = env.report("");
    assert!(
        report["totals"]["unchecked"].as_u64() > Some(0),
        "{}",
        report["totals"]
    );
    let truth = oracle::groups(&env.path(""), &["tree"]);
    for group in report_json::groups(&report, &env.path("")) {
        let whole = truth.iter().find(|whole| group.is_subset(whole));
        assert!(whole.is_some(), "{group:?} are no duplicates");
    }
    env.run("resume").ok();
    assert_eq!(env.report("")["totals"]["unchecked"], 0);
}

#[test]
fn an_old_unfinished_scan_is_listed_again() {
    let env = tree();
    stopped_with_digests(&env, HASHING);
    let connection = rusqlite::Connection::open(env.db()).unwrap();
    connection
        .execute_batch(
            "UPDATE scans SET started_at = started_at - 200000, updated_at = updated_at - 200000",
        )
        .unwrap();
    drop(connection);
    env.run("resume").ok().mentions("listing");
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}

/// Where folder times need not move, a resume lists again what it has listed.
/// An overlay stands for FUSE and FAT here, and the catalog gets the times that
/// the folder has after the change.
#[test]
fn folder_times_are_not_trusted_where_they_need_not_move() {
    let env = TestEnv::new();
    env.file("lower/sub/a", "content").settle_clock();
    let Some(run) = env.run_with_overlay("$DUPESCAN scan merged") else {
        skip!("mounting an overlay is not permitted");
    };
    run.ok();
    env.file("lower/sub/b", "content").settle_clock();
    env.freeze_folder_times("lower/sub", "merged/sub");
    let stop = "UPDATE scans SET state = 'interrupted', stage = 'list', finished_at = NULL";
    let db = rusqlite::Connection::open(env.db()).unwrap();
    assert_eq!(db.execute(stop, []).unwrap(), 1);
    drop(db);
    env.run_with_overlay("$DUPESCAN resume").unwrap().ok();
    assert_eq!(env.groups().len(), 1);
}

#[test]
fn progress_does_not_go_back_over_a_resume() {
    let env = TestEnv::new();
    for number in 0..24_u64 {
        env.random(format!("tree/{number}"), number / 2, 400_000);
    }
    env.settle_clock();
    let share = |env: &TestEnv| {
        let status = env.run("status --json").ok().json();
        let progress = &status["unfinished"][0]["progress"];
        progress["done"].as_f64().unwrap_or(0.0) / progress["total"].as_f64().unwrap_or(1.0)
    };
    let mut scan = env.start("scan tree --bwlimit 2M --threads 1 --progress none");
    assert!(scan.wait_until(|| stage(&env).as_deref() == Some("hash") && share(&env) > 0.3));
    scan.signal(Signal::INT);
    scan.wait().code(130);
    let before = share(&env);
    let again = "scan tree --bwlimit 2M --threads 1 --progress json --progress-interval 100ms";
    let run = env.run(again);
    let number = |line: &Value, name: &str| line[name].as_f64().unwrap_or(0.0);
    let first = run
        .err()
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|line| line["stage"] == "hash" && number(line, "bytes_to_hash") > 0.0)
        .expect("a line of progress while files are read");
    let read = number(&first, "bytes_hashed_before");
    let done = read + number(&first, "bytes_hashed");
    let share = done / (read + number(&first, "bytes_to_hash"));
    assert!(share >= before - 0.01, "{share} after {before}: {first}");
}
