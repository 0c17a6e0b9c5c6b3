//! Roots that are gone next to healthy ones: the healthy ones are scanned,
//! the others are named, and nothing of them is changed.

use rustix::process::Signal;

use crate::env::report_json::expected;
use crate::env::run::Run;
use crate::env::{TestEnv, skip};

/// Two scanned roots, the second of which then got a new copy.
fn two_roots() -> TestEnv {
    let env = TestEnv::new();
    env.file("gone/a", "same").file("gone/b", "same");
    env.file("well/c", "same");
    env.run("scan gone well").ok();
    env.file("well/d", "same");
    env
}

/// That the sentence about `gone` is the only one, and all else was done.
fn did_the_rest(env: &TestEnv, run: Run) {
    let run = run.code(3).says("1 root offline and not scanned");
    let gone = env.path("gone").display().to_string();
    let named = run
        .err()
        .lines()
        .filter(|line| line.contains(&gone))
        .count();
    assert_eq!(named, 1, "{}", run.describe());
    let deleted = "SELECT count(*) FROM files WHERE removed_in IS NOT NULL";
    assert_eq!(env.sql::<i64>(deleted), 0);
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM live_files"), 4);
    let scans = |root| {
        env.sql::<i64>(&format!(
            "SELECT count(*) FROM scans JOIN roots ON roots.id = scans.root
              WHERE state = 'complete' AND CAST(path AS TEXT) LIKE '%/{root}'"
        ))
    };
    assert_eq!((scans("gone"), scans("well")), (1, 2));
}

#[test]
fn a_missing_root_does_not_keep_others_from_being_scanned() {
    let env = two_roots();
    env.rename("gone", "data/aside");
    did_the_rest(&env, env.run("scan gone well"));
    env.rename("data/aside", "gone").run("scan gone well").ok();
    let all: &[&str] = &["gone/a", "gone/b", "well/c", "well/d"];
    assert_eq!(env.groups(), expected(&[all]));
}

#[test]
fn an_emptied_root_does_not_keep_others_from_being_scanned() {
    let env = two_roots();
    env.rename("gone", "data/aside").folder("gone");
    did_the_rest(&env, env.run("scan gone well"));
}

#[test]
fn a_root_on_another_filesystem_does_not_keep_others_from_being_scanned() {
    let env = two_roots();
    let script = "mount -t tmpfs none gone; echo other > gone/x; exec $DUPESCAN scan gone well";
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    did_the_rest(&env, run);
}

#[test]
fn every_root_that_is_offline_is_named() {
    let env = two_roots();
    env.rename("gone", "data/1").rename("well", "data/2");
    let run = env.run("scan gone well --hash blake3").code(3);
    for root in ["gone", "well"] {
        let sentence = format!("the root {} is offline", env.path(root).display());
        assert_eq!(
            run.err().matches(&sentence).count(),
            1,
            "{}",
            run.describe()
        );
    }
    assert_eq!(env.sql::<String>("SELECT algorithm FROM catalog"), "sha256");
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM scans"), 2);
}

#[test]
fn a_mistyped_path_refuses_the_whole_command() {
    let env = two_roots();
    env.rename("gone", "data/aside");
    env.run("scan gone well nowhere").refused(2);
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM scans"), 2);
}

#[test]
fn resume_scans_the_roots_that_are_there() {
    let env = TestEnv::new();
    for name in ["gone/a", "gone/b", "well/a", "well/b"] {
        env.file(name, vec![7; 300_000]);
    }
    env.folder("c").run("scan c").ok();
    let mut scan = env.start("scan --bwlimit 300k gone well");
    let hashing = "SELECT count(*) FROM scans WHERE stage = 'hash'";
    assert!(scan.wait_until(|| env.sql::<i64>(hashing) == 2));
    scan.signal(Signal::INT);
    scan.wait().code(130);
    env.rename("gone", "data/aside");
    env.run("resume").code(3).complains("is offline");
    assert_eq!(env.groups(), expected(&[&["well/a", "well/b"]]));
    env.rename("data/aside", "gone").run("resume").ok();
    let all: &[&str] = &["gone/a", "gone/b", "well/a", "well/b"];
    assert_eq!(env.groups(), expected(&[all]));
}

#[test]
fn retry_reads_the_roots_that_are_there() {
    let env = TestEnv::new();
    for name in ["gone/locked", "well/locked"] {
        env.folder(name).chmod(name, 0);
    }
    env.file("gone/a", "same").file("well/b", "same");
    let Some(run) = env.run_unprivileged("scan gone well") else {
        skip!("cannot give up the right to read everything");
    };
    run.code(1);
    for name in ["gone/locked", "well/locked"] {
        env.chmod(name, 0o755);
    }
    env.rename("gone", "data/aside");
    env.run("retry").code(3).complains("is offline");
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM faults"), 1);
    env.rename("data/aside", "gone").run("retry").ok();
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM faults"), 0);
}
