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
    let process = format!("process {} (dupescan scan)", scan.id());
    let status = env.run("status").ok().says(&format!("in use by {process}"));
    assert!(!status.out().contains("resume with"), "{}", status.out());
    let status = env.run("status --format json").ok().json();
    assert_eq!(status["catalog"]["in_use_by"], process);
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

/// The unfinished scan of a status document.
fn unfinished(env: &TestEnv) -> serde_json::Value {
    let status = env.run("status --format json").ok().json();
    let scans = status["unfinished"].as_array().unwrap();
    assert_eq!(scans.len(), 1, "{status}");
    scans[0].clone()
}

#[test]
fn a_scan_stopped_while_reading_says_how_many_bytes_are_left() {
    let env = TestEnv::new();
    // The larger pair is read first.
    env.random("tree/a", 1, 200_000).copy("tree/a", "tree/b");
    env.random("tree/c", 2, 100_000).copy("tree/c", "tree/d");
    env.random("tree/alone", 3, 50_000);
    let mut scan = env.start("scan tree --threads 1 --bwlimit 100k");
    let one_pair = || {
        env.db().exists()
            && env
                .run("status --format json")
                .out()
                .contains(r#""done":400000"#)
    };
    assert!(scan.wait_until(one_pair));
    scan.signal(rustix::process::Signal::INT);
    scan.wait().code(130);
    let found = unfinished(&env);
    assert_eq!(found["stage"], "hash");
    let expected =
        serde_json::json!({"of": "catalog", "unit": "bytes", "done": 400_000, "total": 600_000});
    assert_eq!(found["progress"], expected);
    assert!(found["age_seconds"].is_u64());
    env.run("status")
        .ok()
        .says("interrupted while reading, 66 % done: 390.6 KiB of 585.9 KiB");
    env.run("resume").ok();
    assert!(!env.run("status").ok().out().contains("% done"));
}

#[test]
fn a_scan_stopped_while_listing_counts_folders() {
    let env = TestEnv::new();
    env.file("tree/a/1", "x")
        .file("tree/b/2", "y")
        .file("tree/b/c/3", "z");
    env.run("scan tree").ok();
    let edit = |sql: &str| {
        let connection = rusqlite::Connection::open(env.db()).unwrap();
        connection.execute_batch(sql).unwrap();
    };
    edit(
        "UPDATE scans SET state = 'interrupted', stage = 'list';
          UPDATE folders SET visited_in = 0 WHERE name = x'63'",
    );
    let expected = serde_json::json!({"of": "scan", "unit": "folders", "done": 3, "total": 4});
    assert_eq!(unfinished(&env)["progress"], expected);
    edit("UPDATE scans SET subpath = CAST('b' AS BLOB)");
    let expected = serde_json::json!({"of": "scan", "unit": "folders", "done": 1, "total": 2});
    assert_eq!(unfinished(&env)["progress"], expected);
    env.run("status")
        .ok()
        .says("50 % done: 1 of 2 folders known so far");
    edit("UPDATE scans SET stage = 'settle'");
    assert_eq!(unfinished(&env)["progress"], serde_json::Value::Null);
    edit("UPDATE scans SET state = 'complete', subpath = x''; UPDATE folders SET visited_in = 1");
}

#[test]
fn a_scan_stopped_while_probing_counts_files_that_share_their_size() {
    let env = TestEnv::new();
    env.file("tree/a", "same")
        .file("tree/b", "same")
        .file("tree/c", "other");
    env.run("scan tree").ok();
    let edit = |sql: &str| {
        let connection = rusqlite::Connection::open(env.db()).unwrap();
        connection.execute_batch(sql).unwrap();
    };
    edit(
        "UPDATE scans SET state = 'interrupted', stage = 'probe';
          UPDATE files SET digest = NULL, compared = NULL, hashed_in = NULL WHERE name = x'61';
          UPDATE catalog SET unsettled = 1",
    );
    let expected = serde_json::json!({"of": "catalog", "unit": "files", "done": 1, "total": 2});
    assert_eq!(unfinished(&env)["progress"], expected);
    env.run("resume").ok();
    assert_eq!(env.groups().len(), 1);
}

#[test]
fn scans_that_read_together_have_one_progress() {
    let env = TestEnv::new();
    env.random("a/x", 1, 200_000).copy("a/x", "b/x");
    env.copy("a/x", "c/x");
    let mut scan = env.start("scan a b c --threads 1 --bwlimit 100k");
    let is_reading = || env.db().exists() && env.run("status").out().contains("while reading");
    assert!(scan.wait_until(is_reading));
    scan.signal(rustix::process::Signal::INT);
    scan.wait().code(130);
    let status = env.run("status").ok();
    let told = status.out();
    assert_eq!(told.matches("% done").count(), 1, "{told}");
    assert_eq!(
        told.matches("interrupted while reading\n").count(),
        3,
        "{told}"
    );
    assert!(
        told.contains("\nScans 1, 2, 3 together: 0 % done: 0 B of "),
        "{told}"
    );
    let unfinished = &env.run("status --format json").ok().json()["unfinished"];
    for scan in 0..3 {
        assert_eq!(
            unfinished[scan]["progress"]["of"], "catalog",
            "{unfinished}"
        );
    }
}
