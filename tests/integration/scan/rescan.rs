//! Scanning again: nothing is read twice without reason, and nothing that
//! changed is missed.

use std::time::Duration;

use crate::env::oracle;
use crate::env::report_json::expected;
use crate::env::{Opens, TestEnv, skip};

/// Files of several sizes with duplicates, near-duplicates and links, old
/// enough to be trusted, scanned once.
fn scanned() -> TestEnv {
    let env = TestEnv::new();
    env.file("tree/small", "x").file("tree/small-too", "x");
    env.random("tree/large", 1, 200_000)
        .copy("tree/large", "tree/sub/large-too");
    env.copy("tree/large", "tree/near")
        .flip("tree/near", 100_000);
    env.random("tree/sub/unique", 2, 5_000)
        .hard_link("tree/large", "tree/sub/link");
    env.settle_clock();
    env.run("scan tree").ok();
    env
}

fn is_trusted(opens: &Opens, env: &TestEnv) {
    let opened = opens.files_below(&env.path("tree"));
    assert!(opened.is_empty(), "{opened:?}\n{}", opens.log());
}

#[test]
fn an_unchanged_tree_is_not_opened_again() {
    let env = scanned();
    let before = env.groups();
    let Some((run, opens)) = env.run_traced("scan tree") else {
        skip!("no strace to prove that nothing is opened");
    };
    run.ok();
    is_trusted(&opens, &env);
    assert_eq!(env.groups(), before);
    assert_eq!((env.last_scan("probed"), env.last_scan("hashed")), (0, 0));
    assert_eq!((env.last_scan("added"), env.last_scan("changed")), (0, 0));
}

#[test]
fn a_file_hashed_too_soon_after_its_change_is_read_again() {
    let env = TestEnv::new();
    env.with_real_youth();
    env.file("tree/a", "x").file("tree/b", "x");
    env.run("scan tree").ok();
    let Some((run, opens)) = env.run_traced("scan tree") else {
        skip!("no strace to see what is opened");
    };
    run.ok()
        .says("  2 of 2 files not trusted (last scanned less than 3 s after a change), 2 B read")
        .keeps_quiet_about("unchanged");
    assert_eq!(
        opens.files_below(&env.path("tree")).len(),
        2,
        "{}",
        opens.log()
    );
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
}

#[test]
fn a_changed_file_is_read_again_and_the_others_are_not() {
    let env = scanned();
    env.file("tree/small-too", "y");
    let Some((run, opens)) = env.run_traced("scan tree") else {
        skip!("no strace to see what is opened");
    };
    run.ok();
    let opened = opens.files_below(&env.path("tree"));
    assert!(opened.contains(&env.path("tree/small-too")), "{opened:?}");
    assert!(!opened.contains(&env.path("tree/large")), "{opened:?}");
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    assert_eq!(env.last_scan("changed"), 1);
}

#[test]
fn a_change_with_the_mtime_put_back_is_seen() {
    let env = scanned();
    env.flip_secretly("tree/sub/large-too", 100_000);
    env.run("scan tree").ok();
    let groups = env.groups();
    assert_eq!(groups, oracle::groups(&env.path(""), &["tree"]));
    // It became what `near` was.
    assert!(groups.contains(&["tree/near", "tree/sub/large-too"].map(Into::into).into()));
}

#[test]
fn vanished_files_are_marked_as_deleted_and_returning_ones_restored() {
    let env = scanned();
    env.rename("tree/small-too", "data/aside");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    assert_eq!(env.last_scan("removed"), 1);
    let deleted: i64 = env.sql("SELECT count(*) FROM files WHERE removed_in IS NOT NULL");
    assert_eq!(deleted, 1);
    env.rename("data/aside", "tree/small-too");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    assert_eq!(env.last_scan("restored"), 1);
    let deleted: i64 = env.sql("SELECT count(*) FROM files WHERE removed_in IS NOT NULL");
    assert_eq!(deleted, 0);
}

#[test]
fn a_vanished_folder_takes_its_files_along_and_brings_them_back() {
    let env = scanned();
    env.rename("tree/sub", "data/aside");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    env.rename("data/aside", "tree/sub");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    assert_eq!(env.groups().len(), 2);
}

