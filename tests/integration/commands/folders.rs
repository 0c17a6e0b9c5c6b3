//! `dupescan folders`: on a tree with known overlaps, against the disk itself,
//! and where something is not known.

mod oracle;

use std::path::Path;
use std::time::{Duration, SystemTime};

use oracle::{check_groups, check_pairs};
use serde_json::Value;

use crate::env::report_json::exact_path;
use crate::env::{TestEnv, odd, skip};

/// Photos and a backup of them with an edited note; music and an old copy of
/// it one folder deeper; two folders with a third in common; hard links.
fn known_overlaps() -> TestEnv {
    let env = TestEnv::new();
    for top in ["tree/photos", "tree/backup"] {
        env.random(format!("{top}/2024/a.jpg"), 1, 3000)
            .random(format!("{top}/2024/b.jpg"), 2, 2000)
            .random(format!("{top}/2024/c.jpg"), 3, 1000)
            .file(format!("{top}/2024/.nomedia"), "");
    }
    let day = |days: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(days * 86_400);
    env.file("tree/photos/notes.txt", "first notes")
        .file("tree/backup/notes.txt", "older")
        .mtime("tree/photos/notes.txt", day(20_000))
        .mtime("tree/backup/notes.txt", day(19_000))
        .random("tree/music/x.mp3", 4, 5000)
        .random("tree/music/y.mp3", 5, 4000)
        .copy("tree/music/x.mp3", "tree/old/disk/x.mp3")
        .copy("tree/music/y.mp3", "tree/old/disk/y.mp3")
        .random("tree/one/p", 6, 700)
        .random("tree/one/q", 7, 800)
        .copy("tree/one/p", "tree/two/p")
        .random("tree/two/r", 8, 900)
        .random("tree/linked/l", 9, 600)
        .hard_link("tree/linked/l", "tree/links/l");
    env.run("scan tree").ok();
    env
}

/// The output without what differs from run to run.
fn plain(env: &TestEnv, line: &str) -> String {
    let out = env.run(line).ok().out();
    let out = out.replace(env.path("tree").to_str().unwrap(), "/tree");
    match out.split_once("as of scan 1, ") {
        Some((before, _)) => format!("{before}as of scan 1\n"),
        None => out,
    }
}

fn json(env: &TestEnv, options: &str) -> Value {
    env.run(&format!("folders --format json {options}"))
        .ok()
        .json()
}

/// The document without what differs from run to run.
fn plain_json(env: &TestEnv, options: &str) -> String {
    let mut document = json(env, options);
    document["generated_at"] = "now".into();
    document["as_of"]["finished_at"] = "then".into();
    let text = serde_json::to_string(&document).unwrap();
    let text = text.replace(env.path("tree").to_str().unwrap(), "/tree");
    // A line per object is enough to see what differs.
    text.replace("},", "},\n").replace(":[{", ":[\n{")
}

