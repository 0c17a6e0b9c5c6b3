//! Changing a plan: `plans N --drop`, `--keep-instead` and `--edit`.

use std::fs;

use super::{contents, names, pairs};
use crate::env::run::Run;
use crate::env::{TestEnv, odd};

/// Plan 1 as a sealed file, to see whether anything of it changed.
fn sealed(env: &TestEnv) -> String {
    env.run("plans 1 --format jsonl").ok().out()
}

/// Edits plan 1 with a shell script as editor; the text is `$1`.
fn edit(env: &TestEnv, script: &str) -> Run {
    env.file("editor.sh", script);
    let mut command = env.command(["plans", "1", "--edit"]);
    command.env("VISUAL", format!("sh {}", env.path("editor.sh").display()));
    command.env("TMPDIR", env.folder("drafts").path("drafts"));
    env.finish(command)
}

/// The text that an editor gets.
fn text(env: &TestEnv) -> String {
    let seen = env.path("seen");
    edit(env, &format!("cp \"$1\" {}", seen.display())).ok();
    fs::read_to_string(seen).unwrap()
}

fn drafts(env: &TestEnv) -> usize {
    fs::read_dir(env.path("drafts")).unwrap().count()
}

/// Three pairs, planned so that those in `a` go.
fn planned() -> TestEnv {
    let env = pairs(3);
    env.run("plan --keep under:tree/b").ok();
    env
}

/// What applying plan 1 takes away.
fn goes(env: &TestEnv) -> Vec<String> {
    let before = names(env, "tree");
    env.run("apply 1 --yes");
    let after = names(env, "tree");
    before
        .into_iter()
        .filter(|name| !after.contains(name))
        .collect()
}

#[test]
fn what_is_dropped_is_left_alone() {
    let env = planned();
    env.run("plans 1 --drop tree/a/1")
        .ok()
        .says("Plan 1 changed: 1 file is left alone")
        .says("Plan 1: 2 files in 2 groups to be moved to the trash");
    env.run_args(["plans", "1", "--drop", "**/a/2"])
        .ok()
        .says("1 file in 1 group");
    assert_eq!(goes(&env), ["tree/a/3"]);
}

#[test]
fn groups_and_folders_can_be_dropped() {
    let env = planned();
    env.run("plans 1 --drop 1").ok().says("2 files in 2 groups");
    // The numbers of the others stay.
    env.run("plans 1 --drop 1")
        .code(2)
        .complains("removes nothing of this");
    env.run("plans 1 --drop 2").ok().says("1 file in 1 group");
    env.run("plans 1 --drop tree")
        .ok()
        .says("Plan 1 removes nothing any more");
    assert_eq!(goes(&env), [""; 0]);
}

#[test]
fn nothing_changes_unless_everything_can_be_dropped() {
    let env = planned();
    let before = sealed(&env);
    for what in [
        "tree/b/1",
        "7",
        "*.raw",
        "tree/a/9",
        "tree/a/1 --drop nothing*",
    ] {
        let error = env.run(&format!("plans 1 --drop {what}")).refused(2);
        assert!(error.contains("removes nothing"), "{error}");
    }
    let error = env.run("plans 1 --drop /nowhere").refused(2);
    assert!(error.contains("has not been scanned"), "{error}");
    let error = env.run("plans 1 --drop [").refused(2);
    assert!(error.contains("invalid value '['"), "{error}");
    assert_eq!(sealed(&env), before);
}

#[test]
fn another_copy_can_be_kept_instead() {
    let env = planned();
    env.run("plans 1 --keep-instead tree/a/1")
        .ok()
        .says("Plan 1 changed: 1 file is kept, 1 file goes instead")
        .says("3 files in 3 groups");
    let before = sealed(&env);
    let error = env.run("plans 1 --keep-instead tree/a/1").refused(2);
    assert!(error.contains("plan 1 keeps it already"), "{error}");
    let error = env.run("plans 1 --keep-instead tree/a/9").refused(2);
    assert!(error.contains("plan 1 has no such file"), "{error}");
    assert_eq!(sealed(&env), before);
    assert_eq!(goes(&env), ["tree/a/2", "tree/a/3", "tree/b/1"]);
}

