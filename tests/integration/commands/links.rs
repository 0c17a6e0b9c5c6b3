//! `dupescan report` after a scan that followed symbolic links: a link is
//! never a copy, and never in a list that a script reads.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::env::TestEnv;
use crate::env::report_json::expected;

/// A link that sorts before the file it leads to, and a copy of that file.
fn linked() -> TestEnv {
    let env = TestEnv::new();
    env.random("a/z", 1, 5_000).symlink("z", "a/x");
    env.copy("a/z", "b/copy");
    env.settle_clock().run("scan --follow-links a b").ok();
    env
}

#[test]
fn the_real_file_is_the_name_of_a_copy() {
    let env = linked();
    assert_eq!(env.groups(), expected(&[&["a/z", "b/copy"]]));
    // Also when nothing but the kind of name changed, and after a rescan.
    env.run("scan --follow-links a b").ok();
    assert_eq!(env.groups(), expected(&[&["a/z", "b/copy"]]));
    env.run("report --check --sort path")
        .ok()
        .says("/a/z")
        .keeps_quiet_about("/a/x");
}

#[test]
fn a_link_is_marked_in_every_format() {
    let env = linked();
    let link = env.path("a/x").to_str().unwrap().to_owned();
    let file = &env.report("")["groups"][0]["files"][0];
    assert_eq!(file["links"], serde_json::json!([]));
    assert_eq!(file["symlinks"], serde_json::json!([link]));
    env.run("report --links")
        .ok()
        .says(&format!("symbolic link {link}"))
        .keeps_quiet_about("also at");
    let csv = env.run("report --links --format csv").ok().stdout;
    let mut rows = csv::Reader::from_reader(csv.as_slice());
    let column = rows.headers().unwrap().clone();
    let column = |name| column.iter().position(|header| header == name).unwrap();
    let rows: Vec<_> = rows.records().map(Result::unwrap).collect();
    let kinds: Vec<_> = rows.iter().map(|row| &row[column("link")]).collect();
    assert_eq!(kinds, ["", "symbolic", ""]);
    assert_eq!(&rows[1][column("path")], link);
}

#[test]
fn a_list_for_scripts_has_no_links() {
    let env = linked();
    let plain = env.run("report --format fdupes").ok().out();
    let [a, b] = ["a/z", "b/copy"].map(|path| env.path(path));
    assert_eq!(plain, format!("{}\n{}\n", a.display(), b.display()));
    assert_eq!(env.run("report --format fdupes --links").ok().out(), plain);
}

#[test]
fn a_followed_link_is_no_copy_in_another_root() {
    let env = TestEnv::new();
    env.file("a/x", "same").file("a/y", "same");
    env.symlink("../a/x", "b/x").symlink("../a", "c/a");
    env.run("scan a").ok();
    env.run("scan --follow-links b c").ok();
    assert_eq!(env.groups(), expected(&[&["a/x", "a/y"]]));
    assert_eq!(env.groups_of("--across"), expected(&[]));
    assert_eq!(env.groups_of("--across --check"), expected(&[]));
    assert_eq!(env.groups_of("b"), expected(&[]));
    assert_eq!(env.groups_of("b c --check"), expected(&[]));
    env.file("c/real", "same");
    env.run("scan --follow-links c").ok();
    let all = expected(&[&["a/x", "a/y", "c/real"]]);
    assert_eq!(env.groups_of("--across"), all);
    assert_eq!(env.groups_of("c"), all);
}

#[test]
fn a_link_to_a_file_that_was_not_scanned_is_no_copy_of_another() {
    let env = TestEnv::new();
    env.file("out/b", "same").file("tree/a", "same");
    env.symlink("../out/b", "tree/link");
    env.run("scan --follow-links tree").ok();
    assert_eq!(env.groups(), expected(&[]));
    env.run("unique")
        .ok()
        .says("/tree/a")
        .keeps_quiet_about("/tree/link");
}

#[test]
fn a_file_that_becomes_a_link_stops_being_a_copy() {
    let env = TestEnv::new();
    env.file("tree/a", "same").file("tree/b", "same");
    env.settle_clock().run("scan --follow-links tree").ok();
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
    env.remove("tree/b").symlink("a", "tree/b");
    env.run("scan --follow-links tree").ok();
    assert_eq!(env.groups(), expected(&[]));
}

/// The files below the environment that are no links, with their content.
fn contents(folder: &Path) -> BTreeSet<Vec<u8>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(contents(&entry.path()));
        } else if kind.is_file() {
            found.insert(fs::read(entry.path()).unwrap());
        }
    }
    found
}

#[test]
fn keeping_the_first_of_each_group_loses_no_content() {
    for options in ["", "--links", "--links --check", "--sort path"] {
        let env = TestEnv::new();
        for (name, content) in [("z", "one"), ("y", "one"), ("sub/m", "two"), ("n", "two")] {
            env.file(format!("t/a/{name}"), content);
        }
        env.hard_link("t/a/z", "t/b/hard").file("out/far", "one");
        env.symlink("z", "t/a/b").symlink("../a/y", "t/b/a");
        env.symlink("sub/m", "t/a/k").symlink("../a/sub", "t/b/sub");
        env.symlink("../../out", "t/b/out");
        env.symlink("../a/sub", "u/sub").symlink("../out", "u/out");
        env.symlink("../t/a/n", "u/n");
        env.run("scan --follow-links t u").ok();
        let before = contents(&env.path("."));
        let list = env.run(&format!("report --format fdupes {options}")).ok();
        for group in list.out().split("\n\n") {
            for path in group.lines().skip(1).map(PathBuf::from) {
                fs::remove_file(path).unwrap();
            }
        }
        let kept: BTreeSet<_> = ["one", "two"].map(|text| text.as_bytes().to_vec()).into();
        let after = contents(&env.path("."));
        assert!(after.is_superset(&kept), "{options}: {before:?} {after:?}");
    }
}
