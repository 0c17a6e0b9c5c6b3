//! States of the filesystem that are legal and rare, and must neither lose a
//! duplicate nor invent one, nor mark anything as deleted that is not.

use std::time::Duration;

use crate::env::report_json::expected;
use crate::env::{TestEnv, skip};

/// 100 kB whose head and tail are those of every other such file.
fn alike(env: &TestEnv, path: &str, middle: &str) {
    let mut content = vec![0; 100_000];
    content[40_000..40_000 + middle.len()].copy_from_slice(middle.as_bytes());
    env.file(path, content);
}

fn removed(env: &TestEnv) -> i64 {
    env.sql("SELECT count(*) FROM files WHERE removed_in IS NOT NULL")
}

#[test]
fn a_settled_file_that_was_away_is_compared_with_what_came_meanwhile() {
    let env = TestEnv::new();
    alike(&env, "tree/d/a", "one");
    alike(&env, "tree/b", "two");
    env.settle_clock().run("scan tree").ok();
    env.rename("tree/d", "away");
    alike(&env, "tree/c", "one");
    env.settle_clock().run("scan tree").ok();
    env.rename("away", "tree/d");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[&["tree/c", "tree/d/a"]]));
}

#[test]
fn a_settled_file_under_a_new_name_is_compared_with_what_came_meanwhile() {
    let env = TestEnv::new();
    alike(&env, "tree/d/a", "one");
    alike(&env, "tree/b", "two");
    env.settle_clock().run("scan tree").ok();
    env.rename("tree/d", "away");
    alike(&env, "tree/c", "one");
    env.settle_clock().run("scan tree").ok();
    env.rename("away", "tree/e");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[&["tree/c", "tree/e/a"]]));
}

#[test]
fn a_digested_file_that_was_away_is_compared_with_what_was_settled_meanwhile() {
    let env = TestEnv::new();
    alike(&env, "tree/d/a", "one");
    alike(&env, "tree/d/b", "one");
    env.settle_clock().run("scan tree").ok();
    env.rename("tree/d", "away");
    alike(&env, "tree/c", "one");
    alike(&env, "tree/e", "two");
    env.settle_clock().run("scan tree").ok();
    env.rename("away", "tree/d");
    env.run("scan tree").ok();
    assert_eq!(
        env.groups(),
        expected(&[&["tree/c", "tree/d/a", "tree/d/b"]])
    );
}

#[test]
fn a_settled_file_of_an_offline_root_is_compared_when_it_is_back() {
    let env = TestEnv::new();
    alike(&env, "one/a", "one");
    alike(&env, "two/b", "two");
    env.settle_clock().run("scan one two").ok();
    env.rename("one", "away");
    alike(&env, "three/c", "one");
    env.settle_clock().run("scan three").ok();
    assert_ne!(env.last_scan("unchecked"), 0);
    env.rename("away", "one");
    env.run("scan one").ok();
    assert_eq!(env.groups(), expected(&[&["one/a", "three/c"]]));
    assert_eq!(env.last_scan("unchecked"), 0);
}

#[test]
fn a_replaced_name_says_nothing_about_the_other_names_of_its_old_inode() {
    let env = TestEnv::new();
    env.file("tree/1", "old!").hard_link("tree/1", "tree/2");
    env.file("tree/z", "new!");
    env.run("scan --mode folders tree").ok();
    env.remove("tree/1").file("tree/1", "new!");
    env.run("scan --mode files tree").ok();
    let copies = env.copies();
    assert!(!format!("{copies:?}").contains("tree/2"), "{copies:?}");
    assert_eq!(env.groups(), expected(&[&["tree/1", "tree/z"]]));
}

#[test]
fn an_offline_root_is_not_absorbed() {
    let env = TestEnv::new();
    env.file("tree/disk/a", "same").file("tree/disk/b", "same");
    env.run("scan tree/disk").ok();
    env.rename("tree/disk", "away").folder("tree/disk");
    env.run("scan tree").code(3).complains("offline");
    assert_eq!(removed(&env), 0);
    env.run("scan --allow-empty tree").ok();
    assert_eq!(removed(&env), 2);
}

