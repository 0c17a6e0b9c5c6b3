//! What of a root is compared: the excludes that belong to it, and the size
//! limits it was scanned with.

use crate::env::TestEnv;
use crate::env::report_json::Groups;

/// Groups of files below `tree`.
fn groups(list: &[&[&str]]) -> Groups {
    let path = |name: &&str| format!("tree/{name}").into();
    list.iter()
        .map(|names| names.iter().map(path).collect())
        .collect()
}

const ALL: &[&[&str]] = &[&["a", "b", "modules/c"]];

/// Three equal files, one of them in a folder, scanned.
fn scanned() -> TestEnv {
    let env = TestEnv::new();
    env.random("tree/a", 1, 3_000)
        .copy("tree/a", "tree/b")
        .copy("tree/a", "tree/modules/c");
    env.settle_clock().run("scan tree").ok();
    assert_eq!(env.groups(), groups(ALL));
    env
}

#[test]
fn excludes_belong_to_the_root_until_others_replace_them() {
    let env = scanned();
    env.run("status").ok().keeps_quiet_about("excludes");
    env.run("scan tree --exclude modules").ok();
    assert_eq!(env.groups(), groups(&[&["a", "b"]]));
    env.run("status").ok().says("    excludes: modules\n");
    let root = &env.run("status --format json").ok().json()["roots"][0];
    assert_eq!(root["excludes"], serde_json::json!(["modules"]));
    // Without such flags they stay, also for what is new.
    env.copy("tree/a", "tree/modules/d");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), groups(&[&["a", "b"]]));
    env.run("status").ok().says("    excludes: modules\n");
    env.run("scan tree --exclude b").ok();
    assert_eq!(env.groups(), groups(&[&["a", "modules/c", "modules/d"]]));
    env.run("status").ok().says("    excludes: b\n");
    env.run("scan tree --no-excludes").ok();
    let all = groups(&[&["a", "b", "modules/c", "modules/d"]]);
    assert_eq!(env.groups(), all);
    env.run("status").ok().keeps_quiet_about("excludes");
}

#[test]
fn excludes_of_one_root_say_nothing_of_another() {
    let env = scanned();
    env.copy("tree/a", "other/modules/x");
    env.run("scan tree --exclude modules").ok();
    env.run("scan tree other").ok();
    let report = env.report("").to_string();
    assert!(report.contains("other/modules/x"), "{report}");
    assert!(!report.contains("tree/modules"), "{report}");
}

#[test]
fn digests_of_excluded_files_come_back_with_them() {
    let env = scanned();
    env.run("scan tree --exclude modules").ok();
    let scan = env.run("scan tree --no-excludes").ok();
    scan.says("0 B read").says("3 copies");
    assert_eq!(env.groups(), groups(ALL));
}

#[test]
fn files_that_met_while_one_was_excluded_are_compared_once_it_is_back() {
    let env = scanned();
    env.random("tree/modules/x", 7, 90_000);
    env.settle_clock().run("scan tree").ok();
    env.run("scan tree --exclude modules").ok();
    env.copy("tree/modules/x", "tree/y");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), groups(&[&["a", "b"]]));
    env.run("scan tree --no-excludes").ok();
    let all = groups(&[&["a", "b", "modules/c"], &["modules/x", "y"]]);
    assert_eq!(env.groups(), all);
}

#[test]
fn what_is_excluded_appears_in_no_list_of_duplicates() {
    let env = TestEnv::new();
    env.random("tree/web/modules/c", 1, 3_000)
        .copy("tree/web/modules/c", "tree/site/modules/c")
        .copy("tree/web/modules/c", "tree/modules/once-more");
    env.random("tree/lone", 2, 100);
    env.run("scan tree").ok().says("1 duplicate group");
    let scan = env.run("scan tree -E modules").ok();
    scan.says("No duplicates").keeps_quiet_about("unchecked");
    env.run("report").ok().says("no duplicates found");
    env.run("report --format fdupes")
        .ok()
        .keeps_quiet_about("modules");
    env.run("report --sort path").ok().keeps_quiet_about("/c");
    env.run("folders").ok().says("no duplicate folders found");
    env.run("unique").ok().keeps_quiet_about("modules");
    env.run("unique --copies-under 9")
        .ok()
        .keeps_quiet_about("modules")
        .says("lone");
    let totals = &env.run("status --format json").ok().json()["totals"];
    assert_eq!(totals["groups"], 0, "{totals}");
    env.run("report --format html --output page.html").ok();
    let page = std::fs::read_to_string(env.path("page.html")).unwrap();
    assert!(!page.contains("once-more"));
}

