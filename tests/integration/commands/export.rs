//! `dupescan export`: lists that other programs read.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::env::{TestEnv, odd, skip};

/// A tree with names that every tool trips over.
fn odd_tree() -> TestEnv {
    let env = TestEnv::new();
    let names: [&[u8]; 9] = [
        b"plain",
        b" lead and trail ",
        b"new\nline",
        b"back\\slash",
        b"carriage\rreturn",
        b"\\nfake",
        b"latin-\xe9",
        b"-dash",
        b"*star",
    ];
    for (name, at) in names.iter().zip(0_u8..) {
        let mut path = b"tree/".to_vec();
        path.extend_from_slice(name);
        env.file(odd(&path), [at, at]);
        path.extend_from_slice(b" copy");
        env.file(odd(&path), [at, at]);
    }
    env.file("tree/empty", "")
        .random("tree/sub/long", 1, 50_000);
    env
}

fn has(program: &str) -> bool {
    let run = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    run.is_ok_and(|status| status.success())
}

/// Lines of `program` on every file of the tree, sorted.
fn sums(env: &TestEnv, program: &str) -> Vec<Vec<u8>> {
    let script = format!("find \"$PWD/tree\" -type f -print0 | xargs -0 {program}");
    let mut command = env.bare_command("sh");
    command.args(["-c", &script]);
    lines(&env.finish(command).ok().stdout)
}

fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<_> = text
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    lines.sort();
    lines
}

fn check(env: &TestEnv, program: &str, list: &[u8]) -> std::process::Output {
    let mut check = env.bare_command(program);
    check
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut check = check.spawn().unwrap();
    check.stdin.take().unwrap().write_all(list).unwrap();
    check.wait_with_output().unwrap()
}

#[test]
fn sums_are_what_the_coreutils_print_and_accept() {
    for (program, hash, format) in [
        ("sha256sum", "sha256", "sha256sums"),
        ("sha512sum", "sha512", "sha512sums"),
    ] {
        if !has(program) {
            skip!("no {program}");
        }
        let env = odd_tree();
        env.run(&format!("scan --hash-all --hash {hash} tree")).ok();
        let run = env.run(&format!("export --format {format}")).ok();
        assert_eq!(lines(&run.stdout), sums(&env, program), "{program}");
        let checked = check(&env, program, &run.stdout);
        assert!(checked.status.success(), "{checked:?}");
        assert_eq!(String::from_utf8_lossy(&checked.stderr), "");
        let default = env.run("export").ok();
        assert_eq!(default.stdout, run.stdout);
        // And the check can fail.
        env.file("tree/plain", "changed");
        assert!(!check(&env, program, &run.stdout).status.success());
    }
}

#[test]
fn coverage_is_shown_on_standard_error() {
    let env = odd_tree();
    env.run("scan tree").ok();
    let run = env.run("export").ok();
    // All but the one of a size of its own.
    assert_eq!(lines(&run.stdout).len(), 19);
    run.complains("hashes for 19 of 20 files")
        .complains("audit --baseline");
    env.run("scan --hash-all tree").ok();
    env.run("export")
        .ok()
        .complains("hashes for 20 of 20 files\n");
    env.run("-q export").ok().without_complaint();
    env.run("export tree/sub")
        .ok()
        .complains("hashes for 1 of 1 file\n");
    env.run("export --min-size 3")
        .ok()
        .complains("hashes for 1 of 1 file\n");
    assert_eq!(lines(&env.run("export --limit 3").ok().stdout).len(), 3);
}

#[test]
fn csv_and_jsonl_hold_the_same_digests() {
    let env = odd_tree();
    env.run("scan --hash-all tree").ok();
    let jsonl = env.run("export --format jsonl").ok().out();
    let by_line: BTreeMap<String, String> = jsonl
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|row| {
            assert_eq!(
                (&row["as_of_scan"], &row["algorithm"]),
                (&1.into(), &"sha256".into())
            );
            let exact = row["path_b64"]
                .as_str()
                .or(row["path"].as_str())
                .unwrap()
                .to_owned();
            (exact, row["digest"].as_str().unwrap().to_owned())
        })
        .collect();
    assert_eq!(by_line.len(), 20);
    let run = env.run("export --format csv").ok();
    let csv = run.out();
    let mut reader = csv.lines();
    assert_eq!(
        reader.next().unwrap(),
        "digest,algorithm,size,mtime,path,path_b64,as_of_scan"
    );
    for digest in by_line.values() {
        assert!(csv.contains(digest));
    }
}

#[test]
fn sums_of_another_algorithm_are_refused() {
    let env = odd_tree();
    env.run("scan --hash blake3 tree").ok();
    let line = env.run("export --format sha256sums").refused(2);
    assert_eq!(
        line,
        "this catalog stores blake3 hashes: expected --format b3sums, csv or jsonl, not \
         sha256sums"
    );
    let run = env.run("export --format b3sums").ok();
    assert_eq!(lines(&run.stdout), lines(&env.run("export").ok().stdout));
    env.run("scan --hash sha3-256 tree").ok();
    env.run("export --format sha3-256sums").ok();
}
