//! `dupescan find`: is this content anywhere in the catalog?

use std::path::PathBuf;

use serde_json::Value;

use crate::env::{TestEnv, odd, skip};

/// What `find` says about one file: the answer and where it was found.
fn find(env: &TestEnv, what: &str) -> (String, Vec<PathBuf>) {
    let document = env.run(&format!("find {what} --format json")).json();
    let rows = document["files"].as_array().unwrap();
    let found = rows.iter().filter(|row| row["status"] == "found");
    let paths = found.filter_map(|row| row["path"].as_str());
    (
        rows[0]["status"].as_str().unwrap().to_owned(),
        paths.map(PathBuf::from).collect(),
    )
}

/// The places that `find` names, each with what it says about it.
fn places(env: &TestEnv, what: &str) -> Vec<(String, String, String)> {
    let document = env.run(&format!("find {what} --format json")).json();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |path: &Value| {
        let path = PathBuf::from(path.as_str().unwrap());
        let below = path.strip_prefix(env.path("")).unwrap();
        below.display().to_string()
    };
    let rows = document["files"].as_array().unwrap().iter();
    rows.map(|row| {
        (
            name(&row["path"]),
            word(&row["status"]),
            word(&row["state"]),
        )
    })
    .collect()
}

fn found(env: &TestEnv, paths: &[&str]) -> (String, Vec<PathBuf>) {
    let paths = paths.iter().map(|path| env.path(path)).collect();
    ("found".to_owned(), paths)
}

fn no(answer: &str) -> (String, Vec<PathBuf>) {
    (answer.to_owned(), Vec::new())
}

#[test]
fn files_outside_all_roots_are_found_by_their_content() {
    let env = TestEnv::new();
    env.file("tree/a", "same")
        .file("tree/b", "same")
        .file("tree/c", "emas");
    env.random("tree/big", 1, 70_000)
        .copy("tree/big", "tree/big2");
    env.file("tree/e", "").run("scan tree").ok();
    env.file("out/x", "same")
        .file("out/y", "mesa")
        .file("out/z", "another size");
    env.random("out/big", 1, 70_000).file("out/e", "");
    assert_eq!(find(&env, "out/x"), found(&env, &["tree/a", "tree/b"]));
    assert_eq!(find(&env, "out/y"), no("not found"));
    assert_eq!(find(&env, "out/z"), no("not found"));
    assert_eq!(
        find(&env, "out/big"),
        found(&env, &["tree/big", "tree/big2"])
    );
    assert_eq!(find(&env, "out/e"), found(&env, &["tree/e"]));
    env.run("find out/x out/big")
        .ok()
        .says("2 found, 0 not found");
    env.run("find out/x out/y")
        .code(1)
        .says("1 found, 1 not found");
    env.symlink("x", "out/link");
    assert_eq!(find(&env, "out/link"), found(&env, &["tree/a", "tree/b"]));
}

#[test]
fn a_partner_that_was_never_read_is_read_now() {
    let env = TestEnv::new();
    env.file("tree/alone", "a size of its own");
    env.random("tree/long", 7, 90_000).run("scan tree").ok();
    assert_eq!(env.last_scan("hashed + probed"), 0);
    env.copy("tree/alone", "out/x")
        .copy("tree/long", "out/long");
    env.file("out/near", "a size of its owm");
    env.copy("tree/long", "out/near-long")
        .flip("out/near-long", 45_000);
    assert_eq!(find(&env, "out/x"), found(&env, &["tree/alone"]));
    assert_eq!(find(&env, "out/long"), found(&env, &["tree/long"]));
    assert_eq!(find(&env, "out/near"), no("not found"));
    assert_eq!(find(&env, "out/near-long"), no("not found"));
    env.rename("tree", "away");
    assert_eq!(find(&env, "out/x"), no("unchecked"));
    env.rename("away", "tree")
        .file("tree/alone", "a size of its new");
    assert_eq!(find(&env, "out/x"), no("unchecked"));
    let run = env.run("find out/x").code(1);
    run.says("could be a copy (1 changed since the scan)")
        .says("1 unchecked");
}

