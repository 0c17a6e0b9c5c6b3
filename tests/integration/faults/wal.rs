//! The catalog's write-ahead log under a reader that does not leave.

use std::fs;
use std::time::Duration;

use crate::env::TestEnv;

/// Bytes of the log.
fn wal(env: &TestEnv) -> u64 {
    let mut path = env.db().into_os_string();
    path.push("-wal");
    fs::metadata(path).map_or(0, |wal| wal.len())
}

/// Another program that reads the catalog in one transaction.
struct Reader(rusqlite::Connection);

impl Reader {
    fn start(env: &TestEnv) -> Self {
        let connection = rusqlite::Connection::open(env.db()).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        connection.execute_batch("BEGIN").unwrap();
        let reader = Self(connection);
        reader.files();
        reader
    }

    fn files(&self) -> i64 {
        let files = "SELECT count(*) FROM files";
        self.0.query_row(files, [], |row| row.get(0)).unwrap()
    }

    fn leave(self) {
        self.0.execute_batch("COMMIT").unwrap();
    }
}

fn tree() -> TestEnv {
    let env = TestEnv::new();
    env.file("first/a", "x");
    for folder in 0..40 {
        for file in 0..25 {
            env.file(format!("tree/{folder}/{file}"), format!("{file}"));
        }
    }
    env.run("scan first").ok();
    env
}

#[test]
fn a_reader_that_stays_does_not_hold_up_a_scan() {
    let env = tree();
    let reader = Reader::start(&env);
    env.run("scan tree --batch-rows 25").ok();
    assert_eq!(reader.files(), 1, "the reader keeps its snapshot");
    assert!(wal(&env) > 0);
    let groups = env.groups();
    assert_eq!(groups.len(), 25);
    reader.leave();
    env.run("scan tree").ok();
    assert_eq!(wal(&env), 0);
    assert_eq!(env.groups(), groups);
}

#[test]
fn the_log_is_empty_after_a_scan_whose_reader_left() {
    let env = tree();
    env.random("tree/big", 1, 200_000)
        .copy("tree/big", "tree/big2");
    let reader = Reader::start(&env);
    let mut scan = env.start("scan tree --batch-rows 25 --bwlimit 200k -v --log-file data/log");
    let log = env.path("data/log");
    let is_hashing = || fs::read_to_string(&log).is_ok_and(|text| text.contains("stage=\"hash\""));
    assert!(scan.wait_until(is_hashing));
    let held = wal(&env);
    assert!(held > 0);
    reader.leave();
    scan.wait().ok();
    assert_eq!(wal(&env), 0);
}
