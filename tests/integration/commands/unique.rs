//! `dupescan unique`: files that exist once, or in too few copies.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use serde_json::Value;
use walkdir::WalkDir;

use super::diff::times_hidden;
use crate::env::{TestEnv, odd, skip};

/// The copies in fewer than `under` copies, by their names, from comparing
/// bytes with bytes.
fn oracle(env: &TestEnv, root: &str, under: usize) -> BTreeSet<BTreeSet<PathBuf>> {
    let mut inodes: BTreeMap<u64, BTreeSet<PathBuf>> = BTreeMap::new();
    for entry in WalkDir::new(env.path(root)).into_iter().map(Result::unwrap) {
        if entry.file_type().is_file() && entry.metadata().unwrap().len() > 0 {
            let ino = entry.metadata().unwrap().ino();
            inodes.entry(ino).or_default().insert(entry.into_path());
        }
    }
    let content = |names: &BTreeSet<PathBuf>| fs::read(names.first().unwrap()).unwrap();
    let copies = |names: &BTreeSet<PathBuf>| {
        let mine = content(names);
        inodes
            .values()
            .filter(|other| content(other) == mine)
            .count()
    };
    let few = inodes.values().filter(|names| copies(names) < under);
    few.cloned().collect()
}

fn rows(document: &Value, answer: &str) -> Vec<PathBuf> {
    let rows = document["files"].as_array().unwrap().iter();
    rows.filter(|row| row["status"] == answer)
        .map(|row| PathBuf::from(row["path"].as_str().unwrap()))
        .collect()
}

fn tree() -> TestEnv {
    let env = TestEnv::new();
    env.file("tree/once", "alone")
        .file("tree/same size", "enola");
    env.file("tree/a/two", "pair")
        .copy("tree/a/two", "tree/b/two");
    env.random("tree/big", 3, 50_000)
        .random("tree/b/three", 4, 20_000);
    env.copy("tree/b/three", "tree/three")
        .copy("tree/three", "tree/c/three");
    env.hard_link("tree/big", "tree/z-link")
        .hard_link("tree/a/two", "tree/two-link");
    env.file("tree/empty", "").file("tree/b/empty", "");
    env
}

#[test]
fn every_count_of_copies_is_the_oracles() {
    let env = tree();
    env.run("scan tree").ok();
    for under in [2, 3, 4, 5] {
        let run = env.run(&format!("unique --format json --copies-under {under}"));
        let document = run.ok().json();
        let expected = oracle(&env, "tree", under);
        let rows = document["files"].as_array().unwrap();
        let found: BTreeSet<PathBuf> = rows
            .iter()
            .map(|row| PathBuf::from(row["path"].as_str().unwrap()))
            .collect();
        assert_eq!(rows.len(), expected.len(), "under {under}: {document}");
        for names in &expected {
            assert!(names.intersection(&found).count() == 1, "{names:?}");
        }
        let bytes: u64 = expected
            .iter()
            .map(|names| fs::metadata(names.first().unwrap()).unwrap().len())
            .sum();
        assert_eq!(document["totals"]["files"], expected.len() as u64);
        assert_eq!(document["totals"]["bytes"], bytes);
        assert_eq!(document["totals"]["unchecked_files"], 0);
    }
}

#[test]
fn a_path_limits_the_list_and_not_the_counting() {
    let env = tree();
    env.run("scan tree").ok();
    let list = |line: &str| {
        let document = env.run(&format!("unique {line} --format json")).ok().json();
        rows(&document, "unique")
    };
    assert_eq!(list("tree/b"), [""; 0].map(PathBuf::from));
    assert_eq!(list("tree/c"), [""; 0].map(PathBuf::from));
    assert_eq!(list("--min-size 1k"), [env.path("tree/big")]);
    assert_eq!(list("--exclude *.x --max-size 5 --limit 1").len(), 1);
    assert_eq!(
        list("--exclude z-link --min-size 1k"),
        [env.path("tree/big")]
    );
    assert_eq!(
        list("--exclude big --min-size 1k"),
        [env.path("tree/z-link")]
    );
}

