//! What the journal says of files that were skipped, tried again, or cut off.

use super::{injected, names, pairs};
use crate::env::skip;

#[test]
fn what_a_newer_scan_found_changed_is_in_the_journal() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b").ok();
    env.file("tree/a/1", "changed").settle_clock();
    env.run("scan tree").ok();
    env.run("apply 1 --yes").code(1);
    env.run("journal 1")
        .ok()
        .says("tree/a/1")
        .says("skipped")
        .says("a newer scan found that it has changed or is gone");
    // A rehearsal writes nothing down.
    env.run("apply 1 --dry-run").code(1);
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM actions"), 2);
}

#[test]
fn a_hard_link_that_was_put_back_is_tried_again_and_counts_once() {
    let env = pairs(1);
    env.hard_link("tree/a/1", "tree/a/link").settle_clock();
    env.run("scan tree").ok();
    env.run("plan --keep under:tree/b").ok();
    let inject = "renameat2:error=EXDEV:when=2";
    let Some(mut command) = injected(&env, inject, "apply 1 --yes") else {
        skip!("strace is not here");
    };
    // Calls are counted by thread.
    command.env("DUPESCAN_THREADS", "1");
    env.finish(command).ok().says("2 files moved to the trash");
    let counts = "SELECT count(*) FROM actions WHERE state = 'trashed'";
    assert_eq!(env.sql::<i64>(counts), 2);
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM actions"), 2);
    env.run("undo").ok().says("2 files brought back");
    env.run("scan tree").ok().says("0 B read");
}

#[test]
fn a_file_that_was_put_back_can_be_applied_again() {
    let env = pairs(1);
    env.hard_link("tree/a/1", "tree/a/link").settle_clock();
    env.run("scan tree").ok();
    env.run("plan --keep under:tree/b").ok();
    let inject = "renameat2:error=EIO:when=2";
    let Some(mut command) = injected(&env, inject, "apply 1 --yes") else {
        skip!("strace is not here");
    };
    // Calls are counted by thread.
    command.env("DUPESCAN_THREADS", "1");
    env.finish(command).code(1).says("2 files skipped");
    assert_eq!(names(&env, "tree").len(), 3);
    env.run("apply 1 --yes")
        .ok()
        .says("2 files moved to the trash");
}

#[test]
fn files_that_a_crash_cut_off_are_named_with_what_settles_them() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b").ok();
    let inject = "renameat2:signal=KILL:when=1";
    let Some(mut command) = injected(&env, inject, "apply 1 --yes") else {
        skip!("strace is not here");
    };
    // Calls are counted by thread.
    command.env("DUPESCAN_THREADS", "1");
    env.finish(command);
    env.run("journal")
        .ok()
        .says("Run 1 was cut off with 2 files not settled")
        .says("apply 1")
        .says("undo 1");
    env.run("undo 1").ok();
    env.run("journal").ok().keeps_quiet_about("cut off");
}
