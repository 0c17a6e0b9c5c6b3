//! What the next command finds after a kill, or after a root has moved, when other
//! programs did something to the files in between.

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

#[test]
fn a_kill_between_two_names_of_a_copy_brings_the_first_one_back() {
    for action in ["trash", "delete --no-undo"] {
        let env = pairs(1);
        env.hard_link("tree/a/1", "tree/a/2").settle_clock();
        env.run("scan tree").ok();
        let (action, sure) = action.split_once(' ').unwrap_or((action, ""));
        let plan = format!("plan --keep under:tree/b --action {action}");
        env.run(&plan).ok();
        let line = format!("apply 1 --yes {sure}");
        if !killed(&env, "renameat2:when=2", &line) {
            skip!("strace is not here");
        }
        assert_eq!(names(&env, "tree").len(), 2);
        // Moving and putting back changed the change time: only a scan helps.
        env.run(&line).code(1).keeps_quiet_about("already done");
        let both = ["tree/a/1", "tree/a/2", "tree/b/1"];
        assert_eq!(names(&env, "tree"), both);
        env.run("scan tree").ok();
        env.run(&plan).ok();
        let line = line.replace('1', "2");
        env.run(&line).ok();
        assert_eq!(names(&env, "tree"), ["tree/b/1"]);
    }
}

#[test]
fn a_copy_of_which_one_name_is_in_the_trash_is_not_done() {
    let env = pairs(1);
    env.hard_link("tree/a/1", "tree/a/2").settle_clock();
    env.run("scan tree").ok();
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    env.run("undo 1 tree/a/2").ok();
    env.run("apply 1 --yes")
        .code(1)
        .says("1 file")
        .says("changed or is gone");
}

#[test]
fn the_trash_of_a_root_that_has_moved_is_found() {
    for next in ["undo", "empty-trash --yes"] {
        let env = pairs(3);
        env.run("protect tree/b").ok();
        env.run("plan --keep under:tree/b").ok();
        env.run("apply 1 --yes --max-files 2").ok();
        env.rename("tree", "moved");
        env.run("roots move tree moved").ok();
        // What is left of the plan is done there, too.
        env.run("apply 1 --yes").ok().says("1 file moved");
        env.run("undo").ok().says("1 file brought back");
        let expected = match next {
            "undo" => "2 files brought back",
            _ => "2 files deleted",
        };
        env.run(next).ok().says(expected);
        let left = names(&env, "moved");
        assert_eq!(left.len(), if next == "undo" { 6 } else { 4 });
        env.run("protect").ok().says("moved/b");
    }
}

/// Deletes the trash folder of a run.
fn lose_trash(env: &TestEnv, run: u32) {
    let user = rustix::process::geteuid().as_raw();
    let trash = env.path(format!("tree/.dupescan-trash-{user}/{run}"));
    std::fs::remove_dir_all(trash).unwrap();
}

#[test]
fn undo_reaches_a_run_before_one_whose_trash_is_lost() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes --max-files 1").ok();
    env.run("apply 1 --yes").ok();
    lose_trash(&env, 2);
    env.run("undo").ok().says("1 file brought back");
    // Only once it is said that the other one is lost.
    env.run("undo").code(1).says("no longer in the trash");
    env.run("undo").ok().says("0 files brought back");
    let gone = "SELECT count(*) FROM actions WHERE state = 'gone' AND run = 2";
    assert_eq!(env.sql::<i64>(gone), 1);
    env.run("empty-trash --yes").ok();
}

#[test]
fn a_run_killed_before_its_first_move_ends_without_its_trash_folder() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes --max-files 1").ok();
    if !killed(&env, "renameat2", "apply 1 --yes") {
        skip!("strace is not here");
    }
    lose_trash(&env, 2);
    env.rename("tree/a", "tree/c");
    env.run("undo").ok().says("1 file brought back");
    let open = "SELECT count(*) FROM actions WHERE state = 'moving'";
    assert_eq!(env.sql::<i64>(open), 0);
}

#[test]
fn the_trash_of_a_disk_that_is_not_there_is_not_called_lost() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    env.rename("tree", "unplugged").folder("tree");
    env.run("undo").code(1).says("is not there");
    env.run("empty-trash --yes").code(1);
    env.remove("tree").rename("unplugged", "tree");
    env.run("undo").ok().says("1 file brought back");
}
