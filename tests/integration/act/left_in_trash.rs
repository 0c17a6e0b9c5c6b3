//! Files that a run leaves in the trash although they were to be elsewhere: each is
//! named, and the run is no success.

use super::{injected, names, pairs};
use crate::env::skip;

#[test]
fn a_file_that_cannot_be_deleted_is_not_called_deleted() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b --action delete").ok();
    let inject = "unlinkat:error=EIO:when=1";
    let Some(command) = injected(&env, inject, "apply 1 --yes --no-undo") else {
        skip!("strace is not here");
    };
    env.finish(command)
        .code(1)
        .says("0 files deleted, 0 B")
        .keeps_quiet_about("reclaimed")
        .says("left in the trash: ")
        .says("it cannot be deleted: Input/output error")
        .says("empty-trash 1");
    // Applied again, it is no more deleted than before.
    env.run("apply 1 --yes --no-undo")
        .code(1)
        .says("0 files deleted")
        .keeps_quiet_about("already done")
        .says("left in the trash: ")
        .says("empty-trash 1");
    env.run("empty-trash 1 --yes").ok().says("1 file deleted");
    env.run("apply 1 --yes --no-undo")
        .ok()
        .says("1 file already done");
    assert_eq!(names(&env, "tree"), ["tree/b/1"]);
}

#[test]
fn a_file_that_cannot_be_put_back_is_no_success() {
    for line in ["apply 1 --yes", "apply 1 --yes --no-undo"] {
        let env = pairs(1);
        let action = if line.ends_with("undo") {
            "delete"
        } else {
            "trash"
        };
        env.run(&format!("plan --keep under:tree/b --action {action}"))
            .ok();
        // The first move is over when the keeper is gone and the name is taken.
        let Some(command) = injected(&env, "renameat2:delay_exit=1500000", line) else {
            skip!("strace is not here");
        };
        let run = crate::env::Background::start(command);
        let moved = || !env.path("tree/a/1").exists();
        while !moved() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        env.remove("tree/b/1").file("tree/a/1", "new");
        run.wait()
            .code(1)
            .says("0 files")
            .says("tree/a/1: the copy that stays has just been deleted or replaced")
            .says("it cannot be put back: ")
            .says("undo 1");
        env.remove("tree/a/1");
        env.run("undo 1").ok().says("1 file brought back");
        assert_eq!(names(&env, "tree"), ["tree/a/1"]);
    }
}