#[test]
fn a_moved_folder_is_not_read_again() {
    let env = scanned();
    env.rename("tree/sub", "tree/moved");
    let Some((run, opens)) = env.run_traced("scan tree") else {
        skip!("no strace to prove that nothing is opened");
    };
    run.ok();
    is_trusted(&opens, &env);
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn a_name_that_is_something_else_now_is_no_file_any_more() {
    let env = scanned();
    for what in ["folder", "link", "pipe", "socket"] {
        env.remove("tree/small");
        match what {
            "folder" => env.file("tree/small/inside", "z"),
            "link" => env.symlink("small-too", "tree/small"),
            "pipe" => env.fifo("tree/small"),
            _ => env.socket("tree/small"),
        };
        for _ in 0..2 {
            env.run("scan tree").ok();
            let truth = oracle::groups(&env.path(""), &["tree"]);
            assert_eq!(env.groups(), truth, "it is a {what} now");
        }
        env.remove("tree/small").file("tree/small", "x");
        env.run("scan tree").ok();
        let truth = oracle::groups(&env.path(""), &["tree"]);
        assert_eq!(env.groups(), truth, "it was a {what}");
    }
}

#[test]
fn a_folder_that_is_something_else_now_takes_its_files_along() {
    let env = scanned();
    for what in ["file", "link"] {
        env.remove("tree/sub");
        match what {
            "file" => env.file("tree/sub", "x"),
            _ => env.symlink(".", "tree/sub"),
        };
        for _ in 0..2 {
            env.run("scan tree").ok();
            let truth = oracle::groups(&env.path(""), &["tree"]);
            assert_eq!(env.groups(), truth, "it is a {what} now");
        }
        env.remove("tree/sub")
            .copy("tree/large", "tree/sub/large-too");
        env.run("scan tree").ok();
        let truth = oracle::groups(&env.path(""), &["tree"]);
        assert_eq!(env.groups(), truth, "it was a {what}");
    }
}

#[test]
fn an_inode_given_to_a_new_file_inherits_no_digest() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 150_000).copy("tree/a", "tree/b");
    env.run("scan tree").ok();
    for round in 0..10 {
        env.remove("tree/b").random("tree/b", 100 + round, 150_000);
        env.run("scan tree").ok();
        assert_eq!(env.groups(), expected(&[]), "round {round}");
        env.remove("tree/b").copy("tree/a", "tree/b");
        env.run("scan tree").ok();
        assert_eq!(
            env.groups(),
            expected(&[&["tree/a", "tree/b"]]),
            "round {round}"
        );
    }
}

#[test]
fn rehash_reads_everything_again() {
    let env = scanned();
    let Some((run, opens)) = env.run_traced("scan tree --rehash") else {
        skip!("no strace to see what is opened");
    };
    run.ok();
    let opened = opens.files_below(&env.path("tree"));
    // A link is another name of `large`: either will do.
    for name in ["small", "small-too", "near", "sub/large-too"] {
        assert!(
            opened.contains(&env.path("tree").join(name)),
            "{name} is not in {opened:?}"
        );
    }
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn ignore_ctime_trusts_a_file_whose_ctime_alone_moved() {
    let env = scanned();
    env.chmod("tree/sub/large-too", 0o600);
    let Some((run, opens)) = env.run_traced("scan tree --ignore-ctime") else {
        skip!("no strace to see what is opened");
    };
    run.ok();
    is_trusted(&opens, &env);
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));

    // Without the option the same is a reason to read, and counted.
    let env = scanned();
    env.chmod("tree/sub/large-too", 0o600);
    let (run, opens) = env.run_traced("scan tree").unwrap();
    run.ok();
    let opened = opens.files_below(&env.path("tree"));
    assert!(
        opened.contains(&env.path("tree/sub/large-too")),
        "{opened:?}"
    );
    assert_eq!(env.last_scan("ctime_only"), 1);
}

#[test]
fn a_class_found_different_is_not_read_again() {
    // Same size, head and tail; all different: nothing to report, and known.
    let env = TestEnv::new();
    env.random("tree/a", 1, 200_000);
    for (name, at) in [("b", 60_000), ("c", 100_000), ("d", 140_000)] {
        let name = format!("tree/{name}");
        env.copy("tree/a", &name).flip(&name, at);
    }
    env.settle_clock();
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[]));
    let Some((run, opens)) = env.run_traced("scan tree") else {
        skip!("no strace to prove that nothing is opened");
    };
    run.ok();
    is_trusted(&opens, &env);
    // A new member that equals one of them is found all the same.
    env.copy("tree/c", "tree/e");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[&["tree/c", "tree/e"]]));
}

#[test]
fn a_vanished_root_is_offline_not_empty() {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("tree/b", "x")
        .file("other/c", "x");
    env.run("scan tree other").ok();
    env.rename("tree", "data/aside");
    let message = env.run("scan tree").refused(3);
    assert!(
        message.contains(env.path("tree").to_str().unwrap()),
        "{message}"
    );
    let deleted: i64 = env.sql("SELECT count(*) FROM files WHERE removed_in IS NOT NULL");
    assert_eq!(deleted, 0);
    env.run("status").ok().says("offline");
    env.rename("data/aside", "tree");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[&["other/c", "tree/a", "tree/b"]]));
}

#[test]
fn an_unmounted_root_is_offline_not_empty() {
    let env = TestEnv::new();
    let script = "mount -t tmpfs none tree; echo x > tree/a; echo x > tree/b; $DUPESCAN scan tree; \
                  umount tree; $DUPESCAN scan tree && exit 50 || code=$?; \
                  $DUPESCAN status; exit $code";
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    run.code(3).says("offline");
    let deleted: i64 = env.sql("SELECT count(*) FROM files WHERE removed_in IS NOT NULL");
    assert_eq!(deleted, 0, "an empty mount point is not a deletion");
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM live_files"), 2);
}

