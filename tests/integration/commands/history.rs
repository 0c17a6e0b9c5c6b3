//! `dupescan history`: the scans over time, and what came and went.

use std::collections::BTreeSet;
use std::path::PathBuf;

use walkdir::WalkDir;

use super::diff::times_hidden;
use crate::env::TestEnv;

fn walk(env: &TestEnv) -> BTreeSet<PathBuf> {
    WalkDir::new(env.path("tree"))
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .collect()
}

fn changed(env: &TestEnv, line: &str, change: &str) -> BTreeSet<PathBuf> {
    let document = env
        .run(&format!("history {line} --format json"))
        .ok()
        .json();
    let rows = document["files"].as_array().unwrap().iter();
    let paths: BTreeSet<PathBuf> = rows
        .filter(|row| row["change"] == change)
        .map(|row| PathBuf::from(row["path"].as_str().unwrap()))
        .collect();
    assert_eq!(
        document["totals"][format!("{change}_files")],
        paths.len() as u64
    );
    paths
}

#[test]
fn what_came_and_went_is_what_two_walks_differ_in() {
    let env = TestEnv::new();
    env.file("tree/a", "a")
        .file("tree/d/b", "bb")
        .file("tree/d/c", "ccc");
    let mut walks = vec![BTreeSet::new()];
    let mut scan = || {
        env.run("scan tree").ok();
        walks.push(walk(&env));
    };
    scan();
    env.remove("tree/a").file("tree/new", "new");
    scan();
    env.remove("tree/d").file("tree/e/f", "f");
    scan();
    env.remove("tree/new");
    scan();
    for from in 0..walks.len() {
        for to in from + 1..walks.len() {
            let line = format!("--between {from} {to}");
            let (before, after) = (&walks[from], &walks[to]);
            let appeared: BTreeSet<_> = after.difference(before).cloned().collect();
            let vanished: BTreeSet<_> = before.difference(after).cloned().collect();
            assert_eq!(changed(&env, &line, "added"), appeared, "{line}");
            assert_eq!(changed(&env, &line, "deleted"), vanished, "{line}");
        }
    }
    let gone = changed(&env, "tree/d --between 1 3", "deleted");
    assert_eq!(
        gone,
        BTreeSet::from([env.path("tree/d/b"), env.path("tree/d/c")])
    );
    assert_eq!(
        changed(&env, "--between 1 3 --min-size 3", "deleted").len(),
        1
    );
}

#[test]
fn a_file_that_came_back_was_gone_in_between() {
    let env = TestEnv::new();
    env.file("tree/a", "a")
        .file("tree/d/b", "b")
        .run("scan tree")
        .ok();
    env.file("tree/new", "new").run("scan tree").ok();
    env.remove("tree/a")
        .rename("tree/d", "away")
        .run("scan tree")
        .ok();
    env.file("tree/a", "a")
        .rename("away", "tree/d")
        .run("scan tree")
        .ok();
    let both = BTreeSet::from([env.path("tree/a"), env.path("tree/d/b")]);
    assert_eq!(changed(&env, "--between 2 3", "deleted"), both);
    assert_eq!(changed(&env, "--between 3 4", "added"), both);
    assert_eq!(changed(&env, "--between 2 4", "deleted"), BTreeSet::new());
    assert_eq!(changed(&env, "--between 2 4", "added"), BTreeSet::new());
}

