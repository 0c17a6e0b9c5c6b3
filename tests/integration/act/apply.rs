//! `dupescan apply`: every byte is compared again, and whatever is not as it was
//! stays where it is.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::{all_files, contents, names, pairs};
use crate::env::skip;
use crate::env::{TestEnv, noise};

#[test]
fn redundant_copies_go_to_the_trash_and_a_rescan_reads_nothing() {
    let env = pairs(3);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes")
        .ok()
        .says("3 files moved to the trash");
    assert_eq!(names(&env, "tree"), ["tree/b/1", "tree/b/2", "tree/b/3"]);
    env.run("scan tree").ok().says("0 B read");
    env.run("report").ok().says("no duplicates");
    env.run("apply 1 --yes")
        .ok()
        .says("3 files already done by an earlier run");
    env.run("journal").ok().says("2 runs").says("trash");
    env.run("journal 1 --format csv").ok().says("trashed");
}

#[test]
fn a_rehearsal_checks_everything_and_changes_nothing() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b").ok();
    env.flip_secretly("tree/a/1", 5);
    let times = |path: &str| {
        let meta = fs::metadata(env.path(path)).unwrap();
        (
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        )
    };
    let before = (
        times("tree"),
        times("tree/a"),
        times("tree/a/2"),
        times("tree/b/2"),
    );
    env.run("apply 1 --dry-run")
        .code(1)
        .says("1 file would be moved to the trash")
        .says("it has changed since the scan");
    assert_eq!(
        before,
        (
            times("tree"),
            times("tree/a"),
            times("tree/a/2"),
            times("tree/b/2")
        )
    );
    env.run("journal").ok().says("0 runs");
}

#[test]
fn what_changed_since_the_scan_is_skipped() {
    let env = pairs(5);
    env.run("plan --keep under:tree/b").ok();
    env.flip_secretly("tree/a/1", 5);
    env.append("tree/a/2", "more");
    env.remove("tree/a/3").file("tree/a/3", noise(3, 3_003));
    env.flip_secretly("tree/b/4", 5);
    let before = contents(&env, "tree");
    env.run("apply 1 --yes")
        .code(1)
        .says("1 file moved to the trash")
        .says("it has changed since the scan")
        .says("no copy that stays can be used to compare with");
    let after = contents(&env, "tree");
    let gone: Vec<_> = before
        .keys()
        .filter(|path| !after.contains_key(*path))
        .collect();
    assert_eq!(gone.len(), 1);
    assert!(gone[0].ends_with("a/5"), "{gone:?}");
    assert!(after.iter().all(|(path, content)| before[path] == *content));
}

#[test]
fn all_names_of_a_copy_go_or_none() {
    let env = TestEnv::new();
    env.random("tree/a/1", 1, 5_000)
        .hard_link("tree/a/1", "tree/a/2");
    env.copy("tree/a/1", "tree/b/1");
    env.settle_clock();
    env.run("scan tree").ok();
    env.run("plan --keep under:tree/b")
        .ok()
        .says("2 files in 1 group");
    env.hard_link("tree/a/1", "tree/c");
    env.run("apply 1 --yes").code(1);
    assert_eq!(names(&env, "tree").len(), 4);
    env.remove("tree/c");
    env.settle_clock();
    env.run("scan tree").ok();
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 2 --yes")
        .ok()
        .says("2 files moved to the trash");
    assert_eq!(names(&env, "tree"), ["tree/b/1"]);
    env.run("undo").ok().says("2 files brought back");
    let inode = |path: &str| fs::metadata(env.path(path)).unwrap().ino();
    assert_eq!(inode("tree/a/1"), inode("tree/a/2"));
    env.run("scan tree").ok().says("0 B read");
}

#[test]
fn a_file_that_is_open_for_writing_is_skipped() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b").ok();
    let open = |path: &str| {
        fs::OpenOptions::new()
            .append(true)
            .open(env.path(path))
            .unwrap()
    };
    let _writers = (open("tree/a/1"), open("tree/b/2"));
    let run = env.run("apply 1 --yes");
    if run.exit == Some(0) {
        skip!("this filesystem has no leases");
    }
    run.code(1)
        .says("0 files moved to the trash")
        .says("a program has it open for writing");
    assert_eq!(names(&env, "tree").len(), 4);
}

#[test]
fn a_folder_protected_after_the_plan_is_not_touched_whatever_its_name() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    env.run("protect tree/a").ok();
    env.run("apply 1 --yes")
        .code(1)
        .says("in a protected folder");
    assert!(env.path("tree/a/1").exists());
}

