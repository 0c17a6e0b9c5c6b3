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
        env.run("apply 1 --dry-run");
        env.run("apply 1 --dry-run");
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
