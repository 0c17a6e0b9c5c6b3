//! Upgrades, tried with a made-up second version, and what is refused.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::*;
use crate::catalog::store::{Exclusive, ReadOnly};
use crate::model::{Algorithm, FaultClass, Step as FaultStep};

/// A program of tomorrow.
const NEXT: Schema = Schema {
    steps: &[first, second],
    sums: &[FIRST],
};
/// The same, but its second step fails after it has changed something.
const FAILING: Schema = Schema {
    steps: &[first, failing_second],
    sums: &[FIRST],
};
/// The same, but its second step kills the program.
const KILLED: Schema = Schema {
    steps: &[first, killed_second],
    sums: &[FIRST],
};

fn second(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "ALTER TABLE files ADD COLUMN colour TEXT;
         UPDATE files SET probe = NULL WHERE size = 10;
         UPDATE catalog SET unsettled = 1",
    )
}

fn failing_second(connection: &Connection) -> rusqlite::Result<()> {
    second(connection)?;
    connection.execute_batch("UPDATE no_such_table SET x = 1")
}

fn killed_second(connection: &Connection) -> rusqlite::Result<()> {
    second(connection)?;
    // Small enough a cache makes SQLite write pages before the commit.
    connection.pragma_update(None, "cache_size", 1)?;
    connection.execute_batch("UPDATE files SET allocated = allocated + 1")?;
    std::process::abort()
}

/// A catalog of version 1 with a few hundred files.
fn old() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog.db");
    let catalog = Exclusive::open_or_create(&path, "scan", Algorithm::Sha256).unwrap();
    catalog
        .connection
        .execute_batch(
            "INSERT INTO volumes (id, identity, fstype, stable_inodes, last_seen)
                 VALUES (1, 'v', 'ext4', 1, 0);
             INSERT INTO roots (id, path, volume, folders, files, bytes, created_at)
                 VALUES (1, x'2f61', 1, 1, 400, 4000, 0);
             INSERT INTO folders (id, root, name, volume, first_scan) VALUES (1, 1, x'', 1, 1);
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
             INSERT INTO files (folder, name, size, allocated, mtime_ns, ctime_ns, ino, nlink,
                                first_scan, digest)
             SELECT 1, CAST(printf('%0200d', i) AS BLOB), 10, 0, 0, 0, i, 1, 1, randomblob(32)
               FROM n",
        )
        .unwrap();
    drop(catalog);
    (folder, path)
}

fn version(path: &Path) -> i32 {
    let connection = Connection::open(path).unwrap();
    NEXT.version_of(&connection).unwrap()
}

#[test]
fn an_older_catalog_is_brought_up_to_date_and_only_then_read() {
    let (_folder, path) = old();
    let error = ReadOnly::open_as(&path, &NEXT).err().unwrap().to_string();
    assert!(error.contains("schema version 1"), "{error}");
    drop(Exclusive::open_as(&path, "scan", &NEXT).unwrap());
    assert_eq!(version(&path), 2);
    let reader = ReadOnly::open_as(&path, &NEXT).unwrap();
    let colours = "SELECT count(*) FROM files WHERE colour IS NULL AND digest IS NOT NULL";
    let files: i64 = reader
        .connection
        .query_row(colours, [], |row| row.get(0))
        .unwrap();
    assert_eq!(files, 400, "what was known stays");
}

#[test]
fn a_step_that_fails_changes_nothing() {
    let (_folder, path) = old();
    let before = std::fs::read(&path).unwrap();
    assert!(Exclusive::open_as(&path, "scan", &FAILING).is_err());
    assert_eq!(version(&path), 1);
    assert!(std::fs::read(&path).unwrap() == before);
    assert_eq!(ReadOnly::open(&path).unwrap().verify().unwrap(), []);
}

const KILLED_HERE: &str = "DUPESCAN_TEST_KILLED_UPGRADE";

/// Runs itself once more as the program that is killed.
#[test]
fn a_kill_in_the_middle_of_an_upgrade_leaves_the_old_version() {
    if let Some(path) = std::env::var_os(KILLED_HERE) {
        let _catalog = Exclusive::open_as(Path::new(&path), "scan", &KILLED);
        unreachable!("the second step ends the program");
    }
    let (_folder, path) = old();
    let name = "a_kill_in_the_middle_of_an_upgrade_leaves_the_old_version";
    let killed = Command::new(std::env::current_exe().unwrap())
        .args([name, "--test-threads=1"])
        .env(KILLED_HERE, &path)
        .output()
        .unwrap();
    assert!(!killed.status.success());
    assert_eq!(killed.status.code(), None, "{killed:?}");
    assert_eq!(version(&path), 1);
    assert_eq!(ReadOnly::open(&path).unwrap().verify().unwrap(), []);
    drop(Exclusive::open_as(&path, "scan", &NEXT).unwrap());
    assert_eq!(version(&path), 2);
}

#[test]
fn a_newer_catalog_is_refused_and_stays_byte_identical() {
    let (_folder, path) = old();
    drop(Exclusive::open_as(&path, "scan", &NEXT).unwrap());
    let before = std::fs::read(&path).unwrap();
    let error = Exclusive::open(&path, "scan").err().unwrap().to_string();
    assert!(error.contains("newer dupescan"), "{error}");
    assert!(ReadOnly::open(&path).is_err());
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn an_unreleased_catalog_is_refused_with_one_sentence() {
    let (_folder, path) = old();
    let connection = Connection::open(&path).unwrap();
    for version in [1, 9] {
        connection
            .pragma_update(None, "application_id", UNRELEASED_ID)
            .unwrap();
        connection
            .pragma_update(None, "user_version", version)
            .unwrap();
        for error in [
            Exclusive::open(&path, "scan").err(),
            ReadOnly::open(&path).err(),
        ] {
            let error = error.unwrap().to_string();
            assert!(error.contains("scan again into a new catalog"), "{error}");
        }
    }
}

#[test]
fn the_schema_leaves_no_name_in_braces() {
    let sql = first_sql();
    assert!(!sql.contains('{'), "{sql}");
}

#[test]
fn a_released_step_never_changes() {
    let made = Connection::open_in_memory().unwrap();
    for (step, expected) in SCHEMA.steps.iter().zip(SCHEMA.sums) {
        step(&made).unwrap();
        assert_eq!(sum(&made).unwrap(), *expected);
    }
    assert_eq!(SCHEMA.sums.len(), SCHEMA.steps.len());
}

#[test]
fn every_word_that_is_written_is_accepted_and_no_other() {
    let (_folder, path) = old();
    let catalog = Exclusive::open(&path, "scan").unwrap();
    let insert = |step: &str, class: &str| {
        let sql = "INSERT OR REPLACE INTO faults (root, folder, name, scan, step, class, attempts,
                                                  first_at, last_at, message, hint)
                   VALUES (1, 1, x'61', 1, ?1, ?2, 1, 0, 0, '', '')";
        catalog.connection.execute(sql, [step, class])
    };
    for step in FaultStep::ALL {
        for class in FaultClass::ALL {
            insert(step.name(), class.name()).unwrap();
            assert_eq!(catalog.reader().unwrap().verify().unwrap(), []);
        }
    }
    assert!(insert("odd", "permanent").is_err());
    assert!(insert("read", "odd").is_err());
}
