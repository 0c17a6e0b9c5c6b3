//! What the system grants to the commands that read the catalog: threads and
//! file sizes.

use std::fs;

use crate::env::{TestEnv, skip};

/// Two groups, in two roots.
fn scanned() -> TestEnv {
    let env = TestEnv::new();
    env.random("tree/a", 1, 9_000).copy("tree/a", "other/a");
    env.file("tree/b", "small").file("tree/c", "small");
    env.run("scan tree other").ok();
    env
}

#[test]
fn few_threads_are_enough() {
    let env = scanned();
    let limited = |line: &str| {
        let mut command = env.bare_command("prlimit");
        command.args(["--nproc=1", "setpriv", "--reuid=65534", "--regid=65534"]);
        command.args([
            "--clear-groups",
            "--",
            env!("CARGO_BIN_EXE_dupescan"),
            "--db",
        ]);
        command.arg(env.db()).args(line.split(' '));
        env.finish(command)
    };
    env.chmod("", 0o777).chmod("data", 0o777);
    for entry in fs::read_dir(env.db().parent().unwrap()).unwrap() {
        env.chmod(entry.unwrap().path(), 0o666);
    }
    if limited("status").exit != Some(0) {
        skip!("cannot become another user");
    }
    limited("report --check").ok().says("duplicate groups");
    limited("folders").ok();
    let diff = limited("diff tree other");
    assert_eq!(diff.exit, Some(1), "{}", diff.describe());
}

#[test]
fn a_file_size_limit_is_a_sentence() {
    let env = scanned();
    let script = "ulimit -f 70; exec $0 --db $1 report --format html -o page.html";
    let mut command = env.bare_command("sh");
    command.args(["-euc", script, env!("CARGO_BIN_EXE_dupescan")]);
    command.arg(env.db());
    let sentence = env.finish(command).refused(3);
    assert!(sentence.contains("File too large"), "{sentence}");
    assert!(!env.path("page.html").exists());
}

#[test]
fn too_few_descriptors_are_a_sentence() {
    let env = scanned();
    let mut refused = 0;
    for (number, limit) in (6..40).step_by(2).enumerate() {
        env.use_db(&format!("data/{number}.db"));
        let script = format!("ulimit -n {limit}; exec $0 --db $1 scan tree other --threads 8");
        let mut command = env.bare_command("sh");
        command.args(["-euc", &script, env!("CARGO_BIN_EXE_dupescan")]);
        command.arg(env.db());
        let run = env.finish(command);
        match run.exit {
            Some(0) => break,
            _ => refused += 1,
        }
        let sentence = run.code(3).err();
        assert!(
            sentence.contains("oo many open files"),
            "{limit}: {sentence}"
        );
        env.run("scan tree other").ok();
    }
    assert!(refused > 3, "{refused}");
}
