//! `dupescan diff`: what is in A but not in B, and when A is called
//! safe to wipe.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use walkdir::WalkDir;

use crate::env::{TestEnv, noise, odd, skip};

/// A and B with a copy of everything in A under B, under other names.
fn equal() -> TestEnv {
    let env = TestEnv::new();
    env.file("a/one", "one").file("a/sub/two", "two, longer");
    env.random("a/sub/big", 1, 100_000).file("a/twin", "one");
    env.file("b/1", "one").file("b/deep/er/2", "two, longer");
    env.random("b/deep/3", 1, 100_000);
    env.settle_clock();
    env
}

fn scanned(env: TestEnv) -> TestEnv {
    env.settle_clock().run("scan a b").ok();
    env
}

/// What a walk that compares bytes finds: files, bytes, and those of A that
/// are nowhere in B. Empty files are skipped.
fn oracle(env: &TestEnv, a: &str, b: &str) -> (u64, u64, BTreeSet<PathBuf>) {
    let files = |root: &str| -> Vec<(PathBuf, Vec<u8>)> {
        WalkDir::new(env.path(root))
            .into_iter()
            .map(Result::unwrap)
            .filter(|entry| entry.file_type().is_file())
            .map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap()))
            .filter(|(_, content)| !content.is_empty())
            .collect()
    };
    let (ours, theirs) = (files(a), files(b));
    let bytes = ours.iter().map(|(_, content)| content.len() as u64).sum();
    let missing = ours
        .iter()
        .filter(|(_, content)| !theirs.iter().any(|(_, other)| other == content))
        .map(|(path, _)| path.clone())
        .collect();
    (ours.len() as u64, bytes, missing)
}

fn listed(document: &Value, answer: &str) -> BTreeSet<PathBuf> {
    let rows = document["files"].as_array().unwrap().iter();
    rows.filter(|row| row["status"] == answer)
        .map(|row| PathBuf::from(row["path"].as_str().unwrap()))
        .collect()
}

fn size_of(paths: &BTreeSet<PathBuf>) -> u64 {
    paths
        .iter()
        .map(|path| fs::metadata(path).unwrap().len())
        .sum()
}

/// Runs the diff, compares every number with the oracle's, and returns the
/// document.
#[track_caller]
fn agrees(env: &TestEnv, a: &str, b: &str, code: i32) -> Value {
    let run = env.run(&format!("diff {a} {b} --format json")).code(code);
    let document = run.json();
    let (files, bytes, missing) = oracle(env, a, b);
    let totals = &document["totals"]["a"];
    assert_eq!(listed(&document, "only in A"), missing, "{document}");
    assert_eq!(totals["files"], files);
    assert_eq!(totals["bytes"], bytes);
    assert_eq!(totals["only_files"], missing.len() as u64);
    assert_eq!(totals["only_bytes"], size_of(&missing));
    assert_eq!(totals["unchecked_files"], 0);
    assert_eq!(totals["duplicate_files"], files - missing.len() as u64);
    assert_eq!(totals["duplicate_bytes"], bytes - size_of(&missing));
    assert_eq!(document["totals"]["safe_to_wipe"], code == 0);
    document
}

#[test]
fn equal_sides_are_safe_either_way() {
    let env = scanned(equal());
    agrees(&env, "a", "b", 0);
    agrees(&env, "b", "a", 0);
    env.run("diff a b").ok().says("safe to wipe A");
    let only_one = "wipe only one of A and B: each has the copies of the other\n";
    env.run("diff a b").ok().keeps_quiet_about(only_one);
    let both = env.run("diff --both a b").ok();
    both.says("safe to wipe A")
        .says("safe to wipe B")
        .says(only_one);
    let both = env.run("diff --both a b --format json").ok().json();
    assert_eq!(both["totals"]["wipe_only_one"], true);
    env.run("diff a/sub b/deep").ok();
}

#[test]
fn a_subset_is_safe_and_a_superset_is_not() {
    let env = equal();
    env.file("b/more", "more").file("b/deep/same-size", "eno");
    let env = scanned(env);
    agrees(&env, "a", "b", 0);
    let document = agrees(&env, "b", "a", 1);
    assert_eq!(document["totals"]["a"]["only_files"], 2);
    let run = env.run("diff b a").code(1);
    run.says("do not wipe A").keeps_quiet_about("safe to wipe");
    let both = env.run("diff a b --both --format json").code(1).json();
    assert_eq!(both["totals"]["a"]["only_files"], 0);
    assert_eq!(both["totals"]["b"]["only_files"], 2);
    assert_eq!(both["files"][0]["side"], "b");
    assert_eq!(both["files"][0]["status"], "only in B");
    assert_eq!(both["totals"]["wipe_only_one"], false);
}