#[test]
fn what_was_not_read_is_unchecked_unless_its_size_is_its_own() {
    let env = tree();
    env.file("tree/own size", "a size like no other");
    env.run("scan --mode folders tree").ok();
    let document = env.run("unique --format json").ok().json();
    assert_eq!(
        rows(&document, "unique"),
        [env.path("tree/big"), env.path("tree/own size")]
    );
    assert_eq!(document["totals"]["unchecked_files"], 7);
    assert_eq!(
        document["totals"]["unchecked_bytes"],
        5 + 5 + 4 + 4 + 60_000
    );
    env.run("unique").ok().says("7 files, 58.6 KiB unchecked");
}

#[test]
fn an_offline_partner_leaves_a_file_unchecked() {
    let env = TestEnv::new();
    env.file("one/x", "1234").run("scan one").ok();
    env.rename("one", "away").file("two/y", "abcd");
    env.run("scan two").ok();
    let document = env.run("unique two --format json").ok().json();
    assert_eq!(rows(&document, "unchecked"), [env.path("two/y")]);
    env.rename("away", "one").run("scan one").ok();
    let document = env.run("unique two --format json").ok().json();
    assert_eq!(rows(&document, "unique"), [env.path("two/y")]);
}

#[test]
fn an_unreadable_partner_leaves_a_file_unchecked() {
    let env = TestEnv::new();
    env.file("tree/x", "1234")
        .file("tree/y", "abcd")
        .chmod("tree/y", 0);
    let Some(run) = env.run_unprivileged("scan tree") else {
        skip!("cannot give up the right to read everything");
    };
    run.code(1);
    let document = env.run("unique --format json").ok().json();
    assert_eq!(document["totals"]["files"], 0);
    assert_eq!(document["totals"]["unchecked_files"], 2);
}

#[test]
fn the_answer_looks_like_this() {
    let env = TestEnv::new();
    env.file("tree/once", "content")
        .file(odd(b"tree/caf\xe9"), "odd content");
    env.file("tree/a", "two").file("tree/b", "two");
    env.run("scan tree").ok();
    let base = env.path("");
    let shown = |line: &str| {
        let out = env.run(line).ok().out();
        times_hidden(&out.replace(base.to_str().unwrap(), "/"))
    };
    insta::assert_snapshot!(shown("unique"), @r"
    STATUS           SIZE  PATH
    ────────────────────────────────────────────────────────────
    unique           11 B  /tree/caf\xe9
    unique            7 B  /tree/once

    2 files, 18 B without a copy
    as of scan 1, TIME
    ");
    insta::assert_snapshot!(shown("unique --copies-under 3 --bytes --limit 3"), @r"
    STATUS     COPIES               SIZE  PATH
    ────────────────────────────────────────────────────────────
    unique          1                 11  /tree/caf\xe9
    unique          1                  7  /tree/once
    duplicate       2                  3  /tree/a

    showing 3 of 4 files
    4 files, 24 B with fewer than 3 copies
    as of scan 1, TIME
    ");
    insta::assert_snapshot!(shown("unique --format json --max-size 7"), @r#"
    {"schema":1,"generated_at":"TIME","as_of":{"scan":1,"finished_at":"TIME"},"filters":{"paths":[],"min_size":null,"max_size":7,"extensions":[],"exclude":[]},"files":[
    {"status":"unique","copies":1,"size":7,"mtime":"TIME","path":"/tree/once","names":1,"digest":null}
    ],"totals":{"copies_under":2,"files":1,"bytes":7,"unchecked_files":0,"unchecked_bytes":0}}
    "#);
    let csv = shown("unique --format csv --min-size 11");
    assert!(csv.starts_with("status,copies,size,mtime,path,path_b64,names,digest,as_of_scan\n"));
    assert_eq!(csv.lines().count(), 2, "{csv}");
}
