//! Every answer names its filters, and its totals obey them.

use crate::env::TestEnv;

const WORDS: &str = "filters: size at least 100.0 KiB, extension bin, excluding *.tmp";
const OPTIONS: &str = "--min-size 100k --ext bin --exclude *.tmp";

fn env() -> TestEnv {
    let env = TestEnv::new();
    for side in ["a", "b"] {
        env.random(format!("tree/{side}/large.bin"), 1, 200_000);
        env.random(format!("tree/{side}/large.txt"), 2, 200_000);
        env.random(format!("tree/{side}/small.bin"), 3, 5_000);
        env.file(format!("tree/{side}/x.tmp"), "temporary");
    }
    env.file("tree/a/only.bin", "only here");
    env.settle_clock();
    env.run("scan tree").ok();
    env
}

#[test]
fn every_answer_names_its_filters() {
    let env = env();
    for command in [
        "report",
        "folders",
        "folders --similar",
        "unique",
        "diff tree/a tree/b",
        "history --between 0 1",
        "audit",
    ] {
        let line = format!("{command} {OPTIONS}");
        env.run(&line).says(WORDS);
        let filters = &env.run(&format!("{line} --json")).json()["filters"];
        assert_eq!(filters["min_size"], 102_400, "{line}: {filters}");
        assert_eq!(filters["extensions"][0], "bin", "{line}");
        assert_eq!(filters["exclude"][0], "*.tmp", "{line}");
        env.run(&format!("{line} --format csv")).mentions(WORDS);
        env.run(command).keeps_quiet_about("filters:");
    }
    for format in ["jsonl", "fdupes", "paths"] {
        let line = format!("report {OPTIONS} --format {format}");
        env.run(&line).mentions(WORDS);
    }
    for format in ["sha256sums", "jsonl"] {
        let line = format!("export {OPTIONS} --format {format}");
        env.run(&line).mentions(WORDS);
    }
    let page = env.run(&format!("report {OPTIONS} --format html")).out();
    assert!(page.contains(&format!("\"filters\":\"{WORDS}\"")));
}

#[test]
fn paths_and_conditions_on_groups_are_filters_too() {
    let env = env();
    let here = env.path("tree/a").display().to_string();
    let path = format!("filters: in {here}");
    env.run("report tree/a").says(&path);
    env.run("folders tree/a").says(&path);
    env.run("unique tree/a").says(&path);
    let all = format!(
        "filters: in {here}, at least 3 copies, in more than one root, unchanged since the scan"
    );
    let line = "report tree/a --min-count 3 --across --check";
    env.run(line).says(&all);
    let filters = &env.run(&format!("{line} --json")).json()["filters"];
    assert_eq!(filters["paths"][0]["path"], here.as_str());
    assert_eq!(filters["min_count"], 3);
    assert_eq!(
        (&filters["across"], &filters["check"]),
        (&true.into(), &true.into())
    );
}

#[test]
fn unchecked_files_are_counted_as_the_filters_say() {
    let env = TestEnv::new();
    for side in ["a", "b"] {
        env.random(format!("tree/{side}/large.bin"), 1, 200_000);
        env.random(format!("tree/{side}/small.txt"), 3, 5_000);
    }
    env.random("tree/c/small.doc", 4, 5_000);
    env.run("scan tree --mode folders").ok();
    let unchecked = |options: &str| env.report(options)["totals"]["unchecked"].as_u64();
    for (options, expected) in [
        ("", 5),
        ("--min-size 100k", 2),
        ("--max-size 100k", 3),
        ("--ext txt", 2),
        ("--exclude b", 3),
        ("tree/a", 2),
        ("tree/a tree/c --ext txt", 1),
        ("--ext jpg", 0),
    ] {
        assert_eq!(unchecked(options), Some(expected), "{options}");
    }
}

#[test]
fn filters_of_history_need_two_scans() {
    let env = env();
    let error = env.run("history --min-size 1M").refused(2);
    assert!(error.contains("--between"), "{error}");
}
