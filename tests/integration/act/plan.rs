//! `dupescan plan`, `plans` and `protect`: what would go, and what never does.

use super::{names, pairs};
use crate::env::TestEnv;

/// The paths with a role in plan 1, below the environment.
fn with_role(env: &TestEnv, role: &str) -> Vec<String> {
    with_role_in(env, 1, role)
}

/// The paths with a role in a plan.
fn with_role_in(env: &TestEnv, plan: usize, role: &str) -> Vec<String> {
    let plan = env.run(&format!("plans {plan} --json")).ok().json();
    let top = env.path("");
    let files = plan["files"].as_array().unwrap().iter();
    let mut paths: Vec<String> = files
        .filter(|file| file["role"] == role)
        .map(|file| {
            let path = file["path"].as_str().unwrap().to_owned();
            path.trim_start_matches(top.to_str().unwrap())
                .trim_start_matches('/')
                .to_owned()
        })
        .collect();
    paths.sort();
    paths
}

#[test]
fn rules_say_which_copy_is_kept() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b")
        .ok()
        .says("Plan 1: 2 files in 2 groups to be moved to the trash")
        .says("apply 1");
    assert_eq!(with_role(&env, "act"), ["tree/a/1", "tree/a/2"]);
    assert_eq!(with_role(&env, "keep"), ["tree/b/1", "tree/b/2"]);
    assert!(env.path("tree/a/1").exists());
}

#[test]
fn only_copies_in_the_given_folders_take_part() {
    let env = pairs(1);
    env.run("plan tree/a").ok().says("Nothing to plan");
    env.run("plan --from tree/a --match tree/b").ok();
    assert_eq!(with_role(&env, "act"), ["tree/a/1"]);
    let error = env.run("plan --from tree --match tree/b").refused(2);
    assert!(error.contains("overlap"), "{error}");
}

#[test]
fn tied_copies_can_all_stay() {
    let env = pairs(1);
    env.run("plan --keep shallowest --on-tie skip")
        .ok()
        .says("Nothing to plan")
        .says("tied");
    env.run("plan --keep shallowest --on-tie path").ok();
    assert_eq!(with_role(&env, "act"), ["tree/b/1"]);
}

#[test]
fn bad_rules_and_paths_are_one_sentence() {
    let env = pairs(1);
    let error = env.run("plan --keep older").refused(2);
    assert!(error.contains("'older': expected under:PATH"), "{error}");
    let error = env.run("plan --keep under:nowhere").refused(2);
    assert!(error.contains("has not been scanned"), "{error}");
    let error = env.run("plans 7").refused(2);
    assert!(error.contains("there is no plan 7"), "{error}");
}

#[test]
fn protected_and_guarded_folders_are_never_in_a_plan() {
    let env = pairs(1);
    env.copy("tree/a/1", "tree/repo/.git/objects/1");
    env.settle_clock();
    env.run("scan tree").ok();
    env.run("protect tree/b").ok();
    env.run("protect").ok().says("tree/b");
    env.run("plan --keep under:tree/repo")
        .ok()
        .says("in a protected folder")
        .says("in a version control repository");
    assert_eq!(with_role(&env, "act"), ["tree/a/1"]);
    env.run("protect --remove tree/b").ok();
    let error = env.run("protect --remove tree/b").refused(2);
    assert!(error.contains("not protected"), "{error}");
}

#[test]
fn hard_links_outside_the_catalog_and_links_spare_a_copy() {
    let env = pairs(1);
    env.hard_link("tree/a/1", "outside");
    env.settle_clock();
    env.run("scan tree").ok();
    env.run("plan --keep under:tree/b")
        .ok()
        .says("has hard links outside the catalog");
}

#[test]
fn a_plan_changed_by_a_newer_scan_is_checked_against_it() {
    let env = pairs(2);
    env.run("plan --keep under:tree/b").ok();
    env.flip("tree/a/1", 7);
    env.settle_clock();
    env.run("scan tree").ok();
    env.run("apply 1 --yes")
        .code(1)
        .says("a newer scan found that it has changed or is gone");
    assert!(env.path("tree/a/1").exists());
    assert!(!env.path("tree/a/2").exists());
}

#[test]
fn plans_are_listed_and_deleted() {
    let env = pairs(1);
    env.run("plan").ok();
    env.run("plans").ok().says("1 plan");
    env.run("plans 1 --delete").ok();
    env.run("plans").ok().says("0 plans");
}

#[test]
fn a_guarded_tree_is_known_although_its_marks_are_excluded() {
    let env = pairs(1);
    env.file("tree/a/config", "c").folder("tree/a/data");
    env.file("tree/a/README", "r").settle_clock();
    env.run("scan tree --exclude **/config --exclude **/data")
        .ok();
    env.run("plan --keep under:tree/b")
        .ok()
        .says("in a borg repository");
    // Nor does anything else go because of what is in it.
    env.run("plans 1").refused(2);
}

