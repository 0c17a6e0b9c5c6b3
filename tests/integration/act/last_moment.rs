//! What other programs do between the checks and the action.

use std::fs;
use std::path::Path;

use super::{contents, delayed, names, pairs};
use crate::env::{TestEnv, noise, skip};

/// Plans to delete `a` beside `b` and applies that, while `meddle` runs before the
/// move; what is left.
fn deleting_while(meddle: impl Fn(&TestEnv)) -> Option<Vec<String>> {
    let env = pairs(1);
    env.run("plan --keep under:tree/b --action delete").ok();
    let started = delayed(&env, "renameat2", "apply 1 --yes --no-undo")?;
    meddle(&env);
    started.wait().code(1).says("0 files deleted");
    let left = names(&env, "tree");
    let content = noise(1, 3_001);
    assert!(
        contents(&env, "tree")
            .into_values()
            .any(|kept| kept == content)
    );
    Some(left)
}

#[test]
fn a_copy_that_stays_and_is_deleted_at_the_last_moment_brings_the_other_back() {
    let Some(left) = deleting_while(|env| {
        env.remove("tree/b/1");
    }) else {
        skip!("strace is not here");
    };
    assert_eq!(left, ["tree/a/1"]);
}

#[test]
fn a_copy_that_stays_and_is_replaced_at_the_last_moment_brings_the_other_back() {
    let replace = |env: &TestEnv| {
        env.file("tree/new", "new");
        env.rename("tree/new", "tree/b/1");
    };
    let Some(left) = deleting_while(replace) else {
        skip!("strace is not here");
    };
    assert_eq!(left, ["tree/a/1", "tree/b/1"]);
}

#[test]
fn an_editor_that_replaces_the_copy_that_goes_keeps_its_file() {
    let replace = |env: &TestEnv| {
        env.file("tree/new", "new");
        env.rename("tree/new", "tree/a/1");
    };
    let Some(left) = deleting_while(replace) else {
        skip!("strace is not here");
    };
    assert_eq!(left, ["tree/a/1", "tree/b/1"]);
}

#[test]
fn a_parent_swapped_for_a_link_at_the_last_moment_leads_nowhere() {
    let env = pairs(1);
    env.file("elsewhere/1", "of another one");
    env.run("plan --keep under:tree/b").ok();
    let Some(started) = delayed(&env, "renameat2", "apply 1 --yes") else {
        skip!("strace is not here");
    };
    env.rename("tree/a", "moved")
        .symlink("../elsewhere", "tree/a");
    drop(started.wait());
    assert_eq!(
        fs::read(env.path("elsewhere/1")).unwrap(),
        b"of another one"
    );
    assert!(env.path("tree/b/1").exists());
}

#[test]
fn the_trash_is_not_emptied_beside_a_copy_deleted_at_the_last_moment() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    let Some(started) = delayed(&env, "fdatasync", "empty-trash --yes") else {
        skip!("strace is not here");
    };
    env.remove("tree/b/1");
    started.wait().code(1).says("stays in the trash");
    env.run("undo").ok().says("1 file brought back");
    assert_eq!(names(&env, "tree"), ["tree/a/1"]);
}

#[test]
fn what_a_program_writes_in_the_trash_is_not_deleted() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    let mut before = fs::File::open(env.path("tree/a/1")).unwrap();
    env.run("apply 1 --yes").ok();
    let in_trash = super::all_files(&env, "tree");
    let in_trash = in_trash.iter().find(|path| path.ends_with("1/1")).unwrap();
    let writer = fs::OpenOptions::new().append(true).open(in_trash).unwrap();
    env.run("empty-trash --yes")
        .code(1)
        .says("open for writing");
    drop(writer);
    assert!(std::io::Read::read(&mut before, &mut [0]).is_ok());
    env.run("empty-trash --yes").ok().says("1 file deleted");
}

#[test]
fn a_copy_in_memory_does_not_stand_for_one_on_the_disk() {
    let env = pairs(1);
    let memory = Path::new("/dev/shm");
    let Ok(memory) = tempfile::tempdir_in(memory) else {
        skip!("there is no filesystem in memory");
    };
    let on = |path: &Path| rustix::fs::statfs(path).unwrap().f_type;
    if on(memory.path()) == on(&env.path("tree")) || on(memory.path()) != 0x0102_1994 {
        skip!("everything is in memory");
    }
    fs::copy(env.path("tree/a/1"), memory.path().join("1")).unwrap();
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    env.remove("tree/b/1").settle_clock();
    env.run(&format!("scan tree {} --hash-all", memory.path().display()))
        .ok();
    env.run("empty-trash --yes").code(1).says("only in memory");
    env.run("undo").ok().says("1 file brought back");
    env.settle_clock();
    env.run("scan tree").ok();
    let keep = format!("--keep under:{}", memory.path().display());
    env.run(&format!("plan {keep}"))
        .ok()
        .says("Nothing to plan")
        .says("only in memory");
}

#[test]
fn as_root_the_trash_is_not_emptied_beside_another_users_copy() {
    let env = pairs(1);
    if !rustix::process::geteuid().is_root() {
        skip!("needs root");
    }
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    std::os::unix::fs::chown(env.path("tree/b/1"), Some(1_000), None).unwrap();
    env.settle_clock();
    env.run("scan tree").ok();
    env.run("empty-trash --yes")
        .code(1)
        .says("belongs to another user");
    env.run("undo").ok().says("1 file brought back");
    env.run("scan tree").ok();
    assert_eq!(env.groups().len(), 1);
}

#[test]
fn the_trash_is_no_copy_not_even_as_a_root_of_its_own() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes").ok();
    let trash = fs::read_dir(env.path("tree"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains(".dupescan-trash-"))
        .unwrap();
    env.use_db("data/another.db");
    env.run(&format!("scan tree/b {}", trash.display()));
    env.run("plan --keep glob:**/.dupescan-trash*/**").code(0);
    if env.sql::<i64>("SELECT count(*) FROM plans") > 0 {
        env.run("apply 1 --yes").code(1);
    }
    assert_eq!(names(&env, "tree"), ["tree/b/1"]);
}

#[test]
fn a_folder_that_may_not_be_changed_keeps_its_files() {
    let env = pairs(2);
    if !rustix::process::geteuid().is_root() {
        skip!("needs root");
    }
    env.run("plan --keep under:tree/b").ok();
    env.chmod("tree/a", 0o555);
    let Some(run) = env.run_unprivileged("apply 1 --yes") else {
        skip!("root cannot give up its rights");
    };
    run.code(1)
        .says("cannot be moved to the trash: Permission denied");
    assert_eq!(names(&env, "tree").len(), 4);
    env.chmod("tree/a", 0o755);
}