#[test]
fn retry_skips_an_offline_root() {
    let env = TestEnv::new();
    env.file("tree/a", "same").file("tree/sub/b", "same");
    env.run("scan tree").ok();
    env.chmod("tree", 0o444);
    let Some(run) = env.run_unprivileged("scan tree") else {
        skip!("cannot give up the right to read everything");
    };
    run.code(1);
    env.chmod("tree", 0o755);
    env.rename("tree", "away").folder("tree");
    env.run("retry").code(3).complains("offline");
    assert_eq!(removed(&env), 0);
}

#[test]
fn retry_lists_a_folder_inside_another_once() {
    let env = TestEnv::new();
    env.file("tree/a", "same").folder("tree/p/c");
    env.chmod("tree/p/c", 0);
    let Some(run) = env.run_unprivileged("scan tree") else {
        skip!("cannot give up the right to read everything");
    };
    run.code(1);
    env.chmod("tree/p", 0);
    env.run_unprivileged("scan tree").unwrap().code(1);
    env.chmod("tree/p", 0o755).chmod("tree/p/c", 0o755);
    env.file("tree/p/c/x/f", "same").file("tree/p/c/g", "same");
    env.run("retry").ok();
    assert_eq!(
        env.groups(),
        expected(&[&["tree/a", "tree/p/c/g", "tree/p/c/x/f"]])
    );
}

#[test]
fn an_unreadable_folder_does_not_keep_a_resumed_scan_of_two_roots_going() {
    let env = TestEnv::new();
    for name in ["a/1", "a/2", "b/1", "b/2"] {
        env.file(name, vec![7; 3_000_000]);
    }
    // So that there is a catalog to look into.
    env.folder("c").run("scan c").ok();
    let mut scan = env.start("scan --bwlimit 100k a b");
    scan.wait_until(|| env.sql::<i64>("SELECT count(*) FROM scans WHERE stage = 'hash'") == 2);
    scan.signal(rustix::process::Signal::INT);
    scan.wait().code(130);
    env.folder("a/locked").chmod("a/locked", 0);
    let Some(run) = env.run_unprivileged("scan a b") else {
        skip!("cannot give up the right to read everything");
    };
    run.code(1);
    assert_eq!(env.sql::<i64>("SELECT attempts FROM faults"), 1);
}

#[test]
fn folders_that_changed_their_kind_since_the_stop_are_no_errors() {
    let env = TestEnv::new();
    for n in 0..40 {
        env.file(format!("tree/{n}/x/y"), "same");
    }
    for name in ["tree/1/big", "tree/2/big"] {
        env.file(name, vec![7; 500_000]);
    }
    env.folder("c").run("scan c").ok();
    let mut scan = env.start("scan --bwlimit 300k tree");
    scan.wait_until(|| env.sql::<i64>("SELECT count(*) FROM scans WHERE stage = 'hash'") == 1);
    scan.signal(rustix::process::Signal::INT);
    scan.wait().code(130);
    for n in 10..40 {
        env.remove(format!("tree/{n}"));
        env.file(format!("tree/{n}"), "no longer a folder");
        env.folder(format!("tree/{}/new{n}/er", n % 10));
    }
    env.run("resume").ok();
    assert_eq!(removed(&env), 30);
    env.run("resume").ok().says("nothing to resume");
}

#[test]
fn waiting_for_bandwidth_is_no_standstill() {
    let env = TestEnv::new();
    for n in 0..3 {
        env.random(format!("tree/a{n}"), n, 100_000 + n as usize);
        env.copy(format!("tree/a{n}"), format!("tree/b{n}"));
    }
    env.run("scan --threads 3 --bwlimit 50k --item-timeout 2s tree")
        .ok();
    assert_eq!(env.groups().len(), 3);
}

#[test]
fn a_scan_ends_when_its_last_item_is_given_up() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 100_000).copy("tree/a", "tree/b");
    let mut strace = env.bare_command("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null", "-P"]);
    strace.arg(env.path("tree/b"));
    strace.args(["-e", "trace=pread64"]);
    strace.args(["-e", "inject=pread64:delay_enter=5s"]);
    strace.arg(env!("CARGO_BIN_EXE_dupescan"));
    strace.arg("--db").arg(env.db());
    strace.args(["scan", "--item-timeout", "1s", "tree"]);
    if which_strace().is_none() {
        skip!("no strace to make reads hang");
    }
    env.finish(strace).code(1).mentions(" errors");
}

