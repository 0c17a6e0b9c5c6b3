//! `dupescan undo`: files come back as they were, with the catalog and without it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::{all_files, contents, names, pairs};

#[test]
fn everything_comes_back_as_it_was() {
    let env = pairs(20);
    for number in 1..=20 {
        env.chmod(format!("tree/a/{number}"), 0o400 + number);
    }
    env.chmod("tree/a", 0o750);
    env.settle_clock();
    env.run("scan tree").ok();
    let look = || -> Vec<_> {
        let paths = contents(&env, "tree").into_iter();
        paths
            .map(|(path, content)| {
                let meta = fs::metadata(env.path(&path)).unwrap();
                let times = (meta.mtime(), meta.mtime_nsec());
                (path, content, meta.ino(), meta.mode(), meta.uid(), times)
            })
            .collect()
    };
    let before = look();
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    fs::remove_dir_all(env.path("tree/a/.dupescan-trash-9")).unwrap_or_default();
    env.run("undo").ok().says("20 files brought back");
    assert_eq!(look(), before);
    env.run("scan tree").ok().says("0 B read");
    assert_eq!(env.groups().len(), 20);
    // Nothing is left of the trash.
    assert_eq!(all_files(&env, "tree").len(), 40);
}

#[test]
fn a_name_that_is_taken_keeps_its_file_and_a_lost_folder_is_made_again() {
    let env = pairs(2);
    env.chmod("tree/a", 0o750);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    fs::remove_dir(env.path("tree/a")).unwrap();
    env.run("undo 1").ok();
    let mode = fs::metadata(env.path("tree/a"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o750);

    env.run("scan tree").ok();
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 2 --yes").ok();
    env.file("tree/a/1", "new");
    env.run("undo")
        .code(1)
        .says("1 file brought back")
        .says("another file has its name now");
    assert_eq!(fs::read(env.path("tree/a/1")).unwrap(), b"new");
    assert!(env.path("tree/a/2").exists());
}

#[test]
fn only_the_given_paths_come_back() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    env.run("undo 1 tree/a/2").ok().says("1 file brought back");
    assert_eq!(names(&env, "tree"), ["tree/a/2", "tree/b/1", "tree/b/2"]);
}

#[test]
fn the_list_in_the_trash_is_enough() {
    let env = pairs(3);
    let before = contents(&env, "tree");
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    let trash = fs::read_dir(env.path("tree"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains(".dupescan-trash-"))
        .unwrap();
    env.use_db("data/another.db");
    let line = format!("undo --trash {}", trash.join("1").display());
    env.run(&line).ok().says("3 files brought back");
    assert_eq!(contents(&env, "tree"), before);
}

#[test]
fn a_plan_whose_run_was_undone_can_be_applied_again() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    env.run("undo").ok();
    env.run("apply 1 --yes")
        .ok()
        .says("2 files moved to the trash")
        .keeps_quiet_about("earlier run");
    env.run("undo").ok().says("2 files brought back");
    env.run("undo").ok().says("0 files brought back");
}

#[test]
fn a_file_that_took_the_name_keeps_its_row() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    env.file("tree/a/1", "another one").settle_clock();
    env.run("scan tree").ok();
    let live = "SELECT count(*) FROM files WHERE removed_in IS NULL";
    assert_eq!(env.sql::<i64>(live), 2);
    env.run("undo")
        .code(1)
        .says("another file has its name now");
    assert_eq!(env.sql::<i64>(live), 2);
    // Nor is its row taken for that of the file that comes back.
    env.remove("tree/a/1");
    env.run("scan tree").ok();
    env.run("undo").ok().says("1 file brought back");
    assert_eq!(env.sql::<i64>(live), 1);
    env.run("scan tree").ok();
    assert_eq!(env.groups().len(), 1);
}

#[test]
fn a_path_that_the_run_has_not_touched_is_refused() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    let error = env.run("undo 1 no/such/path").refused(2);
    assert!(error.contains("run 1 has no file at or below"), "{error}");
    env.run("undo 1 tree/a").ok().says("1 file brought back");
}

#[test]
fn a_run_that_deleted_says_that_it_was_final() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b --action delete").ok();
    env.run("apply 1 --yes --no-undo").ok();
    env.run("undo 1")
        .says("0 files brought back")
        .says("1 file of run 1 deleted for good: that cannot be undone");
}

#[test]
fn the_folder_that_people_see_names_those_of_the_runs() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    let user = rustix::process::geteuid().as_raw();
    let error = env
        .run(&format!("undo --trash tree/.dupescan-trash-{user}"))
        .refused(2);
    assert!(error.contains("name one of them"), "{error}");
    assert!(error.contains(&format!("-{user}/1")), "{error}");
}

#[test]
fn the_list_is_not_used_while_a_run_moves_files_there() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    let Some(started) = super::delayed(&env, "renameat2", "apply 1 --yes") else {
        crate::env::skip!("strace is not here");
    };
    let user = rustix::process::geteuid().as_raw();
    let line = format!("undo --trash tree/.dupescan-trash-{user}/1");
    let error = env.run(&line).refused(3);
    assert!(error.contains("another command is moving files"), "{error}");
    started.wait().ok();
    env.run(&line).ok().says("1 file brought back");
}
