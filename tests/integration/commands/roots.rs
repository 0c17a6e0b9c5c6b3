//! `dupescan roots`: listing them, and one that moved.

use crate::env::report_json::expected;
use crate::env::{TestEnv, skip};

#[test]
fn roots_are_listed() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("other/b", "x");
    env.run("scan tree other").ok();
    env.run("roots list")
        .ok()
        .says(env.path("tree").to_str().unwrap())
        .says(env.path("other").to_str().unwrap());
}

#[test]
fn a_moved_root_keeps_its_digests() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 50_000).copy("tree/a", "tree/sub/b");
    env.settle_clock();
    env.run("scan tree").ok();
    env.rename("tree", "elsewhere/tree");
    env.run("roots move tree elsewhere/tree").ok();
    let found = expected(&[&["elsewhere/tree/a", "elsewhere/tree/sub/b"]]);
    assert_eq!(env.groups(), found);
    env.run("status").ok().keeps_quiet_about("offline");
    let Some((run, opens)) = env.run_traced("scan elsewhere/tree") else {
        skip!("no strace to prove that nothing is read again");
    };
    run.ok();
    assert!(
        opens.files_below(&env.path("elsewhere")).is_empty(),
        "{}",
        opens.log()
    );
    assert_eq!(env.groups(), found);
    env.folder("tree");
}

#[test]
fn a_move_onto_another_root_or_nothing_is_refused() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("other/sub/b", "x");
    env.run("scan tree other").ok();
    for (line, word) in [
        ("roots move tree other", "other"),
        ("roots move tree other/sub", "other"),
        ("roots move nowhere other2", "nowhere"),
    ] {
        let run = env.run(line);
        assert!(matches!(run.exit, Some(2 | 3)), "{}", run.describe());
        run.complains(word);
    }
    assert_eq!(env.groups(), expected(&[&["other/sub/b", "tree/a"]]));
}
