//! `dupescan status`: what the catalog knows, and what is unfinished.

use crate::env::TestEnv;

#[test]
fn every_root_is_shown_with_its_counts() {
    let env = TestEnv::new();
    env.file("tree/a", "12345")
        .file("tree/sub/b", "1234567")
        .file("other/c", "x");
    env.run("scan tree other").ok();
    env.run("status")
        .ok()
        .says(env.path("tree").to_str().unwrap())
        .says(env.path("other").to_str().unwrap());
    let status = env.run("status --format json").ok().json();
    let text = status.to_string();
    assert!(text.contains(env.path("tree").to_str().unwrap()), "{text}");
    let root = find(&status, env.path("tree").to_str().unwrap());
    assert_eq!(root["files"], 2, "{root}");
    assert_eq!(root["bytes"], 12, "{root}");
}

/// The object in which some field is the path.
fn find<'a>(value: &'a serde_json::Value, path: &str) -> &'a serde_json::Value {
    let roots = value["roots"]
        .as_array()
        .unwrap_or_else(|| panic!("no roots in {value}"));
    let is_it = |root: &&serde_json::Value| root["path"] == path;
    roots
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("no {path} in {value}"))
}

#[test]
fn counts_follow_the_tree() {
    let env = TestEnv::new();
    env.file("tree/a", "12345").file("tree/b", "1");
    env.run("scan tree").ok();
    env.remove("tree/a").file("tree/c", "123");
    env.run("scan tree").ok();
    let status = env.run("status --format json").ok().json();
    let root = find(&status, env.path("tree").to_str().unwrap());
    assert_eq!(
        (&root["files"], &root["bytes"]),
        (&2.into(), &4.into()),
        "{root}"
    );
}

#[test]
fn an_interrupted_scan_is_unfinished_work() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 150_000).copy("tree/a", "tree/b");
    let mut scan = env.start("scan tree --bwlimit 150k");
    assert!(scan.wait_until(|| env.db().exists() && env.run("status").out().contains("running")));
    scan.signal(rustix::process::Signal::INT);
    scan.wait().code(130);
    env.run("status")
        .ok()
        .says("interrupted")
        .mentions("resume");
    env.run("resume").ok();
    let after = env.run("status").ok();
    assert!(!after.out().contains("interrupted"), "{}", after.describe());
}

#[test]
fn an_offline_root_is_called_so() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("other/b", "x");
    env.run("scan tree other").ok();
    assert!(!env.run("status").ok().out().contains("offline"));
    env.rename("tree", "aside");
    env.run("status").ok().says("offline");
}

#[test]
fn without_a_catalog_status_says_what_to_do() {
    let env = TestEnv::new();
    let message = env.run("status").refused(3);
    assert!(message.contains("dupescan scan"), "{message}");
}