#[test]
fn places_that_are_no_longer_what_was_scanned_prove_nothing() {
    let env = TestEnv::new();
    let names = ["changed", "gone", "replaced", "touched", "well"];
    for name in names {
        env.file(format!("tree/{name}"), "content");
    }
    env.file("away/x", "content").run("scan tree away").ok();
    env.file("out", "content");
    let digest = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73";
    env.file("tree/changed", "another")
        .remove("tree/gone")
        .remove("tree/replaced")
        .symlink("well", "tree/replaced")
        .mtime("tree/touched", std::time::SystemTime::UNIX_EPOCH)
        .rename("away", "data/away");
    let expected = |answers: [(&str, &str, &str); 6]| {
        answers.map(|(path, answer, place)| (path.to_owned(), answer.to_owned(), place.to_owned()))
    };
    let seen = [
        ("away/x", "found", "offline"),
        ("tree/changed", "unchecked", "changed"),
        ("tree/gone", "unchecked", "missing"),
        ("tree/replaced", "unchecked", "changed"),
        ("tree/touched", "unchecked", "changed"),
        ("tree/well", "found", "as scanned"),
    ];
    let questions = ["out".to_owned(), format!("--digest {digest}")];
    for what in &questions {
        assert_eq!(places(&env, what), expected(seen));
        env.run(&format!("find {what}"))
            .ok()
            .says("found; 4 more files could be copies (")
            .says("(3 changed since the scan, 1 missing)\n")
            .says("away/x (offline)\n")
            .says("tree/changed (changed since the scan)\n")
            .says("tree/gone (missing)\n")
            .says("tree/well\n");
    }
    env.remove("tree/well");
    for what in &questions {
        assert_eq!(find(&env, what), found(&env, &["away/x"]));
    }
    env.rename("data/away", "away").file("away/x", "content");
    for what in &questions {
        assert_eq!(find(&env, what), no("unchecked"));
        env.run(&format!("find {what}"))
            .code(1)
            .says("unchecked: 6 files could be copies (")
            .says("0 found, 0 not found, 1 unchecked");
    }
}

/// An empty mount point is a disk that is not there, not files that are gone.
#[test]
fn places_below_an_empty_mount_point_are_offline() {
    let env = TestEnv::new();
    env.file("tree/a", "content").file("out", "content");
    let script = "mount -t tmpfs none tree; cp out tree/a; cp out tree/b; $DUPESCAN scan tree >&2
                  umount tree; rm tree/a; exec $DUPESCAN find out";
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    run.ok().says("tree/a (offline)");
}

/// Settled files have a probe and no digest; they may equal a newcomer.
#[test]
fn files_known_to_differ_from_each_other_are_compared_with_the_one_asked_for() {
    let env = TestEnv::new();
    for (name, byte) in [("tree/a", 1), ("tree/b", 2)] {
        let mut content = vec![0; 140_000];
        content[70_000] = byte;
        env.file(name, content);
    }
    env.run("scan tree").ok();
    assert_eq!(
        env.sql::<i64>("SELECT count(*) FROM files WHERE settled_in > 0"),
        2
    );
    env.copy("tree/b", "out/x");
    assert_eq!(find(&env, "out/x"), found(&env, &["tree/b"]));
}

#[test]
fn a_catalogued_file_finds_itself_and_says_so() {
    let env = TestEnv::new();
    env.file("tree/x", "content")
        .hard_link("tree/x", "tree/y")
        .run("scan tree")
        .ok();
    let document = env.run("find tree/x --format json").ok().json();
    let rows = document["files"].as_array().unwrap();
    assert!(
        rows.iter().all(|row| row["same_file"] == true),
        "{document}"
    );
    assert_eq!(rows.len(), 2);
    env.run("find tree/x")
        .ok()
        .says("tree/x: found, but only this file itself")
        .says("tree/y (this file)");
}

#[test]
fn elsewhere_wants_another_copy() {
    let env = TestEnv::new();
    env.file("tree/x", "content")
        .hard_link("tree/x", "tree/y")
        .file("tree/empty", "")
        .run("scan tree")
        .ok();
    // Its other name would not be there any more once its content is gone.
    for file in ["tree/x", "tree/empty"] {
        env.run(&format!("find --elsewhere {file}"))
            .code(1)
            .says(": no other copy in the catalog")
            .says("0 found, 1 not found");
    }
    env.copy("tree/x", "out/x");
    env.run("find --elsewhere out/x").ok().says("tree/x");
    env.copy("tree/x", "tree/z").run("scan tree").ok();
    let document = env.run("find --elsewhere tree/x --format json").ok().json();
    let rows = document["files"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["path"], env.path("tree/z").to_str().unwrap());
    // One that changed since the scan is no proof.
    env.append("tree/z", "!");
    env.run("find --elsewhere tree/x").code(1);
}