#[test]
fn scans_show_the_growth_of_duplicates() {
    let env = TestEnv::new();
    env.folder("tree/sub");
    env.file("tree/a", "12345").run("scan tree").ok();
    env.file("tree/b", "12345")
        .file("other/x", "12345")
        .run("scan tree")
        .ok();
    env.run("scan other").ok();
    env.remove("tree/b").run("scan tree").ok();
    let document = env.run("history --format json").ok().json();
    let column = |key: &str| -> Vec<i64> {
        let rows = document["scans"].as_array().unwrap().iter();
        rows.map(|row| row[key].as_i64().unwrap_or(-99)).collect()
    };
    // Newest first; five bytes a copy beyond the first.
    assert_eq!(column("scan"), [4, 3, 2, 1]);
    assert_eq!(column("reclaimable"), [5, 10, 5, 0]);
    assert_eq!(column("reclaimable_change"), [-5, 5, 5, -99]);
    assert_eq!(column("added"), [0, 1, 1, 1]);
    assert_eq!(column("deleted"), [1, 0, 0, 0]);
    assert_eq!(column("files"), [1, 1, 2, 1]);
    assert_eq!(document["totals"]["first_reclaimable"], 0);
    assert_eq!(document["totals"]["last_reclaimable"], 5);
    let scans = |line: &str| {
        let document = env
            .run(&format!("history {line} --format json"))
            .ok()
            .json();
        document["scans"].as_array().unwrap().len()
    };
    assert_eq!(
        (scans("tree"), scans("other"), scans("tree/sub")),
        (3, 1, 3)
    );
    assert_eq!(scans("--limit 2"), 2);
}

#[test]
fn the_answer_looks_like_this() {
    let env = TestEnv::new();
    env.file("tree/a", "12345").run("scan tree").ok();
    env.copy("tree/a", "tree/b").run("scan tree").ok();
    let base = env.path("");
    let shown = |line: &str| {
        let out = env.run(line).ok().out();
        times_hidden(&out.replace(base.to_str().unwrap(), "/"))
    };
    insta::assert_snapshot!(shown("history"), @"
     SCAN  ENDED                 NEW  DELETED  RECLAIMABLE  PATH
    ────────────────────────────────────────────────────────────
        2  TIME        1        0          5 B  /tree
        1  TIME        1        0          0 B  /tree

    2 scans
    reclaimable in the whole catalog: 0 B in scan 1, 5 B in scan 2 (+5 B)
    as of scan 2, TIME
    ");
    insta::assert_snapshot!(shown("history --between 1 2"), @"
    CHANGE          SIZE  PATH
    ────────────────────────────────────────────────────────────
    added            5 B  /tree/b

    between scan 1 and scan 2: 1 file, 5 B added, 0 files, 0 B deleted
    as of scan 2, TIME
    ");
    env.run("history --format csv")
        .ok()
        .says("scan,ended,state,started_at,");
}

#[test]
fn scans_that_do_not_exist_are_refused() {
    let env = TestEnv::new();
    env.file("tree/a", "a").run("scan tree").ok();
    let line = env.run("history --between 0 7").refused(2);
    assert!(line.contains("no scan 7: the newest is 1"), "{line}");
    let line = env.run("history --between 1 1").refused(2);
    assert!(line.contains("expected the older scan first"), "{line}");
    let line = env.run("history --between x 1").refused(2);
    assert!(line.contains("expected a whole number"), "{line}");
}

#[test]
fn exact_bytes_are_shown_everywhere() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 123_456).copy("tree/a", "tree/b");
    env.run("scan tree").ok();
    env.copy("tree/a", "tree/c").run("scan tree").ok();
    let table = env.run("history --bytes").ok();
    let table = table.says("123,456 B in scan 1, 246,912 B in scan 2 (+123,456 B)");
    let column = |line: &str, text: &str| line.find(text).map(|at| at + text.len());
    let out = table.out();
    let lines: Vec<_> = out.lines().collect();
    let ends = column(lines[0], "RECLAIMABLE");
    assert!(ends.is_some());
    assert_eq!(column(lines[2], "246,912"), ends, "{out}");
    assert_eq!(column(lines[3], "123,456"), ends, "{out}");
    env.run("history --bytes --between 1 2")
        .ok()
        .says("1 file, 123,456 B added, 0 files, 0 B deleted");
    env.run("audit --bytes").ok().says("370,368 B OK");
    env.run("unique --bytes --copies-under 9")
        .ok()
        .says("370,368 B with fewer than 9 copies");
}
