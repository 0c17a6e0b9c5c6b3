//! A run that is killed: every name is where it was or in the trash and the
//! journal, and the next command finds out which.

use std::collections::BTreeSet;
use std::process::Stdio;

use super::{contents, pairs};
use crate::env::TestEnv;
use crate::env::skip;

/// The calls that change names, synced or not; strace kills before the Nth one.
const CALLS: &str = "renameat2,mkdirat,unlinkat,fsync,fdatasync,syncfs";

/// Runs a command and kills it at the Nth of [`CALLS`]; whether it got so far, or
/// `None` where strace cannot.
fn killed_at(env: &TestEnv, call: usize, line: &str) -> Option<bool> {
    let inject = format!("inject={CALLS}:signal=KILL:when={call}");
    let mut command = env.bare_command("strace");
    command
        .args(["-f", "-qq", "-o", "/dev/null", "-e"])
        .arg(format!("trace={CALLS}"))
        .arg("-e")
        .arg(inject)
        .arg(env!("CARGO_BIN_EXE_dupescan"))
        .arg("--db")
        .arg(env.db())
        .args(line.split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = command.status().ok()?;
    Some(!status.success())
}

/// Runs `line` after `before`, killed at its first call, its second and so on until
/// it ends by itself; then `check` is to find everything in order.
fn killed_at_each_call(
    line: &str,
    before: impl Fn(&TestEnv),
    check: impl Fn(&TestEnv, usize),
) -> bool {
    for call in 1..100 {
        let env = pairs(2);
        before(&env);
        let Some(is_killed) = killed_at(&env, call, line) else {
            return false;
        };
        check(&env, call);
        let open =
            "SELECT count(*) FROM actions WHERE state IN ('moving', 'restoring', 'deleting')";
        assert_eq!(env.sql::<i64>(open), 0, "killed at call {call}");
        if !is_killed {
            assert!(call > 3, "only {call} calls were seen");
            return true;
        }
    }
    panic!("the run never ends");
}

#[test]
fn a_kill_while_files_are_deleted_leaves_the_copies_that_stay() {
    let plan = |env: &TestEnv| {
        env.run("plan --keep under:tree/b --action delete").ok();
    };
    let is_done = killed_at_each_call("apply 1 --yes --no-undo", plan, |env, call| {
        env.run("apply 1 --yes --no-undo");
        env.run("undo");
        env.run("apply 1 --yes --no-undo");
        let left = super::names(env, "tree");
        assert!(
            left.contains(&"tree/b/1".to_owned()),
            "killed at call {call}"
        );
        assert!(
            left.contains(&"tree/b/2".to_owned()),
            "killed at call {call}"
        );
        let journaled = "SELECT count(DISTINCT path) FROM actions
             WHERE state IN ('deleted', 'trashed')";
        assert_eq!(env.sql::<i64>(journaled), 2, "killed at call {call}");
    });
    if !is_done {
        skip!("strace is not here");
    }
}

#[test]
fn a_kill_while_undoing_brings_everything_back_in_the_end() {
    let apply = |env: &TestEnv| {
        env.run("plan --keep under:tree/b").ok();
        env.run("apply 1 --yes").ok();
    };
    let is_done = killed_at_each_call("undo", apply, |env, call| {
        env.run("undo").ok();
        env.run("undo").ok();
        assert_eq!(contents(env, "tree").len(), 4, "killed at call {call}");
        env.run("scan tree").ok();
        assert_eq!(env.groups().len(), 2);
    });
    if !is_done {
        skip!("strace is not here");
    }
}

#[test]
fn a_kill_while_the_trash_is_emptied_leaves_the_copies_that_stay() {
    let apply = |env: &TestEnv| {
        env.run("plan --keep under:tree/b").ok();
        env.run("apply 1 --yes").ok();
    };
    let is_done = killed_at_each_call("empty-trash --yes", apply, |env, call| {
        env.run("empty-trash --yes").ok();
        env.run("empty-trash --yes").ok();
        env.run("undo").ok();
        assert_eq!(contents(env, "tree").len(), 2, "killed at call {call}");
        let deleted = "SELECT count(*) FROM actions WHERE state = 'deleted'";
        assert_eq!(env.sql::<i64>(deleted), 2, "killed at call {call}");
    });
    if !is_done {
        skip!("strace is not here");
    }
}

#[test]
fn a_call_that_fails_loses_nothing() {
    let mut seen = 0;
    for error in ["ENOSPC", "EROFS", "EIO", "EXDEV", "EPERM"] {
        for call in [
            "renameat2",
            "mkdirat",
            "unlinkat",
            "fsync",
            "fdatasync",
            "syncfs",
        ] {
            for action in ["trash", "delete --yes --no-undo"] {
                let env = pairs(1);
                let (action, sure) = action.split_once(' ').unwrap_or((action, "--yes"));
                env.run(&format!("plan --keep under:tree/b --action {action}"))
                    .ok();
                let line = format!("apply 1 {sure}");
                let inject = format!("{call}:error={error}:when=1+");
                let Some(command) = super::injected(&env, &inject, &line) else {
                    skip!("strace is not here");
                };
                let run = env.finish(command);
                seen += usize::from(run.exit != Some(0));
                assert!(
                    run.exit.is_some_and(|code| code < 100),
                    "{}",
                    run.describe()
                );
                env.run("undo");
                let left = super::names(&env, "tree");
                assert!(left.contains(&"tree/b/1".to_owned()), "{error} at {call}");
                let is_gone =
                    env.sql::<i64>("SELECT count(*) FROM actions WHERE state = 'deleted'");
                assert_eq!(
                    left.len() as i64,
                    2 - is_gone,
                    "{error} at {call}: {}",
                    run.describe()
                );
            }
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn a_kill_at_any_call_loses_no_name() {
    let mut calls = 0;
    loop {
        calls += 1;
        let env = pairs(3);
        let before: BTreeSet<Vec<u8>> = contents(&env, "tree").into_values().collect();
        env.run("plan --keep under:tree/b").ok();
        let Some(is_killed) = killed_at(&env, calls, "apply 1 --yes") else {
            skip!("strace is not here");
        };
        // Whatever happened, the copies that stay are there, and undoing brings back
        // the rest: twice is the same as once.
        for number in 1..=3 {
            assert!(env.path(format!("tree/b/{number}")).exists());
        }
        if env.sql::<i64>("SELECT count(*) FROM runs") > 0 {
            env.run("undo").ok();
        }
        let after = contents(&env, "tree");
        assert_eq!(after.len(), 6, "killed at call {calls}: {:?}", after.keys());
        assert_eq!(after.into_values().collect::<BTreeSet<_>>(), before);
        assert_eq!(
            env.sql::<i64>(
                "SELECT count(*) FROM actions
             WHERE state IN ('moving', 'restoring', 'deleting')"
            ),
            0
        );
        if !is_killed {
            break;
        }
        assert!(calls < 200, "the run never ends");
    }
    assert!(calls > 5, "only {calls} calls were seen");
}

#[test]
fn an_entry_whose_trash_folder_is_gone_does_not_stay_open() {
    for (state, then) in [("moving", "skipped"), ("restoring", "restored")] {
        let env = pairs(1);
        env.run("plan --keep under:tree/b").ok();
        env.run("apply 1 --yes").ok();
        env.run("undo").ok();
        let db = rusqlite::Connection::open(env.db()).unwrap();
        db.execute("UPDATE actions SET state = ?1", [state])
            .unwrap();
        drop(db);
        // A rehearsal changes nothing.
        env.run("apply 1 --dry-run")
            .says("1 file of a run that was cut off");
        assert_eq!(env.sql::<String>("SELECT state FROM actions"), state);
        env.run("undo").ok();
        assert_eq!(env.sql::<String>("SELECT state FROM actions"), then);
    }
}
