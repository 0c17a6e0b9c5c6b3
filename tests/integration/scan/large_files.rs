//! Resuming inside large files: what a stopped scan saved of them is used, and
//! nothing is missed because of it.

use rustix::process::Signal;

use crate::env::oracle;
use crate::env::{TestEnv, noise};

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
    let came_far = scan.wait_until(|| env.peek::<i64>(saved).is_some_and(|least| least > far));
    assert!(came_far, "the scan was over before it could be stopped");
    scan.signal(signal);
    scan.wait();
}

#[test]
fn a_large_file_is_resumed_from_where_it_was() {
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
        // Longer than a byte, which the copy might have there anyway.
        let mark = format!("different {name}");
        env.copy("tree/a", &near).write_at(&near, 100_000, mark);
    }
    env.settle_clock();
    env
}

/// Resumes, and returns how many bytes were read.
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
    // One that is over before then shows nothing.
    scan.wait_until(|| env.peek::<i64>(saved).is_some_and(|states| states > 0));
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
    assert_eq!(env.report("")["groups"][0]["comparison"], "byte-for-byte");
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
