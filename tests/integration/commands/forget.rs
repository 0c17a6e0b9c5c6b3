//! `dupescan forget`: a root and all its rows are gone, the files are not.

use crate::env::TestEnv;
use crate::env::report_json::expected;

#[test]
fn a_root_is_forgotten_with_all_its_rows() {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("tree/sub/b", "x")
        .file("other/c", "x")
        .file("other/d", "x");
    env.run("scan tree other").ok();
    env.run("forget tree").ok();
    assert_eq!(env.groups(), expected(&[&["other/c", "other/d"]]));
    env.run("status")
        .ok()
        .keeps_quiet_about(env.path("tree").to_str().unwrap());
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM files"), 2);
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM folders"), 1);
    assert!(env.path("tree/a").exists());
    // And can be found again.
    env.run("scan tree").ok();
    let all: &[&str] = &["other/c", "other/d", "tree/a", "tree/sub/b"];
    assert_eq!(env.groups(), expected(&[all]));
}

#[test]
fn status_and_report_agree_on_the_totals_afterwards() {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("other/c", "x")
        .file("other/d", "x");
    env.file("tree/e", "yy").file("tree/f", "yy");
    env.run("scan tree other").ok();
    let totals = |line: &str| env.run(line).ok().json()["totals"].clone();
    assert_eq!(totals("status --format json")["groups"], 2);
    env.run("forget tree").ok();
    let (status, report) = (
        totals("status --format json"),
        totals("report --format json"),
    );
    assert_eq!(status["groups"], 1);
    assert_eq!(status["copies"], report["copies"]);
    assert_eq!(status["reclaimable"], report["reclaimable"]);
}

#[test]
fn a_root_that_is_gone_can_be_forgotten() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("other/c", "x");
    env.run("scan tree other").ok();
    env.remove("tree");
    env.run("forget tree").ok();
    env.run("status").ok().keeps_quiet_about("offline");
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM roots"), 1);
}

#[test]
fn what_is_no_root_is_refused_and_named() {
    let env = TestEnv::new();
    env.file("tree/sub/a", "x");
    env.run("scan tree").ok();
    for path in ["tree/sub", "nowhere"] {
        let run = env.run(&format!("forget {path}"));
        assert!(matches!(run.exit, Some(2 | 3)), "{}", run.describe());
        run.complains(path).complains("not a root");
    }
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM files"), 1);
}