#[test]
fn digests_are_found_as_sha256sum_prints_them() {
    let env = TestEnv::new();
    env.file("tree/a", "abc")
        .file("tree/b", "abc")
        .file("tree/unread", "alone");
    env.file("tree/e", "").run("scan tree").ok();
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(
        find(&env, &format!("--digest {abc}")),
        found(&env, &["tree/a", "tree/b"])
    );
    let upper = abc.to_uppercase();
    assert_eq!(
        find(&env, &format!("--digest {upper}")),
        found(&env, &["tree/a", "tree/b"])
    );
    assert_eq!(
        find(&env, &format!("--digest {nothing}")),
        found(&env, &["tree/e"])
    );
    // The beginning is enough.
    for digits in [12, 13, 63] {
        assert_eq!(
            find(&env, &format!("--digest {}", &upper[..digits])),
            found(&env, &["tree/a", "tree/b"])
        );
    }
    assert_eq!(
        find(&env, &format!("--digest {}", &nothing[..20])),
        found(&env, &["tree/e"])
    );
    let line = env.run(&format!("find --digest {}", &abc[..11])).refused(2);
    assert!(line.ends_with("or at least the first 12 of them"), "{line}");
    assert_eq!(find(&env, "--digest 000000000000"), no("unchecked"));
    let other = "00".repeat(32);
    assert_eq!(find(&env, &format!("--digest {other}")), no("unchecked"));
    env.run("scan --hash-all tree").ok();
    assert_eq!(find(&env, &format!("--digest {other}")), no("not found"));
    assert_eq!(find(&env, "--digest 000000000000"), no("not found"));
    for bad in ["abc".to_owned(), format!("{}g", &abc[1..]), "é".repeat(32)] {
        let line = env.run(&format!("find --digest {bad}")).refused(2);
        assert!(
            line.contains("expected the 64 hexadecimal digits of a sha256 hash"),
            "{line}"
        );
    }
    env.run("scan --hash sha512 tree").ok();
    let line = env.run(&format!("find --digest {abc}")).refused(2);
    assert!(
        line.contains("expected the 128 hexadecimal digits"),
        "{line}"
    );
}

#[test]
fn a_beginning_of_several_digests_is_refused() {
    let env = TestEnv::new();
    env.file("tree/a", "abc")
        .file("tree/b", "abc")
        .file("tree/c", "abd");
    env.file("tree/d", "abd").run("scan tree").ok();
    let db = rusqlite::Connection::open(env.db()).unwrap();
    let sql = "UPDATE files SET digest = unhex('ba7816bf8f01' || hex(zeroblob(26)))
                WHERE name = x'63'";
    assert_eq!(db.execute(sql, []).unwrap(), 1);
    let line = env.run("find --digest ba7816bf8f01").refused(2);
    assert!(line.contains("more than one hash starts with it"), "{line}");
    env.run("find --digest ba7816bf8f01cf").ok();
}

#[test]
fn bad_input_is_refused_in_one_sentence() {
    let env = TestEnv::new();
    env.file("tree/a", "a").run("scan tree").ok();
    let line = env.run("find nowhere").refused(2);
    assert!(line.contains("nowhere: No such file"), "{line}");
    let line = env.run("find tree").refused(2);
    assert!(line.contains("tree: not a file"), "{line}");
    env.run("find").code(2);
}