#[test]
fn disjoint_sides_share_nothing() {
    let env = TestEnv::new();
    env.file("a/x", "1").file("a/y", "22").file("b/x", "333");
    env.file("b/y", "3");
    let env = scanned(env);
    let document = agrees(&env, "a", "b", 1);
    assert_eq!(document["totals"]["a"]["only_files"], 2);
}

/// Small trees out of few contents, so that everything matches and nearly
/// matches everything.
#[test]
fn random_pairs_agree_with_the_oracle() {
    let env = TestEnv::new();
    let contents: Vec<Vec<u8>> = (0..8)
        .map(|seed| {
            let mut content = noise(seed % 3, 70_000);
            content[35_000] = u8::try_from(seed).unwrap();
            content.truncate(if seed < 4 {
                70_000
            } else {
                30 + seed as usize % 2
            });
            content
        })
        .collect();
    let pairs = 12;
    for pair in 0..pairs {
        let dice = noise(pair + 100, 24);
        for (at, roll) in dice.iter().enumerate() {
            let side = if roll & 1 == 0 { "a" } else { "b" };
            let content = &contents[usize::from(roll >> 1) % contents.len()];
            env.file(format!("{pair}/{side}/{}/{at}", roll >> 6), content);
        }
        env.folder(format!("{pair}/a")).folder(format!("{pair}/b"));
    }
    env.settle_clock().run("scan .").ok();
    for pair in 0..pairs {
        for (a, b) in [("a", "b"), ("b", "a")] {
            let (a, b) = (format!("{pair}/{a}"), format!("{pair}/{b}"));
            let is_safe = oracle(&env, &a, &b).2.is_empty();
            agrees(&env, &a, &b, i32::from(!is_safe));
        }
    }
}

#[test]
fn an_unreadable_file_under_a_is_unchecked() {
    let env = equal();
    env.file("a/secret", "four").file("b/like", "fuor");
    env.chmod("a/secret", 0o000).settle_clock();
    let Some(run) = env.run_unprivileged("scan a b") else {
        skip!("cannot give up the right to read everything");
    };
    run.code(1);
    let document = env.run("diff a b --format json").code(1).json();
    let secret = BTreeSet::from([env.path("a/secret")]);
    assert_eq!(listed(&document, "unchecked"), secret);
    assert_eq!(document["totals"]["a"]["unchecked_bytes"], 4);
    assert_eq!(document["totals"]["a"]["only_files"], 0);
    // The other way round it is the partner that was not read.
    let document = env.run("diff b a --format json").code(1).json();
    assert_eq!(
        listed(&document, "unchecked"),
        BTreeSet::from([env.path("b/like")])
    );
}

#[test]
fn an_unreadable_folder_forbids_the_promise() {
    let env = equal();
    env.file("a/locked/x", "one").chmod("a/locked", 0o000);
    env.settle_clock();
    let Some(run) = env.run_unprivileged("scan a b") else {
        skip!("cannot give up the right to read everything");
    };
    run.code(1);
    let run = env.run("diff a b").code(1);
    run.says("1 path in A failed");
    env.chmod("a/locked", 0o755);
}

#[test]
fn an_offline_side_is_unchecked() {
    let env = scanned(equal());
    env.rename("b", "away");
    let document = env.run("diff a b --format json").code(1).json();
    let (files, bytes, _) = oracle(&env, "a", "away");
    let totals = &document["totals"]["a"];
    assert_eq!(totals["unchecked_files"], files);
    assert_eq!(totals["unchecked_bytes"], bytes);
    assert_eq!(totals["only_files"], 0);
    env.run("diff a b").code(1).says("its copy in B is offline");
    env.rename("away", "b").rename("a", "away");
    env.run("diff a b").code(1).says("A is offline");
    env.rename("away", "a");
    env.run("diff a b").ok();
}