#[test]
fn a_disk_gone_from_below_a_root_is_not_a_deletion() {
    let env = TestEnv::new();
    env.folder("tree/disk").file("tree/a", "x\n");
    let script = "mount -t tmpfs none tree/disk; echo x > tree/disk/b; $DUPESCAN scan tree; \
                  umount tree/disk; exec $DUPESCAN scan tree";
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    let run = run.code(3).says("tree/disk is offline");
    let deleted: i64 = env.sql("SELECT count(*) FROM files WHERE removed_in IS NOT NULL");
    assert_eq!(deleted, 0, "{}", run.describe());
}

#[test]
fn a_rescan_is_much_faster() {
    let env = TestEnv::new();
    for number in 0..120_u64 {
        env.random(format!("tree/{number}"), number / 3, 100_000);
    }
    env.settle_clock();
    let first = env.run("scan tree --hash sha3-256").ok().elapsed;
    let second = env.run("scan tree").ok().elapsed;
    assert!(
        second * 3 < first + Duration::from_millis(50),
        "{first:?}, then {second:?}"
    );
}

#[test]
fn allow_empty_believes_that_all_was_deleted() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("tree/b", "x");
    env.run("scan tree").ok();
    env.remove("tree/a").remove("tree/b");
    let message = env.run("scan tree").refused(3);
    assert!(message.contains("--allow-empty"), "{message}");
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
    env.run("scan tree --allow-empty").ok();
    assert_eq!(env.groups(), expected(&[]));
    assert_eq!(env.last_scan("removed"), 2);
}

#[test]
fn moved_believes_another_filesystem() {
    let env = TestEnv::new();
    env.file("tree/a", "x\n").file("tree/b", "x\n");
    env.run("scan tree").ok();
    let script = "mount -t tmpfs none tree; echo y > tree/a; echo y > tree/c; \
                  $DUPESCAN scan tree && exit 50 || test $? = 3; \
                  $DUPESCAN scan tree --moved; $DUPESCAN report --format fdupes > groups";
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    run.ok().complains("--moved");
    let groups = std::fs::read_to_string(env.path("groups")).unwrap();
    assert_eq!(groups.lines().count(), 2, "{groups}");
    assert!(
        groups.contains("tree/a") && groups.contains("tree/c"),
        "{groups}"
    );
}

/// The line of a summary that counts the groups.
fn headline(env: &TestEnv) -> String {
    let out = env.run("scan tree").ok().out();
    let line = out.lines().find(|line| line.contains("uplicate"));
    line.expect("a line about duplicates").to_owned()
}

#[test]
fn the_summary_of_an_unchanged_tree_is_kept_until_a_group_changes() {
    let env = TestEnv::new();
    env.file("tree/a", "same")
        .file("tree/b", "same")
        .file("tree/c", "same")
        .file("tree/d", "other")
        .file("tree/e", "other");
    env.settle_clock();
    let first = headline(&env);
    assert!(first.starts_with("2 duplicate groups, 5 copies"), "{first}");
    env.settle_clock();
    assert_eq!(headline(&env), first);
    env.remove("tree/c");
    assert!(headline(&env).starts_with("2 duplicate groups, 4 copies"));
    env.file("tree/e", "");
    assert!(headline(&env).starts_with("1 duplicate group, 2 copies"));
    env.rename("tree/b", "elsewhere");
    assert!(headline(&env).starts_with("No duplicates"));
}

/// Folders of more than 10,000 entries are worked off in parts.
#[test]
fn a_large_folder_is_compared_part_by_part() {
    let env = TestEnv::new();
    let name = |number: usize| format!("tree/{number:05}");
    env.folder("tree");
    for number in 0..20_100 {
        std::fs::File::create(env.path(name(number))).unwrap();
    }
    // A pair across the border of two parts, and one in the last part.
    env.file(name(9_999), "pair").file(name(10_000), "pair");
    env.file(name(20_010), "twin").file(name(20_011), "twin");
    env.file("tree/00000-folder/inner", "pair");
    env.settle_clock();
    env.run("scan tree").ok();
    assert_eq!(env.last_scan("files"), 20_101);
    assert_eq!(env.last_scan("folders"), 2);
    assert_eq!(env.groups().len(), 2);
    for number in [0, 9_999, 10_001, 20_099] {
        std::fs::remove_file(env.path(name(number))).unwrap();
    }
    env.file("tree/05000-new", "x").file("tree/99999-new", "x");
    env.run("scan tree").ok();
    let counts = ["files", "added", "removed", "changed"].map(|count| env.last_scan(count));
    assert_eq!(counts, [20_099, 2, 4, 0]);
    assert_eq!(env.groups().len(), 3);
    env.run("scan tree").ok();
    let counts = ["files", "added", "removed", "changed"].map(|count| env.last_scan(count));
    assert_eq!(counts, [20_099, 0, 0, 0]);
}
