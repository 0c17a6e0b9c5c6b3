//! `dupescan resume`: whatever stops a scan, in whatever stage, the answer in
//! the end is that of a scan that was not stopped.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::env::{TestEnv, noise, skip};
use crate::oracle;
use crate::report_json::{self, expected};

/// Slow enough to be hit anywhere, and saved in small steps.
const SLOW: &str = "--workers 2 --batch-rows 25 --batch-time 2ms";

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
        group.as_object_mut().unwrap().remove("verified");
    }
    groups
}

/// The number of scans that are not finished; 0 when there is no catalog yet.
fn unfinished(env: &TestEnv) -> i64 {
    peek(
        env,
        "SELECT count(*) FROM scans WHERE state IN ('running', 'interrupted')",
    )
    .unwrap_or(0)
}

/// A value from a catalog that may just be coming into being.
fn peek<T: rusqlite::types::FromSql>(env: &TestEnv, query: &str) -> Option<T> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = rusqlite::Connection::open_with_flags(env.db(), flags).ok()?;
    connection.query_row(query, [], |row| row.get(0)).ok()
}

fn stage(env: &TestEnv) -> Option<String> {
    peek(
        env,
        "SELECT stage FROM scans WHERE state <> 'complete' ORDER BY id DESC LIMIT 1",
    )
}

/// Finishes what was stopped: `resume`, or `scan` when it was stopped before
/// there was anything to resume.
fn go_on(env: &TestEnv) {
    if unfinished(env) > 0 {
        env.run("resume").ok();
    } else if !env.db().exists() || peek::<i64>(env, "SELECT count(*) FROM scans") != Some(1) {
        env.run("scan tree").ok();
    }
    assert_eq!(unfinished(env), 0);
}

/// The bandwidth at which the whole scan takes more than half a second, and how long
/// it takes.
fn calibrated(env: &TestEnv) -> (&'static str, Duration) {
    let line = "scan tree --workers 2 --batch-rows 25 --batch-time 2ms --bwlimit 6M";
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
        go_on(&env);
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
        go_on(env);
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
            go_on(&env);
            assert_eq!(answer(&env), truth, "{wanted}, {signal:?}");
        }
    }
}

/// A scan stopped while it hashes, with some digests committed; their paths.
fn stopped_with_digests(env: &TestEnv, line: &str) -> BTreeSet<PathBuf> {
    let large = "SELECT count(*) FROM live_files WHERE digest <> '' AND size > 100000";
    let mut scan = env.start(line);
    let some = || peek::<i64>(env, large).is_some_and(|count| count > 3);
    assert!(scan.wait_until(some), "the scan ended first");
    scan.signal(Signal::INT);
    scan.wait().code(130);
    let paths: String = env
        .sql("SELECT group_concat(path, char(10)) FROM live_files WHERE digest <> '' AND size > 0");
    assert_eq!(unfinished(env), 1);
    paths.lines().map(PathBuf::from).collect()
}

const HASHING: &str = "scan tree --workers 1 --batch-rows 1 --batch-time 1ms --bwlimit 2M";

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
fn a_resumed_scan_counts_every_file_once() {
    let env = tree();
    stopped_with_digests(&env, HASHING);
    // 60 folders with 10 files each, and the large ones.
    env.run("resume").ok().says("Scanned 624 files");
    assert_eq!(env.last_scan("files"), 624);
}

