//! What the next command finds after a kill, when other programs did something to
//! the files in between.

use super::{injected, names, pairs};
use crate::env::TestEnv;
use crate::env::skip;

/// Runs a command and kills it at a call, as in `renameat2` or `renameat2:when=2`;
/// `false` where there is no strace.
fn killed(env: &TestEnv, call: &str, line: &str) -> bool {
    let (call, when) = call.split_once(':').unwrap_or((call, "when=1"));
    let Some(command) = injected(env, &format!("{call}:signal=KILL:{when}"), line) else {
        return false;
    };
    assert_eq!(env.finish(command).exit, None, "{line} ended by itself");
    true
}

#[test]
fn a_file_that_was_renamed_after_a_kill_is_not_called_deleted() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b --action delete").ok();
    if !killed(&env, "renameat2", "apply 1 --yes --no-undo") {
        skip!("strace is not here");
    }
    env.rename("tree/a", "tree/c");
    env.run("undo").ok();
    assert_eq!(names(&env, "tree"), ["tree/b/1", "tree/c/1"]);
    let settled = "SELECT state || ': ' || reason FROM actions";
    let settled = env.sql::<String>(settled);
    assert!(
        settled.starts_with("skipped: it is neither under its name nor in the trash"),
        "{settled}"
    );
}

#[test]
fn a_file_that_was_deleted_before_a_kill_is_called_deleted() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b --action delete").ok();
    if !killed(&env, "syncfs:when=2", "apply 1 --yes --no-undo") {
        skip!("strace is not here");
    }
    assert_eq!(names(&env, "tree"), ["tree/b/1"]);
    env.copy("tree/b/1", "tree/a/1");
    env.run("undo").ok();
    assert_eq!(env.sql::<String>("SELECT state FROM actions"), "deleted");
}

#[test]
fn a_name_that_cannot_be_looked_up_leaves_its_entry_open() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b --action delete").ok();
    if !killed(&env, "renameat2", "apply 1 --yes --no-undo") {
        skip!("strace is not here");
    }
    env.rename("tree/a", "tree/c").symlink("a", "tree/a");
    env.run("undo");
    assert_eq!(env.sql::<String>("SELECT state FROM actions"), "moving");
    env.remove("tree/a").rename("tree/c", "tree/a");
    env.run("undo").ok();
    assert_eq!(env.sql::<String>("SELECT state FROM actions"), "skipped");
}

#[test]
fn a_file_that_took_the_name_after_a_kill_keeps_its_row() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    if !killed(&env, "syncfs", "apply 1 --yes") {
        skip!("strace is not here");
    }
    assert_eq!(names(&env, "tree"), ["tree/b/1"]);
    env.copy("tree/b/1", "tree/a/1").settle_clock();
    env.run("scan tree").ok();
    assert_eq!(env.groups().len(), 1);
    env.run("undo")
        .code(1)
        .says("another file has its name now");
    assert_eq!(env.groups().len(), 1);
    assert_eq!(env.sql::<String>("SELECT state FROM actions"), "trashed");
}