#[test]
fn a_copy_that_must_not_go_stays_beside_the_one_kept_instead() {
    let env = planned();
    env.run("protect tree/b").ok();
    env.run("plans 1 --keep-instead tree/a/1")
        .ok()
        .says("2 files in 2 groups");
    assert_eq!(goes(&env), ["tree/a/2", "tree/a/3"]);
    let env = planned();
    env.copy("tree/a/1", "tree/c/1").settle_clock();
    env.run("scan tree").ok();
    env.run("plans 1 --delete").ok();
    env.run("plan --keep under:tree/b --copies 2").ok();
    env.run("plans 2 --keep-instead tree/c/1")
        .code(0)
        .says("1 file is kept, 1 file goes instead");
    env.run("apply 2 --yes").ok();
    assert_eq!(names(&env, "tree").len(), 6);
}

#[test]
fn a_change_is_checked_against_the_newest_scan() {
    let env = planned();
    env.flip("tree/b/1", 7).settle_clock();
    env.run("scan tree").ok();
    let before = sealed(&env);
    let error = env.run("plans 1 --keep-instead tree/a/1").refused(2);
    assert!(error.contains("plan 1 was not changed"), "{error}");
    assert_eq!(sealed(&env), before);
    env.run("plans 1 --drop tree/a/1").ok();
}

#[test]
fn a_plan_that_was_applied_is_not_changed() {
    let env = planned();
    env.run("apply 1 --yes --max-files 1").ok();
    let before = sealed(&env);
    for change in ["--drop tree/a", "--keep-instead tree/a/2"] {
        let error = env.run(&format!("plans 1 {change}")).refused(2);
        assert!(error.contains("has been applied"), "{error}");
    }
    let error = edit(&env, "sed -i s/remove/keep/ \"$1\"").refused(2);
    assert!(error.contains("plan --import FILE"), "{error}");
    assert_eq!(sealed(&env), before);
    env.run("undo").ok();
    env.run("plans 1 --drop tree/a")
        .code(2)
        .complains("has been applied");
}

#[test]
fn a_plan_is_edited_as_text() {
    let env = planned();
    env.hard_link("tree/a/1", "tree/a/link").settle_clock();
    env.run("scan tree").ok();
    env.run("plans 1 --delete").ok();
    env.run("plan --keep under:tree/b").ok();
    let edited = |script: &str| {
        env.file("editor.sh", script);
        let mut command = env.command(["plans", "2", "--edit"]);
        command.env("EDITOR", format!("sh {}", env.path("editor.sh").display()));
        env.finish(command)
    };
    edited("cp \"$1\" seen").ok().says("Plan 2 was not changed");
    let text = fs::read_to_string(env.path("seen")).unwrap();
    let [kept, gone] = ["tree/b/1", "tree/a/1"].map(|name| env.path(name).display().to_string());
    assert!(text.contains(&format!("\nkeep   {kept}\n")), "{text}");
    assert!(text.contains(&format!("\nremove {gone}\n")), "{text}");
    assert!(text.contains("a/link (hard link)\n"), "{text}");
    // The copy with two names is kept, and one line is gone.
    edited(&format!("sed -i -e '\\,/a/2$,d' -e 's,^keep *{kept},remove {kept},' -e 's,^remove {gone},keep {gone},' \"$1\""))
        .ok()
        .says("Plan 2 changed: 2 files are kept, 1 file goes instead, 1 file is left alone")
        .says("2 files in 2 groups");
    env.run("apply 2 --yes").ok();
    let left = names(&env, "tree");
    assert_eq!(
        left,
        [
            "tree/a/1",
            "tree/a/2",
            "tree/a/link",
            "tree/b/2",
            "tree/b/3"
        ]
    );
}

