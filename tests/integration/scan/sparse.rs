//! Sparse files: what they occupy, not how long they are, is what can be saved.

use std::os::unix::fs::MetadataExt;

use crate::env::report_json::expected;
use crate::env::{TestEnv, skip};

const SIZE: u64 = 64 << 20;

/// Bytes that a file takes on disk.
fn allocated(env: &TestEnv, path: &str) -> u64 {
    std::fs::metadata(env.path(path)).unwrap().blocks() * 512
}

/// Three copies in two folders; all of `a` and `b` but one block is a hole.
fn one_block_each() -> Option<(TestEnv, u64)> {
    let env = TestEnv::new();
    env.sparse("tree/one/a", SIZE).sparse("tree/two/b", SIZE);
    env.write_at("tree/one/a", 0, "data")
        .write_at("tree/two/b", 0, "data");
    let bytes = allocated(&env, "tree/one/a");
    (bytes > 0 && bytes < SIZE && bytes == allocated(&env, "tree/two/b")).then_some((env, bytes))
}

#[test]
fn what_is_reclaimable_is_what_copies_occupy_in_every_answer() {
    let Some((env, bytes)) = one_block_each() else {
        skip!("no sparse files here");
    };
    let human = format!("{}.0 KiB reclaimable", bytes / 1024);
    let summary = env.run("scan tree --metrics-file data/metrics").ok().out();
    assert!(summary.contains(&human), "{summary}");
    let metrics = std::fs::read_to_string(env.path("data/metrics")).unwrap();
    let counter = format!("dupescan_reclaimable_bytes_total {bytes}\n");
    assert!(metrics.contains(&counter), "{metrics}");
    let report = env.report("");
    assert_eq!(report["groups"][0]["size"], SIZE);
    assert_eq!(report["groups"][0]["reclaimable"], bytes);
    assert_eq!(report["totals"]["reclaimable"], bytes);
    let column = format!(",{SIZE},2,{bytes},");
    let csv = env.run("report --format csv").ok().out();
    assert!(csv.contains(&column), "{csv}");
    let page = env.run("report --format html").ok().out();
    assert!(page.contains(&format!("[{SIZE},{bytes},\"")), "{page}");
    for command in ["report", "folders", "status"] {
        let text = env.run(command).ok().out();
        assert!(text.contains(&human), "{command}: {text}");
    }
    for (command, field) in [("status", "totals"), ("folders", "totals")] {
        let json = env.run(&format!("{command} --format json")).ok().json();
        assert_eq!(json[field]["reclaimable"], bytes, "{command}: {json}");
    }
    let history = env.run("history --format json").ok().json();
    assert_eq!(history["scans"][0]["reclaimable"], bytes, "{history}");
    // Kept from the scan before, since nothing changed.
    let again = env.run("scan tree").ok().out();
    assert!(again.contains(&human), "{again}");
}

#[test]
fn the_copy_that_occupies_most_counts_as_kept() {
    let Some((env, bytes)) = one_block_each() else {
        skip!("no sparse files here");
    };
    let mut content = vec![0; SIZE as usize];
    content[..4].copy_from_slice(b"data");
    env.file("tree/two/dense", content);
    let summary = env.run("scan tree").ok().out();
    let group: &[&str] = &["tree/one/a", "tree/two/b", "tree/two/dense"];
    assert_eq!(env.groups(), expected(&[group]));
    assert_eq!(env.report("")["groups"][0]["reclaimable"], 2 * bytes);
    // One copy in each folder is redundant, though the first path is not the one to keep.
    let folder = |path: &str| -> i64 {
        let path = env.path(path);
        env.sql(&format!(
            "SELECT reclaimable FROM top_folders WHERE CAST(path AS TEXT) = '{}'",
            path.display()
        ))
    };
    let bytes = i64::try_from(bytes).unwrap();
    assert_eq!(
        [folder("tree/one"), folder("tree/two")],
        [bytes; 2],
        "{summary}"
    );
}

#[test]
fn files_with_all_their_blocks_save_their_size() {
    let env = TestEnv::new();
    env.file("tree/a", "12345678").file("tree/b", "12345678");
    if allocated(&env, "tree/a") < 8 {
        skip!("small files take no blocks here");
    }
    env.run("scan tree").ok();
    assert_eq!(env.report("")["totals"]["reclaimable"], 8);
}

#[test]
fn folders_of_nothing_but_holes_are_identical_though_they_save_nothing() {
    let env = TestEnv::new();
    env.sparse("tree/one/a", SIZE).sparse("tree/two/b", SIZE);
    if allocated(&env, "tree/one/a") > 0 {
        skip!("no sparse files here");
    }
    env.run("scan tree").ok();
    let json = env.run("folders --format json").ok().json();
    assert_eq!(json["totals"]["groups"], 1, "{json}");
    assert_eq!(json["totals"]["reclaimable"], 0, "{json}");
    assert_eq!(json["totals"]["linked_groups"], 0, "{json}");
}