#[test]
fn a_protected_folder_is_not_touched_through_a_bind_mount_either() {
    let env = TestEnv::new();
    env.random("keep/sub/f", 1, 5_000)
        .copy("keep/sub/f", "tree/f");
    env.folder("tree/mount").settle_clock();
    let script = "mount --bind keep/sub tree/mount && $DUPESCAN scan tree && \
                  $DUPESCAN protect keep && $DUPESCAN plan --keep shallowest; \
                  $DUPESCAN apply 1 --yes";
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounts are not permitted");
    };
    run.says("0 files moved to the trash")
        .says("on another mount of a disk with a protected folder");
    assert!(env.path("keep/sub/f").exists());
}

#[test]
fn a_parent_that_became_a_link_leads_nowhere() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    env.rename("tree/a", "elsewhere");
    env.symlink("../elsewhere", "tree/a");
    env.run("apply 1 --yes").code(1);
    assert!(env.path("elsewhere/1").exists());
}

#[test]
fn the_last_copy_stays_whatever_became_of_the_others() {
    let env = pairs(1);
    env.run("plan --keep under:tree/b").ok();
    env.remove("tree/b/1");
    env.run("apply 1 --yes").code(1);
    assert_eq!(names(&env, "tree"), ["tree/a/1"]);
    // Nor does a hard link to it count.
    env.hard_link("tree/a/1", "tree/b/1");
    env.run("apply 1 --yes").code(1);
    assert_eq!(names(&env, "tree").len(), 2);
}

#[test]
fn deleting_for_good_must_be_said_twice() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b --action delete").ok();
    let error = env.run("apply 1 --yes").refused(2);
    assert!(error.contains("--no-undo"), "{error}");
    let error = env.run("apply 1").refused(2);
    assert!(error.contains("--yes"), "{error}");
    env.run("apply 1 --yes --no-undo")
        .ok()
        .says("2 files deleted");
    assert_eq!(names(&env, "tree"), ["tree/b/1", "tree/b/2"]);
    assert_eq!(
        all_files(&env, "tree")
            .iter()
            .filter(|path| path.to_string_lossy().ends_with("/1"))
            .count(),
        1
    );
    env.run("undo").ok().says("0 files brought back");
}

#[test]
fn limits_end_a_run_and_the_next_one_continues() {
    let env = pairs(3);
    env.run("plan --keep under:tree/b").ok();
    env.run("apply 1 --yes --max-files 1")
        .ok()
        .says("1 file moved");
    assert_eq!(names(&env, "tree").len(), 5);
    env.run("apply 1 --yes --max-bytes 1")
        .ok()
        .says("1 file moved");
    env.run("apply 1 --yes").ok().says("1 file moved");
    assert_eq!(names(&env, "tree").len(), 3);
}

#[test]
fn so_many_copies_stay_as_were_asked_for_or_none_goes() {
    let env = pairs(1);
    env.copy("tree/a/1", "tree/c/1").settle_clock();
    env.run("scan tree").ok();
    env.run("plan --copies 2 --keep not-under:tree/a").ok();
    env.remove("tree/c/1");
    env.run("apply 1 --yes")
        .code(1)
        .says("fewer copies would stay");
    env.run("scan tree").ok();
    env.run("apply 1 --yes")
        .code(1)
        .says("fewer copies would stay");
    assert_eq!(names(&env, "tree"), ["tree/a/1", "tree/b/1"]);
}

#[test]
fn what_was_excluded_since_the_plan_is_not_touched() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b").ok();
    env.run("scan tree --exclude **/a/1 --exclude **/b/2").ok();
    env.run("apply 1 --yes").code(1).says("0 files moved");
    assert_eq!(names(&env, "tree").len(), 4);
}

#[test]
fn nothing_is_left_of_a_trash_folder_without_use() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b --action delete").ok();
    env.flip_secretly("tree/a/2", 3);
    env.run("apply 1 --yes --no-undo")
        .code(1)
        .says("1 file deleted");
    assert_eq!(all_files(&env, "tree").len(), 3);
    let entries = fs::read_dir(env.path("tree")).unwrap().count();
    assert_eq!(entries, 2);
}

#[test]
fn an_overlay_is_refused() {
    let env = TestEnv::new();
    env.random("lower/a", 1, 5_000).copy("lower/a", "lower/b");
    env.settle_clock();
    let script = "$DUPESCAN scan merged && $DUPESCAN plan --keep name:b && ls merged";
    let Some(run) = env.run_with_overlay(script) else {
        skip!("overlays are not permitted");
    };
    run.ok()
        .says("Nothing to plan")
        .says("on overlay, where files cannot be told apart");
}
