//! Plans outside the catalog: writing them, applying them, importing them.

use std::fs;

use serde_json::Value;

use super::{contents, pairs};
use crate::env::run::Run;
use crate::env::{TestEnv, odd};

/// Plan 1 of an environment as a file, `plan.jsonl`.
fn exported(env: &TestEnv) -> String {
    env.run("plans 1 --format jsonl -o plan.jsonl").ok();
    fs::read_to_string(env.path("plan.jsonl")).unwrap()
}

#[test]
fn a_plan_is_written_as_json_lines_and_sealed() {
    let env = pairs(2);
    let name = odd(b"tree/a/n\xff");
    env.copy("tree/a/1", &name).settle_clock();
    env.run("scan tree").ok();
    env.run("plan --keep under:tree/b").ok();
    let text = exported(&env);
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["document"], "dupescan plan");
    assert_eq!(lines[0]["plan"], 1);
    assert_eq!(lines[0]["options"]["keep"][0], "under:tree/b");
    let one = lines[1..3]
        .iter()
        .find(|line| line["act"].as_array().unwrap().len() == 2);
    let odd = &one.unwrap()["act"][1]["names"][0];
    assert!(odd["path"].as_str().unwrap().ends_with("n\u{fffd}"));
    assert!(odd["path_b64"].is_string());
    let sealed: usize = text.lines().take(3).map(|line| line.len() + 1).sum();
    let seal = blake3::hash(&text.as_bytes()[..sealed]).to_string();
    assert_eq!(lines[3]["blake3"], seal.as_str());
    assert_eq!(env.run("plans 1 --format jsonl").ok().out(), text);
    let error = env.run("plans 1 --format jsonl --limit 1").refused(2);
    assert!(error.contains("a plan file is whole"), "{error}");
}

/// Imports the lines of a plan file after `change` edited them; the first and the
/// last are the header and the seal.
fn import(env: &TestEnv, text: &str, change: impl Fn(&mut Vec<Value>)) -> Run {
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut lines: Vec<Value> = lines.collect();
    change(&mut lines);
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    env.file("edited.jsonl", lines.join("\n") + "\n");
    env.run("plan --import edited.jsonl")
}

/// Two pairs, planned so that those in `a` go.
fn planned(pairs_of: usize) -> (TestEnv, String) {
    let env = pairs(pairs_of);
    env.run("plan --keep under:tree/b").ok();
    let text = exported(&env);
    (env, text)
}

/// Moves the copy at `at` of one list of a group to another list.
fn move_copy(group: &mut Value, from: &str, to: &str) {
    let copy = group[from].as_array_mut().unwrap().remove(0);
    group[to].as_array_mut().unwrap().push(copy);
}

#[test]
fn an_edited_plan_is_imported_as_a_new_one() {
    let (env, text) = planned(2);
    import(&env, &text, |_| ())
        .ok()
        .says("Plan 2: 2 files in 2 groups");
    import(&env, &text, |lines| {
        // The other way round, and one pair less.
        move_copy(&mut lines[1], "act", "keep");
        move_copy(&mut lines[1], "keep", "act");
        lines.remove(2);
    })
    .ok()
    .says("Plan 3: 1 file in 1 group to be moved to the trash")
    .says("apply 3");
    let group: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    let kept = group["keep"][0]["names"][0]["path"]
        .as_str()
        .unwrap()
        .to_owned();
    let before = contents(&env, "tree");
    env.run("apply 3 --yes").ok();
    let after = contents(&env, "tree");
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    assert_eq!(gone.collect::<Vec<_>>(), [&std::path::PathBuf::from(kept)]);
}

#[test]
fn a_row_that_does_not_hold_is_refused_with_its_reason() {
    let (env, text) = planned(2);
    env.copy("tree/a/1", "outside/1");
    let outside = env.path("outside/1").display().to_string();
    let other = env.path("tree/a/2").display().to_string();
    let first_is_1 = text.lines().nth(1).unwrap().contains("/tree/a/1\"");
    assert!(!first_is_1, "the larger pair comes first");
    let refused = |change: &dyn Fn(&mut Value), why: &str| {
        let run = import(&env, &text, |lines| change(&mut lines[2]));
        run.code(1)
            .says("1 file in 1 group")
            .says("refused: line 3")
            .says(why);
    };
    let act = |field: &'static str, value: Value| {
        move |group: &mut Value| group["act"][0][field] = value.clone()
    };
    let named = |path: &str| serde_json::json!([{ "path": path }]);
    refused(&act("inode", 5.into()), "has changed");
    refused(&act("mtime", "2001-01-01T00:00:00Z".into()), "has changed");
    refused(&act("ctime", "2001-01-01T00:00:00Z".into()), "has changed");
    refused(&act("volume", "uuid:other".into()), "has changed");
    refused(
        &act("names", named(&outside)),
        "outside the folders that were scanned",
    );
    refused(&act("names", named(&other)), "with another content");
    let gone = env.path("tree/a/9").display().to_string();
    refused(
        &act("names", named(&gone)),
        "the catalog knows no such file",
    );
    refused(
        &|group| group["keep"] = serde_json::json!([]),
        "no copy would stay",
    );
    refused(
        &|group| move_copy(group, "keep", "act"),
        "no copy would stay",
    );
    refused(
        &|group| {
            let copy = group["keep"][0].clone();
            group["act"].as_array_mut().unwrap().push(copy);
        },
        "listed more than once",
    );
    refused(&|group| group["size"] = 7.into(), "with another content");
    refused(
        &|group| group["digest"] = "00".repeat(32).into(),
        "with another content",
    );
    let twice = import(&env, &text, |lines| {
        let mut again = lines[1].clone();
        move_copy(&mut again, "act", "keep");
        move_copy(&mut again, "keep", "act");
        lines.insert(3, again);
    });
    twice
        .code(1)
        .says("line 4")
        .says("has a line of its own before this one");
}