#[test]
fn the_words_of_fclones_are_understood() {
    let env = pairs(1);
    env.copy("tree/a/1", "tree/c/one").settle_clock();
    env.run("scan tree").ok();
    let cases = [
        ("--keep-path **/b/*", "tree/b/1"),
        ("--keep-name o*", "tree/c/one"),
        // It comes before other rules, wherever it stands.
        ("--keep under:tree/a --keep-name o*", "tree/c/one"),
    ];
    for (at, (options, kept)) in cases.into_iter().enumerate() {
        env.run(&format!("plan {options}")).ok();
        assert_eq!(with_role_in(&env, at + 1, "keep"), [kept], "{options}");
    }
    env.run("plan --rf-over 2 --keep under:tree/b").ok();
    assert_eq!(with_role_in(&env, 4, "act"), ["tree/c/one"]);
    for (typed, said) in [
        (
            "newest",
            "--priority newest names what is removed; dupescan names what is kept: use --keep oldest",
        ),
        (
            "most-nested --priority least-recently-modified",
            "use --keep shallowest --keep newest",
        ),
        ("top", "see `dupescan plan --help`"),
    ] {
        let error = env.run(&format!("plan --priority {typed}")).refused(2);
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn only_groups_across_folders_can_be_planned() {
    let env = pairs(1);
    env.random("tree/a/x", 50, 5_000);
    env.copy("tree/a/x", "tree/a/y")
        .copy("tree/a/x", "other/x")
        .settle_clock();
    env.run("scan tree other").ok();
    env.run("plan --across").ok().says("2 files in 1 group");
    env.run("plan tree/a tree/b --across")
        .ok()
        .says("1 file in 1 group");
    assert_eq!(with_role_in(&env, 2, "keep"), ["tree/a/1"]);
    // What is gone by now counts no more.
    env.remove("other/x");
    env.run("plan --across").ok().says("Nothing to plan");
    env.run("plans 1 --format jsonl -o plan.jsonl").ok();
    env.run("plan --import plan.jsonl")
        .code(1)
        .says("Nothing was imported");
}

#[test]
fn what_a_program_may_delete_stands_for_nothing() {
    for tree in [
        "tree/.snapshots/1/snapshot",
        "tree/.Trash-1000/files",
        "tree/.local/share/Trash/files",
        "tree/.stversions",
        "tree/node_modules",
    ] {
        let env = TestEnv::new();
        env.random("tree/deep/down/live", 1, 5_000);
        env.copy("tree/deep/down/live", format!("{tree}/copy"));
        env.settle_clock();
        env.run("scan tree").ok();
        env.run("plan").ok().says("Nothing to plan");
        // Of two others, one stays.
        env.copy("tree/deep/down/live", "tree/deep/down/another");
        env.settle_clock();
        env.run("scan tree").ok();
        env.run("plan").ok().says("1 file in 1 group");
        env.run("apply 1 --yes").ok();
        // What is left in the program's tree is not enough to empty the trash.
        let live = names(&env, "tree/deep");
        env.remove(&live[0]);
        env.settle_clock();
        env.run("scan tree").ok();
        env.run("empty-trash --yes")
            .code(1)
            .says("stays in the trash");
    }
}

#[test]
fn a_copy_in_a_program_s_tree_stands_for_others_if_the_user_says_so() {
    let env = TestEnv::new();
    env.random("tree/Old.photoslibrary/originals/1", 1, 5_000);
    env.copy("tree/Old.photoslibrary/originals/1", "tree/loose");
    env.settle_clock();
    env.run("scan tree").ok();
    env.run("plan").ok().says("Nothing to plan");
    env.run("plan --protect tree/Old.photoslibrary")
        .ok()
        .says("1 file in 1 group");
}

#[test]
fn bare_repositories_stay_whole() {
    let env = TestEnv::new();
    for repository in ["tree/one.git", "tree/two.git"] {
        env.random(format!("{repository}/objects/ab/cd"), 1, 5_000);
        env.random(format!("{repository}/refs/heads/main"), 2, 41);
        env.random(format!("{repository}/HEAD"), 3, 23);
    }
    env.settle_clock();
    env.run("scan tree").ok();
    env.run("plan").ok().says("Nothing to plan");
}

#[test]
fn a_folder_to_protect_that_is_not_there_is_refused() {
    let env = pairs(1);
    for typed in ["tree/aa", "tree/a/1"] {
        let error = env.run(&format!("plan --protect {typed}")).refused(2);
        assert!(error.contains("expected a folder"), "{error}");
    }
}
