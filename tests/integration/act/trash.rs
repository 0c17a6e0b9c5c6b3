//! The trash: never scanned, and emptied only beside an equal copy.

use super::{contents, names, pairs};

#[test]
fn the_trash_is_never_scanned_and_no_copy() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    env.run("scan tree --rehash").ok().says("No duplicates");
    assert_eq!(
        env.sql::<i64>("SELECT count(*) FROM files WHERE removed_in IS NULL"),
        2
    );
}

#[test]
fn emptying_deletes_what_still_has_an_equal_copy() {
    let env = pairs(4);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    let error = env.run("empty-trash").refused(2);
    assert!(error.contains("--yes"), "{error}");
    env.remove("tree/b/1").flip_secretly("tree/b/2", 3);
    env.run("empty-trash --yes")
        .code(1)
        .says("2 files deleted")
        .says("stays in the trash");
    // Both can be brought back.
    env.run("undo 1").ok().says("2 files brought back");
    assert!(names(&env, "tree").contains(&"tree/a/1".to_owned()));
    assert!(names(&env, "tree").contains(&"tree/a/2".to_owned()));
    env.run("empty-trash --yes").ok().says("the trash is empty");
}

#[test]
fn only_what_is_old_enough_is_deleted() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    let before = contents(&env, "tree");
    env.run("empty-trash --older-than 30d --yes")
        .ok()
        .says("0 files deleted");
    assert_eq!(contents(&env, "tree"), before);
    env.run("undo").ok().says("1 file brought back");
}