#[test]
fn an_editor_that_fails_or_changes_nothing_leaves_the_plan() {
    let env = planned();
    let before = sealed(&env);
    edit(&env, "true").ok().says("Plan 1 was not changed");
    let failed = edit(&env, "exit 1").refused(3);
    assert!(failed.contains("nothing was changed"), "{failed}");
    assert_eq!(drafts(&env), 0);
    edit(&env, "kill -9 $$")
        .code(3)
        .complains("nothing was changed");
    // What was written before it failed is not lost.
    let failed = edit(&env, "sed -i s/remove/keep/ \"$1\"; exit 1").refused(3);
    assert!(failed.contains("your text is in"), "{failed}");
    assert_eq!(drafts(&env), 1);
    let mut command = env.command(["plans", "1", "--edit"]);
    command.env("EDITOR", "/nowhere/editor");
    let failed = env.finish(command).code(3).err();
    assert!(failed.contains("nothing was changed"), "{failed}");
    assert_eq!(sealed(&env), before);
}

#[test]
fn a_wrong_line_changes_nothing_and_keeps_the_text() {
    let env = planned();
    let before = sealed(&env);
    let [kept, gone] = ["tree/b/1", "tree/a/1"].map(|name| env.path(name).display().to_string());
    for (script, why) in [
        ("echo > \"$1\"".to_owned(), "no line is left"),
        (": > \"$1\"".to_owned(), "no line is left"),
        (
            "sed -i s/^remove/delete/ \"$1\"".to_owned(),
            "expected `keep PATH` or `remove PATH`",
        ),
        (
            "echo keep /nowhere >> \"$1\"".to_owned(),
            "plan 1 has no file /nowhere",
        ),
        (
            format!("echo remove {kept} >> \"$1\""),
            "are about the same file",
        ),
        (
            format!("sed -i 's,^keep *{kept},remove {kept},' \"$1\""),
            "no copy would stay",
        ),
        (
            format!("sed -i '\\,^keep *{kept},d' \"$1\""),
            "no copy would stay",
        ),
        (format!("sed -i 's,{gone},{gone}x,' \"$1\""), "has no file"),
        ("head -c 500 \"$1\" > x && cat x > \"$1\"".to_owned(), ""),
    ] {
        let run = edit(&env, &script);
        if why.is_empty() {
            // Cut off: what is left of the last line is no path of the plan.
            assert_eq!(run.exit, Some(2), "{}", run.describe());
            continue;
        }
        let error = run.refused(2);
        assert!(
            error.contains(why) && error.contains("your text is in"),
            "{script}: {error}"
        );
        assert_eq!(sealed(&env), before, "{script}");
    }
}

#[test]
fn a_plan_that_changed_under_the_editor_is_left() {
    let env = planned();
    let script = format!(
        "{} --db {} plans 1 --drop {} && sed -i s/^remove/keep/ \"$1\"",
        env!("CARGO_BIN_EXE_dupescan"),
        env.db().display(),
        env.path("tree/a/1").display(),
    );
    let run = edit(&env, &script).code(2);
    assert!(
        run.err().contains("changed by another command"),
        "{}",
        run.describe()
    );
    assert_eq!(goes(&env), ["tree/a/2", "tree/a/3"]);
}

#[test]
fn hostile_names_are_edited_as_they_are() {
    let env = TestEnv::new();
    let hostile: [&[u8]; 5] = [
        b"tree/a/new\nremove line",
        b"tree/a/\x1b[2J\xff",
        b"tree/a/# comment",
        b"tree/a/ends with space ",
        b"tree/a/back\\slash\xe2\x80\xae",
    ];
    for (at, name) in hostile.iter().enumerate() {
        env.random(odd(name), at as u64, 3_000 + at);
        env.copy(odd(name), format!("tree/b/{at}"));
    }
    env.settle_clock();
    env.run("scan tree").ok();
    env.run("plan --keep under:tree/b").ok();
    let text = text(&env);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
    let before = contents(&env, "tree");
    edit(
        &env,
        "sed -i -e 's/^keep/x/' -e 's/^remove/keep/' -e 's/^x/remove/' -e 's/ *$//' \"$1\"",
    )
    .ok()
    .says("5 files are kept, 5 files go instead");
    env.run("apply 1 --yes").ok();
    let after = contents(&env, "tree");
    assert_eq!(after.len(), 5);
    assert!(
        after
            .keys()
            .all(|path| before.contains_key(path) && path.starts_with(env.path("tree/a")))
    );
}
