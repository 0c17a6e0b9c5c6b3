//! What is shown while dupescan plans and acts, and what Ctrl-C does to it.

use std::process::Command;

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use super::{injected, pairs};
use crate::env::pty::Terminal;
use crate::env::{Background, TestEnv, skip};

const JSON: &str = "--progress json --progress-interval 100ms";

/// The last object of a command's progress.
fn last(env: &TestEnv, command: &str) -> Value {
    let run = env.run(&format!("{command} {JSON}")).ok();
    let errors = run.err();
    serde_json::from_str(errors.lines().last().unwrap()).unwrap()
}

#[test]
fn every_command_that_acts_shows_how_far_it_is() {
    let env = pairs(40);
    for (command, stage) in [
        ("plan --keep under:tree/b", "plan"),
        ("apply 1 --dry-run", "apply"),
        ("apply 1 --yes", "apply"),
        ("undo", "undo"),
        ("apply 1 --yes", "apply"),
        ("empty-trash --yes", "empty-trash"),
    ] {
        let end = last(&env, command);
        assert_eq!(end["event"], "progress.end", "{command}");
        assert_eq!(end["stage"], stage, "{command}");
        assert_eq!(
            (&end["done"], &end["expected"]),
            (&40.into(), &40.into()),
            "{end}"
        );
        assert_eq!(end["bytes_done"], end["bytes_expected"], "{end}");
        assert_eq!(end["bytes_done"] == 0, stage == "plan", "{end}");
        assert_eq!(
            (&end["skipped"], &end["stopping"]),
            (&0.into(), &false.into()),
            "{end}"
        );
    }
    let again = last(&env, "apply 1 --yes");
    assert_eq!(
        (&again["done"], &again["expected"]),
        (&40.into(), &40.into())
    );
}

#[test]
fn files_that_are_skipped_are_counted_as_such() {
    let env = pairs(3);
    env.run("plan --keep under:tree/b").ok();
    env.flip("tree/a/1", 7).remove("tree/b/2");
    let run = env.run(&format!("apply 1 --yes {JSON}")).code(1);
    let end: Value = serde_json::from_str(run.err().lines().last().unwrap()).unwrap();
    assert_eq!(
        (&end["done"], &end["skipped"]),
        (&3.into(), &2.into()),
        "{end}"
    );
    assert_eq!(end["bytes_done"], end["bytes_expected"], "{end}");
    env.run("undo --progress plain -q").ok();
}

/// A command in which each of these calls takes long, on one thread.
fn slowly(env: &TestEnv, calls: &str, command: &str) -> Option<Command> {
    let mut command = injected(env, &format!("{calls}:delay_enter=20000"), command)?;
    command.env("DUPESCAN_THREADS", "1");
    Some(command)
}

/// Runs a command in which each of these calls takes long, presses Ctrl-C in the
/// middle, and checks how it ends.
fn interrupt(
    env: &TestEnv,
    calls: &str,
    command: &str,
    is_in_the_middle: impl Fn() -> bool,
) -> bool {
    let Some(command) = slowly(env, calls, command) else {
        return false;
    };
    let mut running = Background::start(command);
    assert!(running.wait_until(&is_in_the_middle));
    kill_process(running.child(), Signal::INT).unwrap();
    let run = running.wait().code(130);
    assert!(
        run.out().contains("Stopped. Resume with: "),
        "{}",
        run.describe()
    );
    true
}

#[test]
fn what_was_stopped_is_resumed() {
    const FILES: usize = 20;
    let env = pairs(FILES);
    env.run("plan --keep under:tree/b").ok();
    let left = || std::fs::read_dir(env.path("tree/a")).unwrap().count();
    let is_between = || (1..FILES).contains(&left());
    if !interrupt(&env, "renameat2", "apply 1 --yes", is_between) {
        skip!("no strace");
    }
    assert!(is_between(), "{} left", left());
    let run = env.run("apply 1 --yes").ok();
    assert!(
        run.out().contains("already done by an earlier run"),
        "{}",
        run.describe()
    );
    assert_eq!(left(), 0);
    // Each of the two runs has files in the trash.
    env.run("undo")
        .ok()
        .says("of an earlier run of the same plan in the trash");
    env.run("apply 1 --yes").ok();
    interrupt(&env, "renameat2", "undo", is_between);
    env.run("undo").ok();
    env.run("undo").ok();
    assert_eq!(left(), FILES);
    env.run("apply 1 --yes").ok();
    // The manifest and the copies that stay are there too.
    let trashed = || {
        // Files may vanish while they are counted.
        let all = walkdir::WalkDir::new(env.path("tree")).into_iter();
        let all = all.filter_map(Result::ok);
        all.filter(|entry| entry.file_type().is_file()).count() - FILES
    };
    let before = trashed();
    assert!(interrupt(
        &env,
        "unlinkat",
        "empty-trash --yes",
        || trashed() < before
    ));
    assert!(trashed() > 1, "{}", trashed());
    env.run("empty-trash --yes").ok();
    assert_eq!((left(), trashed()), (0, 0));
}

#[test]
fn a_terminal_of_any_width_shows_a_bar_that_vanishes() {
    for columns in [40, 80] {
        let env = pairs(20);
        env.run("plan --keep under:tree/b").ok();
        let Some(command) = slowly(&env, "renameat2", "apply 1 --yes") else {
            skip!("no strace");
        };
        let out = std::fs::File::create(env.path("data/out")).unwrap();
        let mut terminal = Terminal::start(command, columns, Some(out));
        assert!(terminal.watch_until(|screen| {
            let text = screen.text();
            text.contains("Moving to the trash") && text.contains("/tree/a/") && text.contains(" %")
        }));
        let shown = terminal.screen.text();
        assert!(
            shown
                .lines()
                .all(|line| line.chars().count() < columns.into()),
            "{shown}"
        );
        assert_eq!(shown.contains(" of 20 files"), columns > 40, "{shown}");
        assert_eq!(terminal.finish(), Some(0));
        assert_eq!(terminal.screen.wrapped, Vec::<String>::new());
        assert!(
            terminal.screen.text().trim().is_empty(),
            "{}",
            terminal.screen.text()
        );
    }
}