#[test]
fn guards_protection_and_limits_hold_for_imported_plans() {
    let (env, text) = planned(1);
    let limited = |change: &dyn Fn(&mut Vec<Value>), why: &str| {
        let run = import(&env, &text, change);
        run.code(1).says("Nothing was imported").says(why);
    };
    limited(
        &|lines| lines[0]["options"]["copies"] = 2.into(),
        "--copies",
    );
    limited(
        &|lines| lines[0]["options"]["per_volume"] = 2.into(),
        "--per-volume",
    );
    let top = env.path("tree").display().to_string();
    limited(
        &|lines| {
            lines[0]["options"]["isolate"] = true.into();
            lines[0]["options"]["paths"] = serde_json::json!([top]);
        },
        "--isolate",
    );
    limited(
        &|lines| lines[0]["options"]["exclude"] = serde_json::json!(["a/*"]),
        "the filters",
    );
    let below = env.path("tree/b").display().to_string();
    limited(
        &|lines| lines[0]["options"]["paths"] = serde_json::json!([below]),
        "outside the folders of the plan",
    );
    env.run("protect tree/a").ok();
    limited(&|_| (), "protected folder");
    env.run("protect --remove tree/a").ok();
    env.run("plan --import plan.jsonl --protect tree/a")
        .code(1)
        .says("protected folder");

    env.copy("tree/a/1", "tree/repo/.git/1").settle_clock();
    env.run("scan tree").ok();
    env.run("plan --include-guarded --keep under:tree/b").ok();
    env.run("plans 2 --format jsonl -o guarded.jsonl").ok();
    env.run("plan --import guarded.jsonl")
        .code(1)
        .says("1 file in 1 group")
        .says("it cannot go: in a version control repository");
    env.run("plan --import guarded.jsonl --include-guarded")
        .ok()
        .says("2 files");
}

#[test]
fn hard_links_go_under_all_their_names_or_none() {
    let env = pairs(1);
    env.hard_link("tree/a/1", "tree/a/again").settle_clock();
    env.run("scan tree").ok();
    env.run("plan --keep under:tree/b").ok().says("2 files");
    let text = exported(&env);
    for at in [0, 1] {
        let run = import(&env, &text, |lines| {
            lines[1]["act"][0]["names"]
                .as_array_mut()
                .unwrap()
                .remove(at);
        });
        run.code(1)
            .says("Nothing was imported")
            .says("all of them or none");
    }
    // As two copies, of which one stays.
    import(&env, &text, |lines| {
        let mut other = lines[1]["act"][0].clone();
        other["names"].as_array_mut().unwrap().remove(0);
        lines[1]["act"][0]["names"]
            .as_array_mut()
            .unwrap()
            .remove(1);
        lines[1]["keep"] = serde_json::json!([other]);
    })
    .code(1)
    .says("Nothing was imported");
    env.hard_link("tree/a/1", "outside");
    env.run("plan --import plan.jsonl")
        .code(1)
        .says("offline, or has changed");
    env.settle_clock();
    env.run("scan tree").ok();
    env.run("plan --import plan.jsonl")
        .code(1)
        .says("a newer scan found that it has changed");
}

#[test]
fn an_old_plan_is_checked_against_the_newest_scan() {
    let (env, _) = planned(2);
    env.flip("tree/a/1", 7).settle_clock();
    env.run("plan --import plan.jsonl")
        .code(1)
        .says("1 file")
        .says("has changed since the scan");
    env.run("scan tree").ok();
    env.run("plan --import plan.jsonl")
        .code(1)
        .says("1 file")
        .says("another content");
    env.remove("tree/b/2").settle_clock();
    env.run("scan tree").ok();
    env.run("plan --import plan.jsonl")
        .code(1)
        .says("Nothing was imported");
}

