//! Keep rules: a report marks the copy that a plan keeps.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;

use crate::env::TestEnv;

/// Three copies of one file that differ in everything a rule can ask, and another
/// duplicate beside the last of them.
fn scanned() -> TestEnv {
    let env = TestEnv::new();
    env.random("tree/z.bin", 1, 3_000);
    env.copy("tree/z.bin", "tree/deep/er/ab.bin");
    env.hard_link("tree/deep/er/ab.bin", "tree/deep/er/long name.dat");
    env.run("scan tree").ok();
    env.copy("tree/z.bin", "tree/full/and-long.bin");
    env.random("tree/full/more", 2, 2_000);
    env.copy("tree/full/more", "tree/full/more too");
    let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
    env.mtime("tree/z.bin", at(2_000))
        .mtime("tree/deep/er/ab.bin", at(3_000))
        .mtime("tree/full/and-long.bin", at(1_000));
    env.settle_clock();
    env.run("scan tree").ok();
    env
}

/// The names of the files, sorted, for which a test holds.
fn names(files: &Value, test: impl Fn(&Value) -> bool) -> Vec<String> {
    let files = files.as_array().unwrap().iter();
    let wanted = files.filter(|file| file["size"] != 2_000 && test(file));
    let name = |file: &Value| {
        let path = file["path"].as_str().unwrap();
        path.rsplit('/').next().unwrap().to_owned()
    };
    let mut names: Vec<String> = wanted.map(name).collect();
    names.sort();
    names
}

/// What a report marks in the group of three, and what a plan keeps of it.
fn kept(env: &TestEnv, rules: &str) -> [Vec<String>; 2] {
    let report = env.report(rules);
    let files = &report["groups"][0]["files"];
    let marked = names(files, |file| file["keep"] == true);
    let spared = names(files, |file| file["keep"] == false);
    assert_eq!((marked.len(), spared.len()), (1, 2), "{rules}");
    let made = env.run(&format!("plan {rules}")).ok().out();
    let number = made.split([' ', ':']).nth(1).unwrap().to_owned();
    let plan = env.run(&format!("plans {number} --json")).ok().json();
    let keeper = names(&plan["files"], |file| file["role"] == "keep");
    [marked, keeper]
}

#[test]
fn a_report_marks_the_copy_that_a_plan_keeps() {
    let env = scanned();
    let [top, deep, full] = ["z.bin", "ab.bin", "and-long.bin"];
    for (rules, copy) in [
        ("--keep under:tree/full", full),
        ("--keep not-under:tree/full --keep newest", deep),
        ("--keep glob:**/er/*", deep),
        ("--keep name:z*", top),
        ("--keep not-name:ab*", full),
        ("--keep oldest", full),
        ("--keep newest", deep),
        ("--keep first-seen --keep oldest", top),
        ("--keep shortest-path", top),
        ("--keep shallowest", top),
        ("--keep shortest-name --keep newest", top),
        ("--keep most-links", deep),
        ("--keep fullest-folder", full),
    ] {
        let [marked, mut keeper] = kept(&env, rules);
        // A plan names all hard links of the copy that stays.
        keeper.retain(|name| name != "long name.dat");
        assert_eq!((&*marked[0], &*keeper), (copy, &*marked), "{rules}");
    }
}

#[test]
fn every_format_marks_the_copy_to_keep() {
    let env = scanned();
    let path = |name: &str| format!("{}\n", env.path(name).display());
    env.run("report --keep oldest tree/deep")
        .ok()
        .says(&format!("\n  keep  {}", path("tree/full/and-long.bin")))
        .says(&format!("\n        {}", path("tree/z.bin")))
        .says("\nkeep: oldest\n");
    let flat = env.run("report --paths --keep oldest tree/deep").ok().out();
    assert_eq!(flat, path("tree/deep/er/ab.bin") + &path("tree/z.bin"));
    let fdupes = env.run("report --format fdupes --keep oldest tree/deep");
    assert!(
        fdupes
            .ok()
            .out()
            .starts_with(&path("tree/full/and-long.bin"))
    );
    let first = env.run("report --keep first --json tree/deep").ok().json();
    assert_eq!(first["keep"], serde_json::json!(["first"]));
    assert_eq!(first["groups"][0]["files"][0]["keep"], true);
    let csv = env.run("report --format csv --keep newest").ok().out();
    assert!(csv.lines().next().unwrap().ends_with(",keep"), "{csv}");
    let html = env.run("report --format html --keep newest").ok().out();
    assert!(html.contains(r#""keep":"keep: newest""#), "{html}");
    let plain = env.run("report --json").ok().out();
    assert!(!plain.contains("\"keep\""), "{plain}");
}

#[test]
fn what_is_no_rule_or_path_is_refused_by_both() {
    let env = scanned();
    for command in ["report", "plan"] {
        for rule in ["under:nowhere", "not-under:nowhere"] {
            let error = env.run(&format!("{command} --keep {rule}")).refused(2);
            assert!(error.contains("has not been scanned"), "{error}");
        }
        let error = env.run(&format!("{command} --keep older")).refused(2);
        assert!(error.contains("'older': expected under:PATH"), "{error}");
    }
}
