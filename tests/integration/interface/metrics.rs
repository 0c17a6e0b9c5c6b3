//! `--metrics-file`: figures for a program that collects them.

use std::fs;

use crate::env::TestEnv;

/// The value of a figure without labels.
fn value(env: &TestEnv, file: &str, name: &str) -> f64 {
    let text = fs::read_to_string(env.path(file)).unwrap();
    let start = format!("dupescan_{name} ");
    let line = text.lines().find(|line| line.starts_with(&start));
    let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
    line[start.len()..].parse().unwrap()
}

#[test]
fn a_scan_leaves_its_figures_behind() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 100_000)
        .copy("tree/a", "tree/sub/b")
        .file("tree/c", "x");
    env.run("scan tree --metrics-file data/scan.prom").ok();
    let figure = |name: &str| value(&env, "data/scan.prom", name);
    assert_eq!(figure("running"), 0.0);
    assert_eq!(figure("folders_listed_total"), 2.0);
    assert_eq!(figure("files_seen_total"), 3.0);
    assert_eq!(figure("files_hashed_total"), 2.0);
    assert_eq!(figure("bytes_hashed_total"), 200_000.0);
    assert_eq!(figure("errors_total"), 0.0);
    assert_eq!(figure("queue_items"), 0.0);
    let text = fs::read_to_string(env.path("data/scan.prom")).unwrap();
    assert!(
        text.contains("dupescan_item_duration_seconds_count{kind=\"list\"} 2\n"),
        "{text}"
    );
}

#[test]
fn the_file_moves_while_a_scan_runs_and_ends_with_it() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 400_000).copy("tree/a", "tree/b");
    env.file(
        "home/config/dupescan/config.toml",
        "metrics_interval = \"100ms\"\n",
    );
    let mut command = env.command(["scan", "tree", "--bwlimit", "100k"]);
    command.env("DUPESCAN_METRICS_FILE", env.path("data/live.prom"));
    let mut scan = crate::env::Background::start(command);
    let live = env.path("data/live.prom");
    assert!(
        scan.wait_until(
            || live.exists() && value(&env, "data/live.prom", "bytes_to_hash_total") > 0.0
        )
    );
    assert_eq!(value(&env, "data/live.prom", "running"), 1.0);
    scan.signal(rustix::process::Signal::INT);
    scan.wait().code(130);
    assert_eq!(value(&env, "data/live.prom", "running"), 0.0);
    env.run("resume --metrics-file data/resumed.prom").ok();
    assert_eq!(value(&env, "data/resumed.prom", "files_hashed_total"), 2.0);
    env.run("retry --metrics-file data/retried.prom").ok();
    assert_eq!(value(&env, "data/retried.prom", "running"), 0.0);
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_anything_is_done() {
    let env = TestEnv::new();
    env.file("tree/a", "x").folder("data/folder");
    for file in ["no/such/folder/file", "data/folder", "/dev/null"] {
        let message = env
            .run(&format!("scan tree --metrics-file {file}"))
            .refused(2);
        assert!(
            message.contains("cannot write the metrics file"),
            "{message}"
        );
        assert!(message.contains(file), "{message}");
    }
    let db = env.db().display().to_string();
    for file in [db.clone(), format!("{db}-wal")] {
        let message = env
            .run(&format!("scan tree --metrics-file {file}"))
            .refused(2);
        assert!(message.contains("belongs to the catalog"), "{message}");
    }
    assert!(!env.db().exists());
}

#[test]
fn full_durability_scans_the_same() {
    let env = TestEnv::new();
    env.file("tree/a", "same").file("tree/b", "same");
    env.run("scan tree --durability full").ok();
    assert_eq!(env.groups().len(), 1);
    let message = env.run("scan tree --durability most").refused(2);
    assert!(
        message.contains("'most' for --durability: expected normal or full"),
        "{message}"
    );
}
