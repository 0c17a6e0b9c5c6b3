//! `dupescan errors` and `dupescan retry`: paths that failed.

use crate::env::oracle;
use crate::env::report_json::expected;
use crate::env::{TestEnv, skip};

/// A tree with a file and a folder that permissions forbid, scanned without
/// the right to read them; `None` where that right cannot be given up.
fn scanned() -> Option<TestEnv> {
    let env = TestEnv::new();
    env.file("tree/a", "same")
        .file("tree/b", "same")
        .file("tree/secret", "same");
    env.file("tree/closed/c", "same")
        .file("tree/closed/sub/d", "same");
    env.chmod("tree/secret", 0o000).chmod("tree/closed", 0o000);
    let run = env.run_unprivileged("scan tree")?;
    run.code(1).mentions(" errors");
    Some(env)
}

/// Opens what was forbidden, so that the folder can be removed.
fn reopen(env: &TestEnv) {
    env.chmod("tree/secret", 0o644).chmod("tree/closed", 0o755);
}

#[test]
fn what_cannot_be_read_is_listed_with_its_reason() {
    let Some(env) = scanned() else {
        skip!("root cannot give up its rights")
    };
    env.run("errors")
        .ok()
        .says(env.path("tree/secret").to_str().unwrap())
        .says(env.path("tree/closed").to_str().unwrap())
        .says("Permission denied")
        .says("permissions");
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
    let errors = env.run("errors --format json").ok().json().to_string();
    assert!(errors.contains("Permission denied"), "{errors}");
    let one = env.run("errors --limit 1").ok().out();
    let both =
        ["tree/secret", "tree/closed"].map(|path| one.contains(env.path(path).to_str().unwrap()));
    assert_eq!(both.iter().filter(|&&shown| shown).count(), 1, "{one}");
    reopen(&env);
}

#[test]
fn json_has_the_causes_with_counts_and_every_path() {
    let env = TestEnv::new();
    for name in ["a", "b", "c"] {
        env.file(format!("tree/{name}"), "same")
            .chmod(format!("tree/{name}"), 0o000);
    }
    env.file("tree/closed/d", "x").chmod("tree/closed", 0o000);
    let Some(run) = env.run_unprivileged("scan tree") else {
        skip!("root cannot give up its rights")
    };
    run.code(1);
    let errors = env.run("errors --format json").ok().json();
    assert_eq!(
        (&errors["schema"], &errors["total"]),
        (&1.into(), &4.into())
    );
    let causes = errors["causes"].as_array().unwrap();
    let counts: Vec<_> = causes
        .iter()
        .map(|cause| {
            (
                cause["step"].as_str().unwrap(),
                cause["count"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(counts, [("open", 3), ("open folder", 1)]);
    for cause in causes {
        assert_eq!(cause["message"], "Permission denied");
        assert!(cause["hint"].as_str().unwrap().contains("permissions"));
    }
    let entries = errors["errors"].as_array().unwrap();
    let mut paths: Vec<_> = entries
        .iter()
        .map(|entry| entry["path"].as_str().unwrap().to_owned())
        .collect();
    paths.sort();
    let expected = ["tree/a", "tree/b", "tree/c", "tree/closed"]
        .map(|path| env.path(path).to_str().unwrap().to_owned());
    assert_eq!(paths, expected);
    // A limit is about the paths, not the causes.
    let one = env.run("errors --format json --limit 1").ok().json();
    assert_eq!(one["errors"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&one["total"], &one["causes"]),
        (&4.into(), &errors["causes"])
    );
    env.chmod("tree/closed", 0o755);
}

#[test]
fn retry_clears_what_can_be_read_now() {
    let Some(env) = scanned() else {
        skip!("root cannot give up its rights")
    };
    // Still forbidden: still there, still exit 1.
    env.run_unprivileged("retry").unwrap().code(1);
    env.run("errors")
        .ok()
        .says(env.path("tree/secret").to_str().unwrap());
    reopen(&env);
    env.run("retry").ok();
    env.run("errors")
        .ok()
        .keeps_quiet_about(env.path("tree").to_str().unwrap());
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    assert_eq!(env.groups().first().unwrap().len(), 5);
}

#[test]
fn retry_of_one_id_leaves_the_others() {
    let Some(env) = scanned() else {
        skip!("root cannot give up its rights")
    };
    reopen(&env);
    let id: i64 = env.sql("SELECT id FROM faults WHERE name = CAST('secret' AS BLOB)");
    env.run("errors").ok().says(&id.to_string());
    env.run(&format!("retry {id}"));
    env.run("errors")
        .ok()
        .keeps_quiet_about(env.path("tree/secret").to_str().unwrap())
        .says(env.path("tree/closed").to_str().unwrap());
    let group = expected(&[&["tree/a", "tree/b", "tree/secret"]]);
    assert_eq!(env.groups(), group);
}

#[test]
fn an_id_that_does_not_exist_is_refused() {
    let env = TestEnv::new();
    env.file("tree/a", "x");
    env.run("scan tree").ok();
    let run = env.run("retry 4711");
    assert!(matches!(run.exit, Some(2 | 3)), "{}", run.describe());
    run.complains("4711");
}

#[test]
fn without_errors_there_is_nothing_to_list_or_retry() {
    let env = TestEnv::new();
    env.file("tree/a", "x");
    env.run("scan tree").ok();
    env.run("errors").ok();
    env.run("retry").ok();
}

#[test]
fn a_folder_that_closes_takes_nothing_away() {
    let env = TestEnv::new();
    env.file("tree/a", "same")
        .file("tree/closed/b", "same")
        .file("tree/closed/sub/c", "same");
    env.run("scan tree").ok();
    let before = env.groups();
    env.chmod("tree/closed", 0o000);
    let Some(run) = env.run_unprivileged("scan tree") else {
        env.chmod("tree/closed", 0o755);
        skip!("root cannot give up its rights");
    };
    run.code(1);
    let deleted: i64 = env.sql("SELECT count(*) FROM files WHERE removed_in IS NOT NULL");
    assert_eq!(deleted, 0);
    assert_eq!(env.groups(), before);
    env.chmod("tree/closed", 0o755);
    env.run("scan tree").ok();
    env.run("errors")
        .ok()
        .keeps_quiet_about(env.path("tree").to_str().unwrap());
    assert_eq!(env.groups(), before);
}

#[test]
fn a_rescan_clears_errors_of_what_is_gone() {
    let Some(env) = scanned() else {
        skip!("root cannot give up its rights")
    };
    reopen(&env);
    env.remove("tree/secret").remove("tree/closed");
    env.run("scan tree").ok();
    env.run("errors")
        .ok()
        .keeps_quiet_about(env.path("tree").to_str().unwrap());
}

#[test]
fn retry_keeps_to_what_the_scan_was_asked_for() {
    let env = TestEnv::new();
    env.file("tree/a", "same").file("tree/closed/b", "same");
    env.file("tree/closed/excluded", "same")
        .file("tree/closed/.hidden", "same");
    env.chmod("tree/closed", 0o000);
    let Some(run) = env.run_unprivileged("scan tree --exclude excluded --no-hidden") else {
        env.chmod("tree/closed", 0o755);
        skip!("root cannot give up its rights");
    };
    run.code(1);
    env.chmod("tree/closed", 0o755);
    env.run("retry").ok();
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/closed/b"]]));
}