#[test]
fn what_is_no_plan_of_this_catalog_is_refused_whole() {
    let (env, text) = planned(2);
    let (other, _) = planned(1);
    let refused = |text: &str, why: &str| {
        env.file("bad.jsonl", text);
        for command in ["plan --import bad.jsonl", "apply bad.jsonl --yes"] {
            let error = env.run(command).refused(2);
            assert!(error.contains(why), "{command}: {error}");
        }
    };
    let foreign = fs::read_to_string(other.path("plan.jsonl")).unwrap();
    refused(&foreign, "a plan of another catalog");
    refused(
        &text.replacen("\"schema\":1", "\"schema\":2", 1),
        "a newer version",
    );
    refused(&text[..text.len() / 2], "ends before its last line");
    refused(&text.replacen("\"act\"", "\"cat\"", 1), "line 2");
    refused("", "ends before");
    refused("{}\n", "not a plan file");
    let error = env.run("plan --import nowhere").refused(2);
    assert!(error.contains("there is no plan file nowhere"), "{error}");
    env.run("plan --import plan.jsonl --keep oldest")
        .code(2)
        .complains("--import cannot be used with --keep");
    assert!(env.run("plans").ok().out().contains("1 plan"));
}

#[test]
fn an_unaltered_file_is_applied_once() {
    let (env, _) = planned(2);
    env.run("apply plan.jsonl --dry-run")
        .ok()
        .says("2 files would be moved");
    env.run("apply plan.jsonl --yes")
        .ok()
        .says("2 files moved to the trash");
    let after = contents(&env, "tree");
    env.run("apply plan.jsonl --yes")
        .ok()
        .says("0 files moved")
        .says("2 files already done");
    assert_eq!(contents(&env, "tree"), after);
    env.run("undo").ok();
    env.run("apply plan.jsonl --yes")
        .ok()
        .says("2 files moved to the trash");
}

#[test]
fn an_altered_file_is_not_applied() {
    let (env, text) = planned(2);
    let before = contents(&env, "tree");
    let refused = |text: &str, why: &str| {
        env.file("bad.jsonl", text);
        let error = env.run("apply bad.jsonl --yes").refused(2);
        assert!(
            error.contains(why) && error.contains("plan --import bad.jsonl"),
            "{error}"
        );
    };
    refused(
        &text.replacen("/tree/a/1", "/tree/a/2", 1),
        "has been changed since it was written",
    );
    let lines: Vec<&str> = text.lines().collect();
    refused(
        &[lines[0], lines[1], lines[3], ""].join("\n"),
        "has been changed",
    );
    // Sealed again, as only somebody who means it does.
    let body = text
        .replacen("\"act\"", "\"x\"", 1)
        .replacen("\"keep\":[{", "\"act\":[{", 1);
    let body = body.replacen("\"x\":[{", "\"keep\":[{", 1);
    let body = &body[..body.rfind("{\"groups\"").unwrap()];
    let mut seal: Value = serde_json::from_str(lines[3]).unwrap();
    seal["blake3"] = blake3::hash(body.as_bytes()).to_string().into();
    refused(
        &format!("{body}{seal}\n"),
        "plan 1 of the catalog is not this one",
    );
    env.run("plans 1 --delete").ok();
    refused(&text, "the catalog has no plan 1 any more");
    assert_eq!(contents(&env, "tree"), before);
}

#[test]
fn a_plan_is_a_page_for_the_browser_or_a_table_of_any_kind() {
    let env = pairs(2);
    env.copy("tree/a/1", odd(b"tree/a/</script><script>alert(1)<\xff"))
        .settle_clock();
    env.run("scan tree").ok();
    env.run("plan --keep under:tree/b").ok();
    let page = env.run("plans 1 --format html").ok().out();
    assert!(
        page.contains(r#""plan":{"number":1,"action":"trash","files":3}"#),
        "{page}"
    );
    assert!(page.contains("\"group 1\"") && page.contains("\"group 2\""));
    assert!(!page.contains("<script>alert") && !page.contains("</script><script>a"));
    let few = env.run("plans 1 --format html --limit 1").ok().out();
    assert!(few.contains("\"group 1\"") && !few.contains("\"group 2\""));
    let csv = env.run("plans 1 --format csv").ok().out();
    assert!(
        csv.starts_with("group,role,size,mtime,path,path_b64,digest"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 6, "{csv}");
    env.run("plans 1")
        .ok()
        .says("GROUP")
        .says("keep")
        .says("remove")
        .says("3 files to be moved");
    let list = env.run("plans --format jsonl").ok().out();
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!((&list["plan"], &list["files"]), (&"1".into(), &3.into()));
    let error = env.run("plans --format html").refused(2);
    assert!(error.contains("plans PLAN --format html"), "{error}");
}