#[test]
fn restart_lists_afresh_and_keeps_digests() {
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
fn scan_goes_on_with_an_unfinished_scan_by_itself() {
    let env = tree();
    stopped_with_digests(&env, HASHING);
    env.run("scan tree").ok();
    assert_eq!(unfinished(&env), 0);
    assert_eq!(
        env.sql::<i64>("SELECT count(*) FROM scans"),
        1,
        "the same scan went on"
    );
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn resume_keeps_the_options_of_the_scan() {
    let env = tree();
    env.file("tree/left-out/a", "x")
        .file("tree/left-out/b", "x");
    stopped_with_digests(&env, &format!("{HASHING} --exclude left-out --hash blake3"));
    env.run("resume").ok();
    let report = env.report("");
    assert_eq!(report["groups"][0]["algorithm"], "blake3");
    let found = report_json::groups(&report, &env.path(""));
    assert!(
        !found
            .iter()
            .flatten()
            .any(|path| path.starts_with("tree/left-out"))
    );
    env.remove("tree/left-out");
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
        || peek::<i64>(&env, "SELECT count(*) FROM scans WHERE state = 'running'") == Some(1);
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
fn nothing_to_resume_is_said_and_fine() {
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
        report["totals"]["undetermined"].as_u64() > Some(0),
        "{}",
        report["totals"]
    );
    let truth = oracle::groups(&env.path(""), &["tree"]);
    for group in report_json::groups(&report, &env.path("")) {
        let whole = truth.iter().find(|whole| group.is_subset(whole));
        assert!(whole.is_some(), "{group:?} are no duplicates");
    }
    env.run("resume").ok();
    assert_eq!(env.report("")["totals"]["undetermined"], 0);
}

#[test]
fn an_old_unfinished_scan_is_listed_afresh() {
    let env = tree();
    stopped_with_digests(&env, HASHING);
    let connection = rusqlite::Connection::open(env.db()).unwrap();
    connection
        .execute_batch(
            "UPDATE scans SET started_at = started_at - 200000, updated_at = updated_at - 200000",
        )
        .unwrap();
    drop(connection);
    env.run("resume").ok().mentions("afresh");
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}

/// A little more than the size from which on states are kept.
const LARGE: u64 = (4 << 20) + 100_000;

/// Two equal large files, and one that differs from them in its last third.
fn large_tree() -> TestEnv {
    let env = TestEnv::new();
    for name in ["tree/a", "tree/b", "tree/c"] {
        env.random(name, 1, usize::try_from(LARGE).unwrap());
    }
    env.write_at("tree/c", LARGE * 2 / 3, "y").settle_clock();
    env
}

fn stop_inside(env: &TestEnv, signal: Signal) {
    stop_inside_of(env, 3, signal);
}

/// Stops a scan when so many files were read for the most part.
fn stop_inside_of(env: &TestEnv, files: usize, signal: Signal) {
    let mut scan = env.start("scan tree --bwlimit 4M");
    let saved = &format!("SELECT min(offset) FROM hash_states HAVING count(*) = {files}");
    let far = i64::try_from(LARGE / 4).unwrap();
    let came_far = scan.wait_until(|| peek::<i64>(env, saved).is_some_and(|least| least > far));
    assert!(came_far, "the scan was over before it could be stopped");
    scan.signal(signal);
    scan.wait();
}

#[test]
fn a_large_file_is_gone_on_with_from_where_it_was() {
    let env = large_tree();
    for signal in [Signal::KILL, Signal::INT] {
        env.use_db(&format!("data/{}.db", signal.as_raw()));
        stop_inside(&env, signal);
        let kept: i64 = env.sql("SELECT sum(offset) FROM hash_states");
        let settled: i64 =
            env.sql("SELECT coalesce(sum(size), 0) FROM files WHERE settled_in IS NOT NULL");
        let status = env.run("status --format json").ok().json();
        let progress = &status["unfinished"][0]["progress"];
        assert_eq!(progress["done"], kept + settled, "{status}");
        assert_eq!(progress["total"], 3 * LARGE);
        let before = env.last_scan("bytes_read");
        env.run("resume").ok();
        let read = u64::try_from(env.last_scan("bytes_read") - before).unwrap();
        // All three files to the end, less what was kept.
        let missing = 3 * LARGE - u64::try_from(kept).unwrap();
        assert!(read <= missing, "{read} bytes read, {missing} were missing");
        let groups = &env.report("")["groups"];
        assert_eq!(groups.as_array().unwrap().len(), 1);
        assert_eq!(groups[0]["copies"], 2);
        let left: i64 = env.sql("SELECT count(*) FROM hash_states");
        assert_eq!(left, 0);
        if signal == Signal::KILL {
            let resumed = groups[0]["digest"].clone();
            env.run("scan tree --rehash").ok();
            assert_eq!(env.report("")["groups"][0]["digest"], resumed);
        }
    }
}

/// The large tree with files that differ from all others early.
fn large_tree_with_near_copies() -> TestEnv {
    let env = large_tree();
    for name in ["1", "2", "3", "4", "5", "6"] {
        let near = format!("tree/near-{name}");
        env.copy("tree/a", &near).write_at(&near, 100_000, name);
    }
    env.settle_clock();
    env
}

/// Goes on, and says how many bytes were read.
fn resumed(env: &TestEnv) -> u64 {
    let before = env.last_scan("bytes_read");
    env.run("resume").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM hash_states"), 0);
    u64::try_from(env.last_scan("bytes_read") - before).unwrap()
}

#[test]
fn files_that_were_found_different_are_not_read_to_their_end_by_a_resume() {
    let env = large_tree_with_near_copies();
    stop_inside_of(&env, 3, Signal::KILL);
    let read = resumed(&env);
    assert!(read < 4 * LARGE, "{read} bytes read again");
    let count = |condition: &str| -> i64 {
        env.sql(&format!("SELECT count(*) FROM files WHERE {condition}"))
    };
    assert_eq!(count("digest IS NOT NULL"), 2);
    assert_eq!(count("settled_in IS NOT NULL"), 7);
}

#[test]
fn a_file_that_came_since_the_stop_is_compared_with_all_that_were_told_apart() {
    let env = large_tree_with_near_copies();
    stop_inside_of(&env, 3, Signal::KILL);
    env.copy("tree/near-1", "tree/new").settle_clock();
    let read = resumed(&env);
    assert_eq!(env.report("")["groups"].as_array().unwrap().len(), 2);
    assert!(read < 6 * LARGE, "{read} bytes read");
}

#[test]
fn a_stop_between_the_ends_of_equal_files_loses_none_of_them() {
    // Of these, some are done and some not begun when the first state is saved.
    let env = TestEnv::new();
    for pair in 0..16_u8 {
        let mut content = noise(1, 4 << 20);
        content[9_000] = pair;
        env.file(format!("tree/{pair}-a"), &content)
            .file(format!("tree/{pair}-b"), &content);
    }
    env.settle_clock();
    let mut scan = env.start("scan tree --hash sha512 --batch-time 2ms");
    let saved = "SELECT count(*) FROM hash_states";
    scan.wait_until(|| peek::<i64>(&env, saved).is_some_and(|states| states > 0));
    scan.signal(Signal::KILL);
    scan.wait();
    env.run("resume").ok();
    assert_eq!(env.groups().len(), 16);
}

#[test]
fn a_settled_file_whose_state_was_forgotten_is_compared() {
    let env = TestEnv::new();
    let size = usize::try_from(LARGE).unwrap();
    env.random("tree/a", 1, size)
        .random("tree/near", 1, size)
        .write_at("tree/near", 100_000, "n")
        .settle_clock();
    env.run("scan tree").ok();
    env.copy("tree/a", "tree/c").settle_clock();
    stop_inside_of(&env, 2, Signal::KILL);
    env.run("scan tree --mode folders").ok();
    env.run("scan tree").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    assert_eq!(env.groups().len(), 1);
}

#[test]
fn a_large_file_is_known_by_any_of_its_names() {
    let env = TestEnv::new();
    let size = usize::try_from(LARGE).unwrap();
    env.random("tree/x/a", 1, size)
        .random("tree/y/b", 1, size)
        .hard_link("tree/x/a", "tree/z/link")
        .settle_clock();
    stop_inside_of(&env, 2, Signal::KILL);
    // A first scan knows its names in the order in which it met them.
    let renamed = "UPDATE hash_states SET (folder, name) = (
        SELECT folder, name FROM files WHERE name = CAST('link' AS BLOB))
         WHERE name <> CAST('b' AS BLOB)";
    let db = rusqlite::Connection::open(env.db()).unwrap();
    assert_eq!(db.execute(renamed, []).unwrap(), 1);
    drop(db);
    let kept: i64 = env.sql("SELECT sum(offset) FROM hash_states");
    let before = env.last_scan("bytes_read");
    env.run("resume").ok();
    let read = env.last_scan("bytes_read") - before;
    let missing = i64::try_from(2 * LARGE).unwrap() - kept;
    assert!(read <= missing, "{read} bytes read, {missing} were missing");
    assert_eq!(env.report("")["groups"][0]["verified"], true);
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM hash_states"), 0);
}

#[test]
fn states_of_another_algorithm_or_before_a_rehash_do_not_count() {
    let env = large_tree();
    stop_inside(&env, Signal::KILL);
    let done = || {
        let status = env.run("status --format json").ok().json();
        status["unfinished"][0]["progress"]["done"]
            .as_i64()
            .unwrap()
    };
    assert!(done() > 0);
    let db = rusqlite::Connection::open(env.db()).unwrap();
    db.execute("UPDATE hash_states SET algorithm = 'sha512'", [])
        .unwrap();
    assert_eq!(done(), 0);
    db.execute("UPDATE hash_states SET algorithm = 'sha256'", [])
        .unwrap();
    drop(db);
    env.run("scan tree --rehash").ok();
    let whole = i64::try_from(2 * LARGE).unwrap();
    assert!(
        env.last_scan("bytes_read") > whole,
        "of two files, from the start"
    );
}

#[test]
fn a_large_file_that_changed_since_the_stop_is_read_from_its_start() {
    let env = large_tree();
    stop_inside(&env, Signal::KILL);
    // Within what was read already, with the old time put back.
    env.flip_secretly("tree/b", 1_000_000);
    env.run("resume").ok();
    assert_eq!(env.report("")["groups"].as_array().unwrap().len(), 0);
}