/// One file that cannot be read does not keep the others from being answered.
#[test]
fn what_cannot_be_read_is_unchecked_beside_the_other_answers() {
    let env = TestEnv::new();
    env.file("tree/a", "same").file("tree/b", "same");
    env.file("out/x", "same").file("out/locked", "same");
    env.file("out/y", "emas").run("scan tree").ok();
    env.chmod("out/locked", 0o000);
    let asked = "out/x out/locked out/y";
    let Some(run) = env.run_unprivileged(&format!("find {asked} --format json")) else {
        skip!("cannot give up the right to read everything");
    };
    let run = run.code(3).complains("out/locked: Permission denied");
    let document = run.json();
    let answers: Vec<(&str, &str)> = document["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["file"].as_str().unwrap(),
                row["status"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("out/x", "found"),
        ("out/x", "found"),
        ("out/locked", "unchecked"),
        ("out/y", "not found"),
    ];
    assert_eq!(answers, expected);
    let reason = document["files"][2]["reason"].as_str().unwrap();
    assert!(reason.contains("Permission denied"), "{reason}");
    assert_eq!(document["totals"]["asked"], 3);
    assert_eq!(document["totals"]["unchecked"], 1);
    let Some(run) = env.run_unprivileged(&format!("find {asked}")) else {
        unreachable!("it was possible before");
    };
    run.code(3)
        .says("out/locked: unchecked: cannot read it: Permission denied")
        .says("1 found, 1 not found, 1 unchecked");
    env.run_unprivileged(&format!("find {asked} --format csv"))
        .unwrap()
        .code(3)
        .says("not found");
}

#[test]
fn a_file_that_is_not_there_does_not_keep_others_from_being_answered() {
    let env = TestEnv::new();
    env.file("tree/a", "same")
        .file("out/x", "same")
        .run("scan tree")
        .ok();
    let run = env.run("find nowhere out/x tree --format json").code(2);
    let run = run
        .complains("nowhere: No such file")
        .complains("tree: not a file");
    let document = run.json();
    let rows = document["files"].as_array().unwrap();
    let answers: Vec<_> = rows
        .iter()
        .map(|row| row["status"].as_str().unwrap())
        .collect();
    assert_eq!(answers, ["unchecked", "found", "unchecked"]);
    assert_eq!(document["totals"]["found"], 1);
}

#[test]
fn odd_names_are_exact_for_programs_and_escaped_for_people() {
    let env = TestEnv::new();
    env.file(odd(b"tree/\xff\n"), "content")
        .run("scan tree")
        .ok();
    env.file("out", "content");
    env.run("find out").ok().says(r"tree/\xff\n");
    let document: Value = env.run("find out --format json").ok().json();
    assert!(document["files"][0]["path_b64"].is_string());
    env.run("find out --format csv")
        .ok()
        .says("found,")
        .complains("1 found");
}

/// `find --elsewhere FILE && rm FILE` must not rely on a disk that nobody can
/// look at.
#[test]
fn elsewhere_counts_offline_copies_only_when_told_to() {
    let env = TestEnv::new();
    env.file("tree/x", "content").file("disk/x", "content");
    env.run("scan tree disk").ok();
    env.run("find --elsewhere tree/x").ok();
    env.rename("disk", "data/disk");
    env.run("find --elsewhere tree/x")
        .code(1)
        .says("unchecked: 1 file could be a copy (1 offline)")
        .says("disk/x (offline)\n")
        .says("0 found, 0 not found, 1 unchecked");
    let rows = env
        .run("find --elsewhere tree/x --format json")
        .code(1)
        .json();
    assert_eq!(rows["files"][0]["status"], "unchecked");
    assert_eq!(rows["files"][0]["state"], "offline");
    env.run("find --elsewhere --include-offline tree/x")
        .ok()
        .says("disk/x (offline)\n")
        .says("1 found");
    let line = env.run("find --include-offline tree/x").code(2);
    line.complains("--elsewhere");
    // Without --elsewhere the question is only whether the catalog has it.
    env.copy("tree/x", "out/x");
    env.run("find out/x").ok();
}

#[test]
fn a_view_of_the_file_is_not_proven_to_be_another_copy() {
    let env = TestEnv::new();
    env.file("lower/x", "content").settle_clock();
    let script = "$DUPESCAN scan lower merged >&2
        $DUPESCAN find --elsewhere lower/x && exit 9
        $DUPESCAN find --elsewhere lower/x --format json && exit 9
        $DUPESCAN find --elsewhere lower/x --assume-separate";
    let Some(run) = env.run_with_overlay(script) else {
        skip!("mounting an overlay is not permitted");
    };
    run.ok()
        .says("unchecked: 1 file could be a copy (1 possibly the same file)")
        .says("merged/x (possibly the same file: one of the two is on overlay)\n")
        .says("\"reason\":\"possibly the same file: one of the two is on overlay\"")
        .says("lower/x: found\n")
        .says("assuming that copies are separate storage (--assume-separate)\n");
}

#[test]
fn excluded_and_not_compared_files_are_no_copies_elsewhere() {
    let env = TestEnv::new();
    env.file("tree/a", "same").file("tree/cache/b", "same");
    env.run("scan tree").ok();
    env.run("find --elsewhere tree/a").ok().says("found");
    env.run("scan tree --exclude cache").ok();
    env.run("find --elsewhere tree/a")
        .code(1)
        .says("unchecked: 1 file could be a copy (1 excluded)");
    env.run("find tree/a").ok().says("tree/cache/b (excluded)");
    env.use_db("data/sizes.db");
    env.run("scan tree --min-size 1k").ok();
    env.run("find --elsewhere tree/a")
        .code(1)
        .says("unchecked: 1 file could be a copy (1 not compared)");
}
