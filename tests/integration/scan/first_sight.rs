//! In a first scan that reads most files, they are opened when they are first
//! looked at. That must change nothing that a user could see, and must spare
//! the catalog itself.

use crate::env::{TestEnv, skip};

/// Files enough for a worker to expect that the next one is read, too.
const MANY: usize = 200;

/// A tree whose folder `tree/b` is listed when most files were read so far.
fn tree() -> TestEnv {
    let env = TestEnv::new();
    for number in 0..MANY {
        env.file(format!("tree/a/{number:03}"), format!("{number:08}"));
        env.file(format!("tree/b/{number:03}"), format!("{:08}", number + 1));
    }
    env.file("tree/b/alone", "of a size of its own");
    env
}

#[test]
fn files_are_opened_at_first_sight_but_never_the_catalog() {
    let env = tree();
    // A scan of nothing, so that there is a catalog and the next one is the first.
    env.use_db("tree/c/catalog.db").folder("nothing");
    env.run("scan nothing").ok();
    let Some((run, opens)) = env.run_traced("scan tree --threads 1") else {
        skip!("no strace to see what is opened");
    };
    run.ok();
    let log = opens.log();
    assert!(opens.tried("alone"), "nothing was opened ahead:\n{log}");
    // SQLite opens it by its whole path. Whoever else closed a handle of it
    // would drop SQLite's locks.
    assert!(!log.contains(", \"catalog.db"), "the catalog, too:\n{log}");
    let groups = env.groups();
    assert_eq!(groups.len(), MANY - 1);
    let stored: i64 = env.sql("SELECT count(*) FROM live_files");
    assert_eq!(stored, 2 * MANY as i64 + 1);
}

#[test]
fn what_cannot_be_opened_is_listed_and_reported() {
    let env = tree();
    env.file("tree/b/locked", "00000001")
        .chmod("tree/b/locked", 0o000);
    let Some(run) = env.run_unprivileged("scan tree --threads 1") else {
        skip!("no other user to run as");
    };
    run.code(1);
    let size: i64 = env.sql("SELECT size FROM live_files WHERE path LIKE '%/locked'");
    assert_eq!(size, 8);
    let faults: i64 = env.sql("SELECT count(*) FROM faults");
    assert_eq!(faults, 1);
}

#[test]
fn a_file_mounted_over_another_is_no_part_of_the_tree() {
    let env = tree();
    env.file("tree/b/covered", "what is below")
        .file("elsewhere", "00000001");
    let script = "mount --bind elsewhere tree/b/covered && $DUPESCAN scan tree --threads 1";
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    run.ok();
    let stored: i64 = env.sql("SELECT count(*) FROM live_files WHERE path LIKE '%/covered'");
    assert_eq!(stored, 0);
    assert_eq!(env.groups().len(), MANY - 1);
}

/// Sizes enough for a tree to count as large, so that small files are read
/// before a second one of their size is met.
const MANY_SIZES: usize = 700;

#[test]
fn small_files_of_a_large_tree_are_read_at_sight_and_grouped_alike() {
    let env = TestEnv::new();
    for length in 1..=MANY_SIZES {
        env.file(format!("tree/a/{length:03}"), "a".repeat(9_000 + length));
        env.file(format!("tree/b/{length:03}"), "b".repeat(length));
        let other = if length % 2 == 0 { "b" } else { "c" };
        env.file(format!("tree/c/{length:03}"), other.repeat(length));
    }
    env.file("tree/b/alone", "b".repeat(MANY_SIZES + 1));
    env.file("tree/b/locked", "b".repeat(MANY_SIZES + 2))
        .chmod("tree/b/locked", 0o000);
    let unprivileged = env.run_unprivileged("scan tree --threads 1");
    // One that nobody shares its size with need not be read: no error.
    unprivileged
        .unwrap_or_else(|| env.run("scan tree --threads 1"))
        .ok();
    let alone: i64 =
        env.sql("SELECT count(*) FROM live_files WHERE path LIKE '%/alone' AND digest IS NOT NULL");
    assert_eq!(alone, 1, "it waited for another");
    assert_eq!(env.groups().len(), MANY_SIZES / 2);
    let unchecked: i64 = env.sql("SELECT unchecked FROM scans");
    assert_eq!(unchecked, 0);
}

#[test]
fn a_low_limit_of_open_files_is_kept() {
    let env = tree();
    let mut command = env.bare_command("prlimit");
    command
        .arg("--nofile=100:100")
        .arg(env!("CARGO_BIN_EXE_dupescan"))
        .arg("--db")
        .arg(env.db())
        .args(["scan", "tree"]);
    if std::process::Command::new("prlimit")
        .arg("--version")
        .output()
        .is_err()
    {
        skip!("no prlimit");
    }
    env.finish(command).ok();
    assert_eq!(env.groups().len(), MANY - 1);
}

/// SQLite keeps its other files beside what a link to the catalog leads to.
#[test]
fn a_catalog_behind_a_link_is_skipped_with_all_its_files() {
    let env = tree();
    env.use_db("tree/c/catalog.db").folder("nothing");
    env.run("scan nothing").ok();
    env.symlink(env.path("tree/c/catalog.db"), "link.db");
    env.use_db("link.db");
    env.run("scan tree --threads 1").ok();
    let stored: i64 = env.sql("SELECT count(*) FROM live_files WHERE path LIKE '%catalog%'");
    assert_eq!(stored, 0);
}