#[test]
fn identical_folders_as_a_table() {
    let env = known_overlaps();
    insta::assert_snapshot!(plain(&env, "folders"), @"
    8.8 KiB reclaimable     2 folders    2 files, 8.8 KiB each
        /tree/music
        /tree/old

    5.9 KiB reclaimable     2 folders    4 files, 5.9 KiB each
        /tree/backup/2024
        /tree/photos/2024

    2 duplicate groups, 4 folders, 14.6 KiB reclaimable
    1 more group of hard links: nothing to reclaim
    as of scan 1
    ");
    check_groups(&env, "");
}

#[test]
fn identical_folders_as_json() {
    let env = known_overlaps();
    insta::assert_snapshot!(plain_json(&env, ""), @r#"
    {"as_of":{"finished_at":"then","scan":1},
    "filters":{"exclude":[],"extensions":[],"max_size":null,"min_size":null,"paths":[]},
    "generated_at":"now","groups":[
    {"bytes":9000,"files":2,"folders":2,"paths":[
    {"path":"/tree/music"},
    {"path":"/tree/old"}],"reclaimable":9000,"same_files":[]},
    {"bytes":6000,"files":4,"folders":2,"paths":[
    {"path":"/tree/backup/2024"},
    {"path":"/tree/photos/2024"}],"reclaimable":6000,"same_files":[]}],"kind":"identical","same_names":false,"schema":1,"totals":{"empty_groups":0,"folders":4,"groups":2,"linked_groups":1,"reclaimable":15000,"unchecked":{"filtered":0,"folders":0,"not_listed":0,"with_unchecked_files":0,"with_unreadable_paths":0}},
    "unfinished_scans":0}
    "#);
}

#[test]
fn similar_folders_as_a_table() {
    let env = known_overlaps();
    insta::assert_snapshot!(plain(&env, "folders --similar --detail"), @"
    100 % similar      8.8 KiB in both     2 of 2 distinct files
        /tree/music
        /tree/old

    60.0 % similar     5.9 KiB in both     3 of 5 distinct files
        /tree/backup
            75.0 % of it is also in the other; 1 file only here, 5 B
        /tree/photos
            75.0 % of it is also in the other; 1 file only here, 11 B
        same name, different content:
            notes.txt
                2022-01-08 00:00, 5 B  |  2024-10-04 00:00, 11 B

    100 % similar      600 B in both       1 of 1 distinct file
        /tree/linked
        /tree/links

    3 pairs at least 50 % similar, by number of distinct files
    as of scan 1
    ");
    for percent in [50, 60, 61, 100] {
        check_pairs(&env, percent, false);
        check_pairs(&env, percent, true);
    }
}

#[test]
fn similar_folders_as_json() {
    let env = known_overlaps();
    insta::assert_snapshot!(plain_json(&env, "--similar 60 --detail"), @r#"
    {"as_of":{"finished_at":"then","scan":1},
    "by":"count","filters":{"exclude":[],"extensions":[],"max_size":null,"min_size":null,"paths":[]},
    "generated_at":"now","kind":"similar","pairs":[
    {"bytes_in_both":9000,"bytes_in_either":9000,"differences":{"changed":[],"only_left":[],"only_right":[]},
    "distinct_files_in_both":2,"distinct_files_in_either":2,"left":{"bytes":9000,"contained":100.0,"distinct_bytes":9000,"distinct_files":2,"files":2,"incomplete":[],"only_bytes":0,"only_distinct_bytes":0,"only_distinct_files":0,"only_files":0,"path":"/tree/music","unchecked_files":0},
    "right":{"bytes":9000,"contained":100.0,"distinct_bytes":9000,"distinct_files":2,"files":2,"incomplete":[],"only_bytes":0,"only_distinct_bytes":0,"only_distinct_files":0,"only_files":0,"path":"/tree/old","unchecked_files":0},
    "similarity":100.0},
    {"bytes_in_both":6000,"bytes_in_either":6016,"differences":{"changed":[
    {"left":{"mtime":"2022-01-08T00:00:00.000000000Z","size":5},
    "path":"notes.txt","right":{"mtime":"2024-10-04T00:00:00.000000000Z","size":11}}],"only_left":[],"only_right":[]},
    "distinct_files_in_both":3,"distinct_files_in_either":5,"left":{"bytes":6005,"contained":75.0,"distinct_bytes":6005,"distinct_files":4,"files":4,"incomplete":[],"only_bytes":5,"only_distinct_bytes":5,"only_distinct_files":1,"only_files":1,"path":"/tree/backup","unchecked_files":0},
    "right":{"bytes":6011,"contained":75.0,"distinct_bytes":6011,"distinct_files":4,"files":4,"incomplete":[],"only_bytes":11,"only_distinct_bytes":11,"only_distinct_files":1,"only_files":1,"path":"/tree/photos","unchecked_files":0},
    "similarity":60.0},
    {"bytes_in_both":600,"bytes_in_either":600,"differences":{"changed":[],"only_left":[],"only_right":[]},
    "distinct_files_in_both":1,"distinct_files_in_either":1,"left":{"bytes":600,"contained":100.0,"distinct_bytes":600,"distinct_files":1,"files":1,"incomplete":[],"only_bytes":0,"only_distinct_bytes":0,"only_distinct_files":0,"only_files":0,"path":"/tree/linked","unchecked_files":0},
    "right":{"bytes":600,"contained":100.0,"distinct_bytes":600,"distinct_files":1,"files":1,"incomplete":[],"only_bytes":0,"only_distinct_bytes":0,"only_distinct_files":0,"only_files":0,"path":"/tree/links","unchecked_files":0},
    "similarity":100.0}],"schema":1,"threshold":60,"totals":{"complete":true,"paired_with_first_only":0,"pairs":3,"unchecked":{"filtered":0,"folders":0,"not_listed":0,"with_unchecked_files":0,"with_unreadable_paths":0}},
    "unfinished_scans":0}
    "#);
}

/// Three equal files are three files, and as many bytes.
#[test]
fn bytes_only_here_are_those_of_the_files_only_here() {
    let env = TestEnv::new();
    for top in ["tree/x", "tree/y"] {
        env.random(format!("{top}/1"), 1, 5000)
            .random(format!("{top}/2"), 2, 6000);
    }
    for name in ["tree/x/a", "tree/x/b", "tree/x/c"] {
        env.random(name, 3, 10_000);
    }
    env.run("scan tree").ok();
    env.run("folders --similar")
        .ok()
        .says("66.7 % of it is also in the other; 3 files only here, 29.3 KiB");
    let left = json(&env, "--similar")["pairs"][0]["left"].clone();
    assert_eq!(left["only_bytes"], 30_000);
    assert_eq!(left["only_distinct_bytes"], 10_000);
    env.run("folders --similar --format csv")
        .ok()
        .says("left_only_files,left_only_bytes,")
        .says(",5,3,30000,0,");
    check_pairs(&env, 50, false);
}

/// A folder that is mounted twice is one folder.
#[test]
fn another_path_of_the_folder_to_keep_is_not_offered() {
    let env = TestEnv::new();
    for top in ["tree/a", "tree/c"] {
        env.random(format!("{top}/1"), 1, 5000)
            .random(format!("{top}/sub/2"), 2, 10_000);
    }
    env.folder("tree/b");
    let script = "mount --bind tree/a tree/b; $DUPESCAN scan tree >&2
                  $DUPESCAN folders --format json; exec $DUPESCAN folders >&2";
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    let run = run
        .ok()
        .complains("14.6 KiB reclaimable    2 folders    2 files, 14.6 KiB each");
    let document = run.json();
    assert_eq!(groups(&document, &env.path("tree")), [vec!["a", "c"]]);
    let same = &document["groups"][0]["same_files"];
    assert_eq!(exact_path(&same[0]), env.path("tree/b"));
    assert_eq!(document["totals"]["folders"], 2);
    assert_eq!(document["totals"]["linked_groups"], 0);
    run.complains("same files as the first (hard links or mounts), not copies:\n");
}

#[test]
fn names_count_only_when_asked_for() {
    let env = TestEnv::new();
    env.file("tree/a/x", "content")
        .file("tree/b/y", "content")
        .file("tree/c/x", "content");
    env.run("scan tree").ok();
    let groups = |options: &str| groups(&json(&env, options), &env.path("tree"));
    assert_eq!(groups(""), [vec!["a", "b", "c"]]);
    assert_eq!(groups("--same-names"), [vec!["a", "c"]]);
}

#[test]
fn a_path_limits_the_answer_to_what_has_a_part_below_it() {
    let env = known_overlaps();
    let tree = env.path("tree");
    let music = || groups(&json(&env, "tree/old"), &tree);
    assert_eq!(music(), [vec!["music", "old"]]);
    // Below a pair the pairs below it are asked for.
    let pairs = |line: &str| pairs(&json(&env, line), &tree);
    assert_eq!(pairs("--similar tree/photos"), [["backup", "photos"]]);
    assert_eq!(
        pairs("--similar=50 tree/photos/2024"),
        [["backup", "photos/2024"]]
    );
    assert_eq!(
        pairs("--similar 100 tree/photos"),
        [["backup/2024", "photos/2024"]]
    );
    let refused = env.run("folders tree/music/x.mp3").refused(2);
    assert!(
        refused.ends_with("x.mp3 is a file: give its folder"),
        "{refused}"
    );
    env.run("folders home").refused(2);
}

#[test]
fn limits_sizes_and_globs_mean_what_they_mean_in_reports() {
    let env = known_overlaps();
    let tree = env.path("tree");
    let limited = json(&env, "--limit 1");
    assert_eq!(limited["groups"].as_array().unwrap().len(), 1);
    assert_eq!(limited["totals"]["groups"], 2);
    env.run("folders --limit 1")
        .ok()
        .says("showing 1 of 2 groups");
    let without_notes = groups(&json(&env, "--exclude notes.txt"), &tree);
    assert!(without_notes.contains(&vec!["backup".into(), "photos".into()]));
    let large = groups(&json(&env, "--min-size 500"), &tree);
    assert_eq!(large, without_notes);
    env.run("folders --exclude notes.txt --min-size 1k --max-size 1M")
        .ok()
        .says("filters: size at least 1.0 KiB, size at most 1.0 MiB, excluding notes.txt");
}

#[test]
fn extensions_and_a_file_to_write_to_are_those_of_reports() {
    let env = known_overlaps();
    let tree = env.path("tree");
    let pictures = groups(&json(&env, "--ext JPG"), &tree);
    assert_eq!(pictures, [vec!["backup", "photos"]]);
    env.run("folders --ext mp3,.jpg")
        .ok()
        .says("filters: extension mp3 or jpg\n");
    let similar = pairs(
        &json(&env, "--similar 100 --ext jpg --exclude a.jpg"),
        &tree,
    );
    assert_eq!(similar, [["backup", "photos"]]);
    let told = env.run("folders --similar --format json").ok().json();
    let run = env
        .run("folders --similar --format json -o data/pairs.json")
        .ok();
    assert_eq!(run.out(), "");
    let written = std::fs::read(env.path("data/pairs.json")).unwrap();
    let written: Value = serde_json::from_slice(&written).unwrap();
    assert_eq!(written["pairs"], told["pairs"]);
}

#[test]
fn differences_as_csv() {
    let env = TestEnv::new();
    for side in ["tree/a", "tree/b"] {
        env.random(format!("{side}/1"), 1, 900)
            .random(format!("{side}/2"), 2, 901)
            .random(format!("{side}/3"), 3, 902);
    }
    env.file(odd(b"tree/a/=caf\xe9"), "only in a")
        .file("tree/a/notes", "short")
        .file("tree/b/notes", "longer now");
    env.run("scan tree").ok();
    let run = env.run("folders --similar --detail --format csv").ok();
    let mut rows = csv::Reader::from_reader(&*run.stdout);
    let at = |name: &str| {
        let names = DIFFERENCE_COLUMNS
            .split(',')
            .position(|column| column == name);
        names.unwrap()
    };
    let header = rows.headers().unwrap().iter().collect::<Vec<_>>();
    assert_eq!(header.join(","), DIFFERENCE_COLUMNS);
    let rows: Vec<_> = rows.records().map(Result::unwrap).collect();
    let all = env
        .run("folders --similar --detail --format json")
        .ok()
        .json();
    let listed = &all["pairs"][0]["differences"];
    let only = &listed["only_left"][0];
    let changed = &listed["changed"][0];
    assert_eq!(rows.len(), 2, "{}", run.describe());
    for row in &rows {
        assert_eq!(row[at("left")], *env.path("tree/a").to_str().unwrap());
        assert_eq!(row[at("right")], *env.path("tree/b").to_str().unwrap());
    }
    assert_eq!(rows[0][at("difference")], *"only_left");
    assert_eq!(rows[0][at("path")], *"'=caf\u{fffd}");
    assert_eq!(rows[0][at("path_b64")], *only["path_b64"].as_str().unwrap());
    assert_eq!(rows[0][at("left_size")], *"9");
    assert_eq!(rows[0][at("left_mtime")], *only["mtime"].as_str().unwrap());
    assert_eq!(rows[0][at("right_size")], *"");
    assert_eq!(rows[1][at("difference")], *"changed");
    assert_eq!(
        (&rows[1][at("left_size")], &rows[1][at("right_size")]),
        ("5", "10")
    );
    let right = changed["right"]["mtime"].as_str().unwrap();
    assert_eq!(rows[1][at("right_mtime")], *right);
    let none = env.run("folders --similar 100 --detail --format csv").ok();
    assert_eq!(none.out(), format!("{DIFFERENCE_COLUMNS}\n"));
}

const DIFFERENCE_COLUMNS: &str = "pair,left,left_b64,right,right_b64,difference,path,path_b64,\
    left_size,left_mtime,right_size,right_mtime,unchecked,as_of_scan";

#[test]
fn bad_values_are_named() {
    let env = known_overlaps();
    for (line, complaint) in [
        (
            "folders --similar 49",
            "invalid value '49' for --similar: expected a whole number from 50 to 100",
        ),
        (
            "folders --similar 101",
            "expected a whole number from 50 to 100",
        ),
        ("folders --similar=-1", "invalid value '-1'"),
        (
            "folders --min-size 2k --max-size 1k",
            "invalid value '1.0 KiB' for --max-size",
        ),
    ] {
        let refused = env.run(line).refused(2);
        assert!(refused.contains(complaint), "{line}: {refused}");
    }
    for line in [
        "folders --detail",
        "folders --by bytes",
        "folders --similar --same-names",
    ] {
        env.run(line).code(2);
    }
}

#[test]
fn what_cannot_be_read_is_never_called_identical() {
    let env = TestEnv::new();
    for top in ["tree/a", "tree/b", "tree/c"] {
        env.random(format!("{top}/1"), 1, 900)
            .random(format!("{top}/2"), 2, 901);
    }
    env.chmod("tree/b/2", 0);
    let Some(run) = env.run_unprivileged("scan tree") else {
        skip!("root cannot give its rights up here");
    };
    run.code(1);
    let found = json(&env, "");
    assert_eq!(groups(&found, &env.path("tree")), [vec!["a", "c"]]);
    // The folder itself, and the one above it.
    assert_eq!(found["totals"]["unchecked"]["folders"], 2);
    assert_eq!(found["totals"]["unchecked"]["with_unreadable_paths"], 2);
    env.run("folders")
        .ok()
        .says("2 folders unchecked (could be duplicates; not fully read yet)");
    // One of three contents is in both: the locked one counts as different.
    let pairs = json(&env, "--similar 50 tree/b");
    assert_eq!(pairs["totals"]["pairs"], 0);
    env.random("tree/a/3", 3, 902).random("tree/b/3", 3, 902);
    env.run_unprivileged("scan tree").unwrap().code(1);
    let pairs = json(&env, "--similar 50 tree/b");
    assert_eq!(pairs["pairs"][0]["similarity"], 50.0);
    assert_eq!(pairs["pairs"][0]["right"]["unchecked_files"], 1);
    env.run("folders --similar")
        .ok()
        .says("1 file unchecked, counted as different");
}

/// Both are unchecked: the files that were not read, and those that may equal
/// them.
#[test]
fn what_may_equal_something_offline_is_unchecked() {
    let env = TestEnv::new();
    for (seed, name) in (0..).zip(["1", "2", "3"]) {
        env.random(format!("a/{name}"), seed, 900 + 1000 * seed as usize);
    }
    env.run("scan a").ok();
    for name in ["1", "2", "3"] {
        env.copy(format!("a/{name}"), format!("b/{name}"));
    }
    env.rename("a", "away").run("scan b").ok();
    let unique = env.run("unique --format json").ok().json();
    assert_eq!(unique["totals"]["unchecked_files"], 6, "{unique}");
    let identical = json(&env, "");
    assert_eq!(
        groups(&identical, Path::new("/")),
        Vec::<Vec<String>>::new()
    );
    let reasons = &identical["totals"]["unchecked"];
    assert_eq!(reasons["folders"], 2);
    assert_eq!(reasons["with_unchecked_files"], 2);
    env.run("folders").ok().says("2 folders unchecked");
    let similar = json(&env, "--similar");
    assert_eq!(similar["totals"]["pairs"], 0);
    assert_eq!(similar["totals"]["unchecked"]["folders"], 2);
    env.run("folders --similar")
        .ok()
        .says("2 folders unchecked (may have more in common than shown)")
        .says("2 with unchecked files");
    // A copy that is known is known, whatever the third one is.
    for name in ["1", "2", "3"] {
        env.copy(format!("b/{name}"), format!("c/{name}"));
    }
    env.run("scan c").ok();
    let found = json(&env, "");
    assert_eq!(groups(&found, &env.path("")), [vec!["b", "c"]]);
    assert_eq!(found["totals"]["unchecked"]["folders"], 1);
    env.rename("away", "a").run("scan a b c").ok();
    let found = json(&env, "");
    assert_eq!(groups(&found, &env.path("")), [vec!["a", "b", "c"]]);
    assert_eq!(found["totals"]["unchecked"]["folders"], 0);
}

#[test]
fn what_a_scan_skipped_is_not_passed_off_as_absent() {
    let env = TestEnv::new();
    for top in ["tree/a", "tree/b"] {
        env.random(format!("{top}/1"), 1, 900);
    }
    env.file("tree/b/.scratch", "x");
    env.run("scan tree --no-hidden").ok();
    let tree = env.path("tree");
    let found = json(&env, "");
    assert_eq!(groups(&found, &tree), Vec::<Vec<String>>::new());
    assert_eq!(found["totals"]["unchecked"]["filtered"], 3);
    env.run("folders")
        .ok()
        .says("3 scanned with filters that may hide files (--as-scanned compares them)\n");
    assert_eq!(groups(&json(&env, "--as-scanned"), &tree), [vec!["a", "b"]]);
    // What a root excludes is not compared, and said to be excluded by `status`.
    env.run("scan tree --exclude .scratch").ok();
    assert_eq!(groups(&json(&env, ""), &tree), [vec!["a", "b"]]);
    env.run("scan tree --no-excludes").ok();
    let found = json(&env, "");
    assert_eq!(groups(&found, &tree), Vec::<Vec<String>>::new());
    assert_eq!(found["totals"]["unchecked"]["folders"], 0);
}

#[test]
fn odd_names_stay_exact_for_programs_and_harmless_on_paper() {
    let env = TestEnv::new();
    let (left, right) = (odd(b"tree/caf\xe9"), odd(b"tree/two\nlines\x1b[2J"));
    env.file(left.join("x"), "content")
        .file(right.join("x"), "content");
    env.run("scan tree").ok();
    env.run("folders")
        .ok()
        .says(r"/tree/caf\xe9")
        .says(r"/tree/two\nlines\x1b[2J");
    let paths = json(&env, "")["groups"][0]["paths"].clone();
    let exact: Vec<_> = paths.as_array().unwrap().iter().map(exact_path).collect();
    assert_eq!(exact, [env.path(left), env.path(right)]);
    env.run("folders --format csv")
        .ok()
        .complains("as of scan 1");
}

#[test]
fn an_empty_catalog_and_none_at_all() {
    let env = TestEnv::new();
    env.run("folders").code(3);
    env.run("scan tree").ok();
    env.run("folders").ok().says("no duplicate folders found");
    env.run("folders --similar 75")
        .ok()
        .says("no folders are at least 75 % similar");
}

fn relative(entry: &Value, base: &Path) -> String {
    let path = exact_path(entry);
    path.strip_prefix(base)
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned()
}

/// The folders of each group, relative to `base`, the one to keep first.
fn groups(document: &Value, base: &Path) -> Vec<Vec<String>> {
    let relative = |entry: &Value| relative(entry, base);
    let groups = document["groups"].as_array().unwrap().iter();
    groups
        .map(|group| {
            group["paths"]
                .as_array()
                .unwrap()
                .iter()
                .map(relative)
                .collect()
        })
        .collect()
}

/// The folders of each pair, relative to `base`.
fn pairs(document: &Value, base: &Path) -> Vec<[String; 2]> {
    let relative = |entry: &Value| relative(entry, base);
    let pairs = document["pairs"].as_array().unwrap().iter();
    pairs
        .map(|pair| [relative(&pair["left"]), relative(&pair["right"])])
        .collect()
}

#[test]
fn folders_of_empty_files_are_counted() {
    let env = TestEnv::new();
    for side in ["a", "b"] {
        env.file(format!("tree/{side}/x"), "")
            .file(format!("tree/{side}/y"), "");
    }
    env.file("tree/c/x", "").folder("tree/d").folder("tree/e");
    env.run("scan tree").ok();
    let totals = json(&env, "")["totals"].clone();
    assert_eq!(totals["empty_groups"], 1, "{totals}");
    assert_eq!(totals["linked_groups"], 0, "{totals}");
    env.run("folders")
        .ok()
        .says("no duplicate folders found\n1 more group of empty files: nothing to reclaim\n");
    env.run("folders --min-size 1")
        .ok()
        .keeps_quiet_about("more group");
}