#[test]
fn what_changed_since_the_scan_forbids_the_promise() {
    type Change = (&'static str, fn(&TestEnv, &str, &str));
    let changes: [Change; 8] = [
        ("a file grew", |env, a, _| {
            env.append(format!("{a}/one"), "more");
        }),
        ("a file was rewritten", |env, a, _| {
            env.flip_secretly(format!("{a}/sub/two"), 1);
        }),
        ("a file came", |env, a, _| {
            env.file(format!("{a}/sub/new"), "new");
        }),
        ("a folder came", |env, a, _| {
            env.folder(format!("{a}/sub/new"));
        }),
        ("a file went", |env, a, _| {
            env.remove(format!("{a}/one"));
        }),
        ("a file was renamed", |env, a, _| {
            env.rename(format!("{a}/one"), format!("{a}/sub/one"));
        }),
        ("the copy changed", |env, _, b| {
            env.flip_secretly(format!("{b}/1"), 1);
        }),
        ("the copy went", |env, _, b| {
            env.remove(format!("{b}/2"));
        }),
    ];
    let pairs: Vec<_> = (0..changes.len())
        .map(|n| (format!("{n}/a"), format!("{n}/b")))
        .collect();
    let env = TestEnv::new();
    for (a, b) in &pairs {
        env.file(format!("{a}/one"), "one")
            .file(format!("{b}/1"), "one");
        env.file(format!("{a}/sub/two"), "two")
            .file(format!("{b}/2"), "two");
    }
    env.settle_clock().run("scan .").ok();
    for ((what, change), (a, b)) in changes.iter().zip(&pairs) {
        env.run(&format!("diff {a} {b}")).ok();
        change(&env, a, b);
        let run = env.run(&format!("diff {a} {b}")).code(1);
        assert!(!run.out().contains("safe to wipe"), "{what}: {}", run.out());
    }
}

/// Times too fresh to prove anything: the names themselves are compared.
#[test]
fn a_folder_listed_right_after_it_changed_is_compared_by_its_names() {
    let env = equal();
    env.with_real_youth().settle_clock();
    env.symlink("nowhere", "a/link").run("scan a b").ok();
    assert_eq!(
        env.sql::<i64>("SELECT count(*) FROM folders WHERE mtime_ns IS NULL AND parent IS NULL"),
        1
    );
    env.run("diff a b").ok();
    env.symlink("nowhere", "a/link2").run("diff a b").ok();
    env.file("a/new", "one")
        .run("diff a b")
        .code(1)
        .says("1 file in A has not been scanned: ");
    env.remove("a/new").run("diff a b").ok();
}

#[test]
fn sides_scanned_at_different_times_say_so() {
    let env = equal();
    env.run("scan a").ok();
    std::thread::sleep(Duration::from_millis(10));
    env.run("scan b").ok();
    let document = agrees(&env, "a", "b", 0);
    assert_eq!(document["totals"]["a"]["as_of_scan"], 1);
    assert_eq!(document["totals"]["a"]["other_as_of_scan"], 2);
    env.run("diff a b")
        .ok()
        .says("(as of scan 1, ")
        .says("(as of scan 2, ");
}

#[test]
fn a_file_that_was_unique_in_both_scans_is_recognised_by_its_size() {
    let env = equal();
    env.file("a/alone", "nothing else is this long");
    let env = scanned(env);
    agrees(&env, "a", "b", 1);
}

#[test]
fn filters_forbid_the_promise() {
    let env = equal();
    env.settle_clock().run("scan b").ok();
    env.run("scan a --include *").ok();
    let run = env.run("diff a b").code(1);
    run.says("A was scanned with filters (scan 2)");
    env.run("scan a").ok();
    env.run("diff a b").ok();
    env.run("diff a b --min-size 1k")
        .code(1)
        .says("only some of the files");
    env.run("diff a b --exclude nothing")
        .code(1)
        .says("only some of the files");
    env.run("scan --mode folders a --no-hidden").ok();
    env.run("diff a b")
        .code(1)
        .says("A was scanned with filters");
}

/// Every option that can hide files. In B they can only hide copies.
#[test]
fn each_filter_forbids_the_promise() {
    let env = scanned(equal());
    for filter in [
        "--one-file-system",
        "--include *",
        "--gitignore",
        "--no-hidden",
        "--max-depth 9",
    ] {
        env.run(&format!("scan a {filter}")).ok();
        let run = env.run("diff a b").code(1);
        run.says("A was scanned with filters")
            .keeps_quiet_about("safe to wipe");
        env.run("scan a").ok();
        env.run(&format!("scan b {filter}")).ok();
        env.run("diff a b").ok().says("safe to wipe A");
    }
}

#[test]
fn options_that_cannot_be_read_forbid_the_promise() {
    let env = scanned(equal());
    let db = rusqlite::Connection::open(env.db()).unwrap();
    for options in ["", r#"{"newer":1}"#, r#"{"listing":{"newer":1}}"#] {
        db.execute("UPDATE scans SET options = ?1 WHERE id = 1", [options])
            .unwrap();
        env.run("diff a b")
            .code(1)
            .says("how A was scanned")
            .keeps_quiet_about("safe to wipe");
        let folders = env.run("folders --format json").ok().json();
        let filtered = &folders["totals"]["unchecked"]["filtered"];
        assert!(filtered.as_u64().unwrap() > 0, "{options}");
    }
}

#[test]
fn an_unfinished_scan_forbids_the_promise() {
    let env = scanned(equal());
    let db = rusqlite::Connection::open(env.db()).unwrap();
    let interrupt = |state: &str| {
        db.execute("UPDATE scans SET state = ?1 WHERE id = 1", [state])
            .unwrap();
    };
    interrupt("interrupted");
    env.run("diff a b")
        .code(1)
        .says("scan 1 of A is unfinished");
    interrupt("complete");
    env.run("diff a b").ok();
}

#[test]
fn a_hard_link_keeps_the_content() {
    let env = TestEnv::new();
    env.file("a/x", "content").hard_link("a/x", "b/x");
    let env = scanned(env);
    env.run("diff a b").ok();
}

#[test]
fn a_bind_mount_or_a_link_is_no_copy() {
    let env = TestEnv::new();
    env.file("a/d/x", "content")
        .file("b/d/x", "content")
        .folder("c");
    env.symlink("../a/d/x", "l/x").symlink("../a/d", "m/d");
    env.settle_clock();
    let script = "mount --bind a b; $DUPESCAN scan a b; $DUPESCAN diff a b && exit 9
        $DUPESCAN diff a b --format json || true";
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    run.ok()
        .says("only as another path into A")
        .says("do not wipe A");
    env.use_db("data/links.db");
    env.run("scan a").ok();
    env.run("scan l m --follow-links").ok();
    env.run("diff a l")
        .code(1)
        .says("only as another path into A");
    env.run("diff a m")
        .code(1)
        .says("only as another path into A");
}

#[test]
fn empty_files_and_odd_names_are_reported() {
    let env = TestEnv::new();
    env.file("a/empty", "").file(odd(b"a/new\nline"), "x1");
    env.file(odd(b"a/latin-\xe9"), "x2").file("b/other", "yy");
    let env = scanned(env);
    let run = env.run("diff a b").code(1);
    run.says("1 empty file skipped")
        .says(r"/a/new\nline")
        .says(r"/a/latin-\xe9");
    let document = env.run("diff a b --format json").code(1).json();
    assert_eq!(document["totals"]["a"]["empty_files"], 1);
    let rows = document["files"].as_array().unwrap();
    assert!(rows[0]["path_b64"].is_string() && rows[1]["path_b64"].is_null());
    let csv = env.run("diff a b --format csv").code(1);
    csv.says("side,status,size,mtime,path,path_b64,reason,as_of_scan\n")
        .complains("do not wipe A");
}

#[test]
fn the_catalog_is_not_wiped_by_advice() {
    let env = equal();
    env.use_db("a/catalog.db")
        .settle_clock()
        .run("scan a b")
        .ok();
    env.run("diff a b").code(1).says("the catalog is inside A");
}

#[test]
fn the_answer_looks_like_this() {
    let env = TestEnv::new();
    env.file("a/gone.txt", "only here")
        .file("a/kept.txt", "both");
    env.file("b/kept too.txt", "both");
    let env = scanned(env);
    let tree = env.path("");
    let run = env.run("diff a b").code(1);
    let shown = run.out().replace(tree.to_str().unwrap(), "/");
    let shown = times_hidden(&shown);
    insta::assert_snapshot!(shown, @"
    STATUS              SIZE  PATH
    ────────────────────────────────────────────────────────────
    only in A            9 B  /a/gone.txt

    A is /a (as of scan 1, TIME)
    B is /b (as of scan 2, TIME)
    2 files, 13 B in A:
        1 file, 4 B also in B
        1 file, 9 B not in B
        0 files, 0 B unchecked
    do not wipe A:
        1 file, 9 B not in B
    as of scan 2, TIME
    ");
    let document = env.run("diff a b --format json").code(1).out();
    let shown = times_hidden(&document.replace(tree.to_str().unwrap(), "/"));
    insta::assert_snapshot!(shown, @r#"
    {"schema":1,"generated_at":"TIME","as_of":{"scan":2,"finished_at":"TIME"},"filters":{"paths":[],"min_size":null,"max_size":null,"extensions":[],"exclude":[]},"files":[
    {"side":"a","status":"only in A","size":9,"mtime":"TIME","path":"/a/gone.txt","reason":null}
    ],"totals":{"safe_to_wipe":false,"a":{"path":"/a","as_of_scan":1,"as_of":"TIME","other_path":"/b","other_as_of_scan":2,"other_as_of":"TIME","files":2,"bytes":13,"duplicate_files":1,"duplicate_bytes":4,"only_files":1,"only_bytes":9,"unchecked_files":0,"unchecked_bytes":0,"not_compared_files":0,"not_compared_bytes":0,"empty_files":0,"changed_folders":0,"unscanned_files":0,"unscanned_folders":0,"excluded_files":0,"excluded_folders":0,"mount_points":0,"assumed_separate":false,"reasons":["1 file, 9 B not in B"]}}}
    "#);
}

/// Dates and times as `TIME`, since they differ from run to run.
pub(crate) fn times_hidden(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("20") {
        let (before, from) = rest.split_at(at);
        let is_date = from.len() >= 16
            && from.as_bytes()[4] == b'-'
            && from.as_bytes()[7] == b'-'
            && matches!(from.as_bytes()[10], b' ' | b'T');
        shown.push_str(before);
        if is_date {
            shown.push_str("TIME");
            rest = from[16..].trim_start_matches(|c: char| c.is_ascii_digit() || ":.Z".contains(c));
        } else {
            shown.push_str("20");
            rest = &from[2..];
        }
    }
    shown + rest
}

#[test]
fn bad_input_is_refused_in_one_sentence() {
    let env = scanned(equal());
    let line = env.run("diff a nowhere").refused(2);
    assert!(line.contains("nowhere has not been scanned"), "{line}");
    let line = env.run("diff a b/none").refused(2);
    assert!(line.contains("has not been scanned"), "{line}");
    env.file("elsewhere", "1");
    for (file, name) in [("a/one", "a/one"), ("elsewhere", "elsewhere")] {
        let line = env.run(&format!("diff {file} b")).refused(2);
        let expected = "is a file: give its folder";
        assert!(line.ends_with(&format!("{name} {expected}")), "{line}");
    }
    env.rename("a", "data/a");
    let line = env.run("unique a/one").refused(2);
    assert!(line.contains("a/one is a file: give its folder"), "{line}");
    env.rename("data/a", "a");
    let line = env.run("diff a b --min-size 2 --max-size 1").refused(2);
    assert!(line.contains("--max-size"), "{line}");
    assert!(Path::new(&env.path("a")).exists());
}

#[test]
fn a_file_that_was_empty_and_is_not_now_forbids_the_promise() {
    let env = TestEnv::new();
    env.file("a/f", "hello").copy("a/f", "b/f").file("a/g", "");
    env.settle_clock();
    env.run("scan a b").ok();
    env.run("diff a b").ok().says("safe to wipe");
    // In place: the folder's times do not move.
    env.append("a/g", "precious");
    env.run("diff a b").code(1);
}

#[test]
fn what_is_beside_the_roots_below_a_forbids_the_promise() {
    let env = TestEnv::new();
    env.file("x/a/f", "hello").copy("x/a/f", "y/f");
    env.file("x/c/never-scanned", "precious");
    env.settle_clock();
    env.run("scan x/a y").ok();
    env.run("diff x y").code(1).says("never scanned");
    env.run("diff x/a y").ok();
}

#[test]
fn a_scan_that_ignored_ctime_forbids_the_promise() {
    let env = TestEnv::new();
    env.file("a/f", "aaa").file("b/f", "aaa");
    env.settle_clock();
    env.run("scan a b").ok();
    env.flip_secretly("a/f", 1);
    env.settle_clock();
    env.run("scan --ignore-ctime a b").ok();
    env.run("diff a b").code(1).says("--ignore-ctime");
    env.run("scan a b").ok();
    env.run("diff a b").code(1).says("--ignore-ctime");
    env.run("scan --rehash a b").ok();
    env.run("diff a b").code(1).says("not in B");
}

#[test]
fn a_copy_that_proves_nothing_is_unchecked_for_the_true_reason() {
    let env = TestEnv::new();
    env.with_real_youth();
    for name in ["changed", "fresh", "gone", "offline"] {
        env.file(format!("a/{name}"), format!("content of {name}"));
        env.copy(format!("a/{name}"), format!("b/{name}/copy"));
    }
    env.remove("b/fresh").settle_clock();
    let roots = "b/changed b/gone b/offline";
    env.run(&format!("scan a {roots}")).ok();
    env.copy("a/fresh", "b/fresh/copy").run("scan b/fresh").ok();
    env.append("b/changed/copy", "!")
        .remove("b/gone/copy")
        .file("b/gone/other", "so that the root is not empty")
        .rename("b/offline", "data/offline");
    let run = env.run("diff a b").code(1);
    for reason in [
        "1 file: its copy in B changed since the scan\n",
        "1 file: its copy in B is missing\n",
        "1 file: its copy in B is offline\n",
        "1 file: its copy in B was scanned less than 3 s after its last change, or while open for writing: scan again\n",
    ] {
        assert!(run.out().contains(reason), "{reason}{}", run.describe());
    }
}

/// As on a filesystem whose folder times stand still.
#[test]
fn a_file_that_was_never_scanned_forbids_the_promise_whatever_the_folder_times() {
    let env = scanned(equal());
    env.run("diff a b").ok();
    env.file("a/sub/never scanned", "precious");
    env.file("a/new/deep/too", "precious as well");
    env.freeze_folder_times("a", "a")
        .freeze_folder_times("a/sub", "a/sub");
    let run = env.run("diff a b").code(1);
    run.says("2 files and 2 folders in A have not been scanned, such as ")
        .says("a/new\n")
        .keeps_quiet_about("safe to wipe");
    let totals = &env.run("diff a b --format json").code(1).json()["totals"]["a"];
    assert_eq!(totals["unscanned_files"], 2);
    assert_eq!(totals["unscanned_folders"], 2);
    env.remove("a/new");
    env.run("diff a b")
        .code(1)
        .says("1 file in A has not been scanned: ")
        .says("a/sub/never scanned\n");
}

#[test]
fn what_a_mount_hid_when_it_was_scanned_forbids_the_promise() {
    let env = TestEnv::new();
    env.file("a/one", "one")
        .file("a/hidden/precious", "precious");
    env.file("cover/two", "two")
        .file("b/1", "one")
        .file("b/2", "two");
    env.settle_clock();
    let script = "mount --bind cover a/hidden; $DUPESCAN scan a b; umount a/hidden
        $DUPESCAN diff a b && exit 9; true";
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    run.ok()
        .says("1 file in A has not been scanned: ")
        .says("a/hidden/precious\n")
        .keeps_quiet_about("safe to wipe");
    // While it is mounted, nothing shows what is below it.
    env.use_db("data/mounted.db");
    let script = "mount --bind cover a/hidden; $DUPESCAN scan a b
        $DUPESCAN diff a b && exit 9; $DUPESCAN diff a/hidden b";
    let run = env.run_with_mounts(script).unwrap();
    run.ok()
        .says("1 mount point in A may hide files: ")
        .says("a/hidden\n")
        .says("safe to wipe A");
}

#[test]
fn what_is_hidden_in_b_is_no_objection() {
    let env = equal();
    env.file("b/locked/x", "nobody asked for this")
        .chmod("b/locked", 0o000);
    env.settle_clock();
    let Some(run) = env.run_unprivileged("scan a b --exclude deep") else {
        skip!("cannot give up the right to read everything");
    };
    run.code(1);
    env.run("scan a").ok();
    let run = env.run("diff a b").code(1);
    run.says("not in B")
        .keeps_quiet_about("B was scanned")
        .keeps_quiet_about("in B failed");
    let Some(run) = env.run_unprivileged("scan b --exclude locked") else {
        unreachable!("it was possible before");
    };
    run.ok();
    env.run("diff a b").ok().says("safe to wipe A");
    env.run_unprivileged("scan b --no-excludes")
        .unwrap()
        .code(1);
    env.run("diff a b").ok().says("safe to wipe A");
    env.chmod("b/locked", 0o755);
}

#[test]
fn sides_that_overlap_are_refused() {
    let env = scanned(equal());
    let line = env.run("diff a a").refused(2);
    assert!(line.ends_with("/a: A and B are the same folder"), "{line}");
    env.symlink("a", "link");
    let line = env.run("diff a link").refused(2);
    assert!(line.ends_with("/a: A and B are the same folder"), "{line}");
    for (pair, end) in [("a a/sub", "B is inside A"), ("a/sub a", "A is inside B")] {
        let line = env.run(&format!("diff {pair}")).refused(2);
        assert!(line.ends_with(&format!("/a/sub: {end}")), "{line}");
    }
}

/// Every byte of the merged view is in the lower folder: wiping that takes both.
#[test]
fn a_view_of_a_is_not_proven_to_be_a_copy() {
    let env = TestEnv::new();
    env.file("lower/x", "content").file("b/x", "content");
    env.settle_clock();
    let script = "$DUPESCAN scan lower merged b >&2
        $DUPESCAN diff lower merged && exit 9
        $DUPESCAN diff merged lower && exit 9
        $DUPESCAN diff lower merged --assume-separate
        $DUPESCAN diff lower merged --assume-separate --format json
        echo; echo on one disk:; exec $DUPESCAN diff lower b";
    let Some(run) = env.run_with_overlay(script) else {
        skip!("mounting an overlay is not permitted");
    };
    let run = run.ok();
    for sentence in [
        "1 file: its copy may be the same file: B is on overlay (--assume-separate if not)\n",
        "1 file: its copy may be the same file: A is on overlay (--assume-separate if not)\n",
        "    A and B may be the same storage: B is on overlay (--assume-separate if not)\n",
        "assuming that A and B are separate storage (--assume-separate)\n",
        "\"assumed_separate\":true",
    ] {
        assert!(run.out().contains(sentence), "{sentence}{}", run.describe());
    }
    let (_, on_one_disk) = run
        .out()
        .split_once("on one disk:")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    assert!(
        on_one_disk.contains("safe to wipe A: every file"),
        "{on_one_disk}"
    );
}

#[test]
fn what_was_excluded_or_not_compared_in_a_forbids_the_promise_with_its_number() {
    let env = equal();
    env.file("a/x.tmp", "excluded")
        .file("a/cache/1", "also")
        .file("a/cache/2", "and this");
    env.settle_clock()
        .run("scan a b --exclude *.tmp --exclude cache")
        .ok();
    env.run("diff a b")
        .code(1)
        .says("3 files and 1 folder in A are excluded, such as ")
        .keeps_quiet_about("have not been scanned");
    let totals = &env.run("diff a b --format json").code(1).json()["totals"]["a"];
    assert_eq!(
        (&totals["excluded_files"], &totals["unscanned_files"]),
        (&3.into(), &0.into())
    );
    // The same where they are known from an earlier scan.
    env.use_db("data/later.db").run("scan a b").ok();
    env.run("scan a --exclude *.tmp --exclude cache").ok();
    env.run("diff a b")
        .code(1)
        .says("3 files and 1 folder in A are excluded");
    env.use_db("data/sizes.db");
    env.remove("a/x.tmp").remove("a/cache").settle_clock();
    env.run("scan a b --min-size 1k").ok();
    let run = env.run("diff a b").code(1);
    run.says("3 files, 17 B not compared (smaller than 1 KiB)")
        .says("0 files, 0 B unchecked");
    let totals = &env.run("diff a b --format json").code(1).json()["totals"]["a"];
    assert_eq!(totals["not_compared_files"], 3);
    assert_eq!(totals["not_compared_bytes"], 17);
}

#[test]
fn excludes_that_match_nothing_in_a_forbid_nothing() {
    let env = equal();
    env.settle_clock().run("scan a b --exclude *.tmp").ok();
    env.run("diff a b").ok().says("safe to wipe A");
}

#[test]
fn an_excluded_file_in_b_is_no_copy() {
    let env = scanned(equal());
    env.run("scan b --exclude deep").ok();
    env.run("diff a b")
        .code(1)
        .says("2 files, 97.7 KiB not in B")
        .keeps_quiet_about("safe to wipe");
}
