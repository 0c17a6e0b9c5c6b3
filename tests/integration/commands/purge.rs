//! `dupescan purge`: rows of deleted files are dropped, and their space with them.

use crate::env::TestEnv;
use crate::env::report_json::expected;

fn deleted(env: &TestEnv) -> i64 {
    env.sql("SELECT count(*) FROM files WHERE removed_in IS NOT NULL")
}

#[test]
fn deleted_files_are_purged_and_live_ones_stay() {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("tree/b", "x")
        .file("tree/gone/c", "x")
        .file("tree/d", "x");
    env.run("scan tree").ok();
    env.remove("tree/gone").remove("tree/d");
    env.run("scan tree").ok();
    assert_eq!(deleted(&env), 2);
    env.run("purge").ok().mentions("2");
    assert_eq!(deleted(&env), 0);
    assert_eq!(
        env.sql::<i64>("SELECT count(*) FROM folders WHERE removed_in IS NOT NULL"),
        0
    );
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
    // What was purged may come back.
    env.file("tree/gone/c", "x");
    env.run("scan tree").ok();
    assert_eq!(
        env.groups(),
        expected(&[&["tree/a", "tree/b", "tree/gone/c"]])
    );
}

#[test]
fn before_keeps_what_was_deleted_later() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("tree/b", "x");
    env.run("scan tree").ok();
    env.remove("tree/b");
    env.run("scan tree").ok();
    for before in ["1d", "2000-01-01", "2001-02-03T04:05:06Z"] {
        env.run(&format!("purge --before {before}")).ok();
        assert_eq!(deleted(&env), 1, "{before}");
    }
    env.run("purge --before 2999-01-01").ok();
    assert_eq!(deleted(&env), 0);
}

#[test]
fn the_space_is_given_back() {
    let env = TestEnv::new();
    env.file("tree/stays", "x");
    for number in 0..4_000 {
        env.file(
            format!("tree/gone/a-rather-long-name-to-fill-pages-{number}"),
            "",
        );
    }
    env.run("scan tree").ok();
    env.remove("tree/gone");
    env.run("scan tree").ok();
    let before = env.db().metadata().unwrap().len();
    env.run("purge").ok();
    let after = env.db().metadata().unwrap().len();
    assert!(after * 2 < before, "{before} bytes before, {after} after");
}

#[test]
fn nothing_to_purge_is_fine() {
    let env = TestEnv::new();
    env.file("tree/a", "x");
    env.run("scan tree").ok();
    env.run("purge").ok();
    env.run("purge").ok().says("nothing to purge\n");
}
