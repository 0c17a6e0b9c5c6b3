//! The trash: never scanned, and emptied only beside an equal copy.

use std::os::unix::fs::{PermissionsExt, chown};

use super::{contents, names, pairs};
use crate::env::skip;

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
fn what_becomes_free_is_predicted_and_measured() {
    let env = pairs(2);
    // Of two hard links, the last one that goes gives back the blocks of both.
    env.hard_link("tree/a/1", "tree/a/link").settle_clock();
    env.run("scan tree").ok();
    env.run("plan --keep under:tree/b")
        .ok()
        .says("reclaimable by empty-trash: 8.0 KiB");
    let shown = env.run("plans 1 --format json").ok().json();
    assert_eq!(shown["totals"]["reclaimable"]["at_least"], 8192);
    assert_eq!(shown["totals"]["reclaimable"]["at_most"], 8192);
    env.run("apply 1 --dry-run")
        .ok()
        .says("reclaimable by empty-trash: 8.0 KiB");
    env.run("apply 1 --yes")
        .ok()
        .says("reclaimable by empty-trash: 8.0 KiB");
    env.run("empty-trash --yes")
        .ok()
        .says("3 files deleted")
        .says("reclaimed: 8.0 KiB predicted");
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

#[test]
fn a_trash_folder_that_another_one_planted_is_not_used() {
    let user = rustix::process::geteuid().as_raw();
    let own = format!("tree/.dupescan-trash-{user}");
    for plant in 0..4 {
        let env = pairs(1);
        env.folder("elsewhere");
        match plant {
            0 => drop(env.symlink("../elsewhere", &own)),
            1 => drop(env.file(&own, "in the way")),
            2 => {
                env.folder(&own).chmod(&own, 0o777);
            }
            _ => {
                env.folder(&own).chmod(&own, 0o700);
                if chown(env.path(&own), Some(12_345), None).is_err() {
                    continue;
                }
            }
        }
        let before = contents(&env, "");
        env.run("plan --keep under:tree/b").ok();
        env.run("apply 1 --yes").ok();
        // The next folder below is the user's own, too.
        let below = env.path(format!("tree/a/.dupescan-trash-{user}"));
        let mode = std::fs::symlink_metadata(below)
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o700, "{plant}");
        assert_eq!(std::fs::read_dir(env.path("elsewhere")).unwrap().count(), 0);
        env.run("undo").ok().says("1 file brought back");
        let after = contents(&env, "");
        assert!(before.iter().all(|(path, content)| {
            path.to_string_lossy().contains("/data/") || after[path] == *content
        }));
    }
}

#[test]
fn the_list_stays_while_the_trash_folder_holds_files() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    env.remove("tree/b/1");
    env.run("empty-trash --yes").code(1).says("1 file deleted");
    let user = rustix::process::geteuid().as_raw();
    let list = env.path(format!("tree/.dupescan-trash-{user}/1/manifest.jsonl"));
    if !list.exists() {
        skip!("the list is elsewhere");
    }
    let line = format!("undo --trash {}", list.parent().unwrap().display());
    env.run(&line).ok().says("1 file brought back");
    assert!(!list.exists());
    assert_eq!(names(&env, "tree").len(), 2);
}

#[test]
fn emptying_says_nothing_of_a_trash_that_a_crash_left_open() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    let db = rusqlite::Connection::open(env.db()).unwrap();
    db.execute("UPDATE actions SET state = 'deleting'", [])
        .unwrap();
    drop(db);
    env.run("empty-trash --yes").ok().says("1 file deleted");
}

#[test]
fn two_catalogs_never_share_a_trash_folder() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    env.copy("tree/b/1", "tree/a/2").settle_clock();
    env.use_db("data/another.db");
    env.run("scan tree").ok();
    env.run("plan --keep under:tree/b").ok();
    // Runs and entries have the same numbers in both.
    env.run("apply 1 --yes")
        .ok()
        .says("1 file moved to the trash");
    assert_eq!(names(&env, "tree"), ["tree/b/1"]);
    env.run("undo").ok().says("1 file brought back");
    assert_eq!(names(&env, "tree"), ["tree/a/2", "tree/b/1"]);
    env.use_db("data/catalog.db");
    env.run("undo").ok().says("1 file brought back");
    assert_eq!(names(&env, "tree"), ["tree/a/1", "tree/a/2", "tree/b/1"]);
}

#[test]
fn what_came_back_by_the_list_is_back_for_the_journal_too() {
    for next in ["undo", "empty-trash --yes"] {
        let env = pairs(2);
        env.run("plan --keep under:tree/b").ok();
        env.run("apply 1 --yes").ok();
        let user = rustix::process::geteuid().as_raw();
        let list = env.path(format!("tree/.dupescan-trash-{user}/1"));
        env.run(&format!("undo --trash {}", list.display())).ok();
        env.run(next).ok().says("0 files");
        let back = "SELECT count(*) FROM actions WHERE state = 'restored'";
        assert_eq!(env.sql::<i64>(back), 2, "{next}");
        assert_eq!(names(&env, "tree").len(), 4);
    }
}

#[test]
fn a_failed_attempt_to_empty_the_trash_does_not_make_it_younger() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    let db = rusqlite::Connection::open(env.db()).unwrap();
    db.execute(
        "UPDATE actions SET changed_at = changed_at - 40 * 86400",
        [],
    )
    .unwrap();
    drop(db);
    env.rename("tree/b/1", "tree/b/elsewhere");
    env.run("empty-trash --yes").code(1);
    env.rename("tree/b/elsewhere", "tree/b/1").settle_clock();
    env.run("scan tree").ok();
    env.run("empty-trash --older-than 30d --yes")
        .ok()
        .says("1 file deleted");
}