#[test]
fn a_folder_that_is_excluded_is_not_scanned_by_its_name() {
    let env = scanned();
    env.run("scan tree --exclude modules").ok();
    let line = env.run("scan tree/modules").refused(2);
    assert!(line.contains("tree excludes it"), "{line}");
    assert!(line.contains("--no-excludes"), "{line}");
}

#[test]
fn globs_on_the_command_line_extend_configured_ones() {
    let env = TestEnv::new();
    let config = "home/config/dupescan/config.toml";
    env.file(config, "exclude = [\"*.x\"]\n");
    for name in ["a", "b", "c.x", "d.y"] {
        env.file(format!("tree/{name}"), "same");
    }
    env.run("scan tree --exclude *.y").ok();
    assert_eq!(env.groups(), groups(&[&["a", "b"]]));
    env.run("status").ok().says("    excludes: *.x, *.y\n");
    env.run("scan tree --no-excludes").ok();
    assert_eq!(env.groups(), groups(&[&["a", "b", "c.x", "d.y"]]));
    env.run("scan tree").ok();
    assert_eq!(env.groups(), groups(&[&["a", "b", "d.y"]]));
    env.file(config, "include = [\"*.x\"]\n");
    env.use_db("data/include.db");
    env.run("scan tree --include *.y").ok();
    assert_eq!(env.groups(), groups(&[&["c.x", "d.y"]]));
}

#[test]
fn excludes_stay_when_a_root_becomes_part_of_another() {
    let env = TestEnv::new();
    env.file("tree/in/a", "same").file("tree/in/skip/b", "same");
    env.file("tree/skip/c", "same").file("tree/d", "same");
    env.run("scan tree/in --exclude skip").ok();
    env.run("scan tree").ok();
    assert_eq!(env.groups(), groups(&[&["in/a", "d", "skip/c"]]));
    env.run("status").ok().says("    excludes: /in/**/skip\n");
}

/// Large and small pairs, and folders that are equal but for a small file.
fn sizes() -> TestEnv {
    let env = TestEnv::new();
    for top in ["tree/one", "tree/two"] {
        env.random(format!("{top}/large"), 1, 5_000);
        env.file(format!("{top}/small"), "same");
    }
    env.file("tree/one/tiny", "1").file("tree/two/tiny", "2");
    env.settle_clock();
    env
}

#[test]
fn files_below_the_size_limit_are_said_once_to_be_not_compared() {
    let env = sizes();
    let said = "4 files not compared (smaller than 1 KiB)";
    let once = |command: &str| {
        let run = env.run(command).ok().says(said);
        assert_eq!(run.out().matches("not compared").count(), 1, "{command}");
        run.keeps_quiet_about("unchecked").without_complaint();
    };
    env.run("scan tree --min-size 1k").ok().says(said);
    for command in ["report", "status", "folders", "unique"] {
        once(command);
    }
    let report = env.report("");
    assert_eq!(report["totals"]["unchecked"], 0, "{report}");
    assert_eq!(report["not_compared"]["files"], 4, "{report}");
    assert_eq!(report["not_compared"]["min_size"], 1_024, "{report}");
    // Scanned without the limit, they are compared.
    let scan = env.run("scan tree").ok();
    scan.keeps_quiet_about("not compared")
        .says("2 duplicate groups");
    env.run("scan tree --max-size 1k").ok();
    env.run("report").ok().keeps_quiet_about("not compared");
}

#[test]
fn folders_and_diff_stay_useful_with_a_size_limit() {
    let env = sizes();
    env.random("tree/one/alone", 3, 6_000);
    env.random("tree/three/large", 1, 5_000);
    env.settle_clock().run("scan tree --min-size 1k").ok();
    env.run("folders")
        .ok()
        .says("1 duplicate group, 2 folders")
        .keeps_quiet_about("unchecked");
    let diff = env.run("diff tree/one tree/two").code(1);
    diff.says("alone")
        .keeps_quiet_about("/small")
        .says("1 file, 5.9 KiB not in B")
        .says("2 files, 5 B not compared (smaller than 1 KiB)")
        .says("0 files, 0 B unchecked");
}

#[test]
fn limits_of_one_root_do_not_read_or_question_another() {
    let env = sizes();
    env.run("scan tree --min-size 1k").ok();
    env.file("other/x", "same").file("other/y", "same");
    env.run("scan other").ok().says("1 duplicate group");
    let unread: i64 =
        env.sql("SELECT count(*) FROM live_files WHERE path LIKE '%small' AND digest IS NULL");
    assert_eq!(unread, 2);
    env.run("report").ok().keeps_quiet_about("unchecked");
}