fn which_strace() -> Option<()> {
    let mut strace = std::process::Command::new("strace");
    let can = strace.args(["-o", "/dev/null", "true"]).status();
    can.is_ok_and(|status| status.success()).then_some(())
}

#[test]
fn a_reader_does_not_hold_up_the_end_of_a_scan() {
    let env = TestEnv::new();
    env.file("tree/a", "same").file("tree/b", "same");
    env.run("scan tree").ok();
    let reader = rusqlite::Connection::open(env.db()).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM files").unwrap();
    env.file("tree/c", "same");
    let run = env.run("scan tree").ok();
    assert!(run.elapsed < Duration::from_secs(4), "{:?}", run.elapsed);
    drop(reader);
}

#[test]
fn an_unmounted_disk_below_a_root_loses_nothing() {
    let env = TestEnv::new();
    let Some(run) = env.run_with_mounts(
        "mkdir -p tree/m tree/user/m
         mount -t tmpfs none tree/m
         mount -t tmpfs none tree/user/m
         echo hello > tree/m/x
         echo longer hello > tree/user/m/y
         $DUPESCAN scan tree
         umount tree/m tree/user/m
         rm -r tree/user
         echo hullo > tree/n
         $DUPESCAN scan tree || test $? = 3",
    ) else {
        skip!("cannot mount");
    };
    run.ok();
    assert_eq!(removed(&env), 0);
}

#[test]
fn a_link_that_cannot_be_followed_now_removes_nothing() {
    let env = TestEnv::new();
    env.file("out/t", "same").file("tree/k", "same");
    env.symlink("../out/t", "tree/l");
    env.run("scan --follow-links tree").ok();
    env.chmod("out", 0);
    let Some(run) = env.run_unprivileged("scan --follow-links tree") else {
        skip!("cannot give up the right to read everything");
    };
    run.code(1);
    env.chmod("out", 0o755);
    assert_eq!(removed(&env), 0);
}

#[test]
fn a_folder_is_listed_under_its_real_path_before_any_link_to_it() {
    let env = TestEnv::new();
    for n in 0..20 {
        env.file(format!("tree/a{n}/deep/er/x"), "same");
        env.symlink(format!("a{n}/deep"), format!("tree/link{n}"));
    }
    env.run("scan --follow-links tree").ok();
    let report = env.run("report --format fdupes").ok().out();
    assert_eq!(report.lines().filter(|l| l.contains("/deep/")).count(), 20);
    assert!(!report.contains("/link"), "{report}");
}

#[test]
fn rows_below_a_link_end_when_the_folder_gets_a_path_of_its_own() {
    let env = TestEnv::new();
    env.file("out/x", "old!").symlink("../out", "tree/link");
    env.file("tree/z", "old!");
    env.settle_clock().run("scan --follow-links tree").ok();
    assert_eq!(env.groups(), expected(&[&["tree/link/x", "tree/z"]]));
    env.rename("out", "tree/real").remove("tree/link");
    env.symlink("real", "tree/link");
    env.run("scan --follow-links tree").ok();
    assert_eq!(env.groups(), expected(&[&["tree/real/x", "tree/z"]]));
    env.file("tree/real/x", "new!");
    env.run("scan --follow-links tree").ok();
    assert_eq!(env.groups(), expected(&[]));
}

#[test]
fn a_root_that_another_one_links_to_is_listed_all_the_same() {
    let env = TestEnv::new();
    env.file("b/x", "same").file("b/sub/y", "same");
    env.folder("a").symlink("../b", "a/link");
    env.run("scan --follow-links a b").ok();
    assert_eq!(
        env.sql::<i64>("SELECT max(files) FROM roots WHERE path LIKE '%/b'"),
        2
    );
}

#[test]
fn an_interrupted_retry_is_not_resumed_as_a_scan() {
    let env = TestEnv::new();
    env.file("tree/a", "same").file("tree/skip/b", "same");
    env.run("scan --exclude skip tree").ok();
    rusqlite::Connection::open(env.db())
        .unwrap()
        .execute_batch(
            "INSERT INTO scans (root, state, stage, mode, algorithm, options, started_at, updated_at)
             SELECT root, 'interrupted', 'list', 'retry', algorithm, '{}', started_at, updated_at
               FROM scans",
        )
        .unwrap();
    env.run("resume").ok();
    assert_eq!(env.groups(), expected(&[]));
}
