//! Settings from file, environment and flags: who wins, and the message for
//! a bad value. `src/settings/tests.rs` goes through all settings; here the real
//! binary is asked.

use crate::env::TestEnv;
use crate::env::report_json::expected;

const BINARY: &str = env!("CARGO_BIN_EXE_dupescan");

/// A tree in which `min_size` of 10, 100 and 1000 leave one group less each.
fn sized() -> TestEnv {
    let env = TestEnv::new();
    for size in [50, 500, 5_000] {
        env.random(format!("tree/{size}"), size, size as usize);
        env.copy(format!("tree/{size}"), format!("tree/{size}.copy"));
    }
    env
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let env = sized();
    env.file("home/config/dupescan/config.toml", "min_size = 10\n");
    let count = |number: u32, variable: Option<&str>, flags: &str| {
        env.use_db(&format!("data/{number}.db"));
        let mut command = env.command(format!("scan tree {flags}").split_whitespace());
        if let Some(value) = variable {
            command.env("DUPESCAN_MIN_SIZE", value);
        }
        env.finish(command).ok();
        env.groups().len()
    };
    assert_eq!(count(1, None, ""), 3);
    assert_eq!(count(2, Some("100"), ""), 2);
    assert_eq!(count(3, Some("100"), "--min-size 1k"), 1);
    env.file("home/config/dupescan/config.toml", "min_size = \"1k\"\n");
    assert_eq!(count(4, None, ""), 1);
    assert_eq!(count(5, None, "--min-size 0"), 3);
}

#[test]
fn a_file_can_be_named_by_flag_or_variable() {
    let env = sized();
    env.file("data/mine.toml", "exclude = [\"*.copy\"]\n");
    env.run("scan tree --config data/mine.toml").ok();
    assert_eq!(env.groups(), expected(&[]));
    env.use_db("data/other.db");
    let mut command = env.command(["scan", "tree"]);
    command.env("DUPESCAN_CONFIG", env.path("data/mine.toml"));
    env.finish(command).ok();
    assert_eq!(env.groups(), expected(&[]));
}

#[test]
fn the_catalog_is_in_the_data_directory_unless_named() {
    let env = sized();
    let run = |name: &str, value: &str| {
        let mut command = env.bare_command(BINARY);
        command.args(["scan", "tree"]);
        if !name.is_empty() {
            command.env(name, value);
        }
        env.finish(command).ok()
    };
    run("", "").says("All groups: dupescan report\n");
    env.use_db("home/data/dupescan/catalog.db");
    assert!(env.db().exists());
    assert_eq!(env.groups().len(), 3);
    let run_there = run("DUPESCAN_DB", "data/from-environment.db");
    // What it says to type next works in the same surroundings.
    run_there.says("All groups: dupescan report\n");
    env.use_db("data/from-environment.db");
    assert!(env.db().exists());
    env.file(
        "home/config/dupescan/config.toml",
        "db = \"beside-the-file.db\"\n",
    );
    run("", "");
    env.use_db("home/config/dupescan/beside-the-file.db");
    assert!(env.db().exists());
}

#[test]
fn a_bad_value_is_one_line_naming_value_origin_and_what_is_allowed() {
    let env = sized();
    let cases = [
        (
            "scan tree --hash md5",
            "'md5' for --hash: expected sha256, sha512, sha3-256 or blake3",
        ),
        (
            "scan tree --threads 0",
            "'0' for --threads: expected a whole number from 1 to 256",
        ),
        (
            "scan tree --threads 257",
            "'257' for --threads: expected a whole number from 1 to 256",
        ),
        (
            "scan tree --threads many",
            "'many' for --threads: expected a whole number",
        ),
        (
            "scan tree --mode some",
            "'some' for --mode: expected all, folders or files",
        ),
        (
            "scan tree --follow-links=maybe",
            "'maybe' for --follow-links: expected true or false",
        ),
        (
            "scan tree --one-file-system=1",
            "'1' for --one-file-system: expected true or false",
        ),
        (
            "scan tree --ignore-ctime=x",
            "'x' for --ignore-ctime: expected true or false",
        ),
        (
            "scan tree --gitignore=x",
            "'x' for --gitignore: expected true or false",
        ),
        (
            "scan tree --gitignore=x",
            "'x' for --gitignore: expected true or false",
        ),
        (
            "scan tree --nice=19",
            "'19' for --nice: expected true or false",
        ),
        (
            "scan tree --min-size big",
            "'big' for --min-size: expected a size such as",
        ),
        (
            "scan tree --max-size -1",
            "'-1' for --max-size: expected a size such as",
        ),
        (
            "scan tree --min-size 2k --max-size 1k",
            "'1k' for --max-size: expected at least",
        ),
        (
            "scan tree --include a[",
            "'a[' for --include: expected a glob",
        ),
        (
            "scan tree --exclude {a",
            "'{a' for --exclude: expected a glob",
        ),
        (
            "scan tree --max-depth -1",
            "'-1' for --max-depth: expected a whole number",
        ),
        (
            "scan tree --bwlimit fast",
            "'fast' for --bwlimit: expected bytes per second",
        ),
        (
            "scan tree --queue-per-thread 0",
            "'0' for --queue-per-thread: expected",
        ),
        ("scan tree --batch-rows 0", "'0' for --batch-rows: expected"),
        (
            "scan tree --batch-time 2m",
            "'2m' for --batch-time: expected a duration",
        ),
        (
            "scan tree --item-timeout 0",
            "'0' for --item-timeout: expected a duration",
        ),
        (
            "scan tree --stall-warning 0",
            "'0' for --stall-warning: expected a duration",
        ),
        (
            "scan tree --shutdown-timeout 1h",
            "'1h' for --shutdown-timeout: expected a duration",
        ),
        ("scan tree --retries -1", "'-1' for --retries: expected"),
        (
            "scan tree --backoff 1d",
            "'1d' for --backoff: expected a duration",
        ),
        (
            "scan tree --fatal-errors 0",
            "'0' for --fatal-errors: expected",
        ),
        ("resume --threads 0", "'0' for --threads: expected"),
        ("retry --threads 0", "'0' for --threads: expected"),
        ("retry all", "'all' for ID: expected an ID"),
        (
            "report --format xml",
            "'xml' for --format: expected table, json, jsonl, csv, fdupes, paths or html",
        ),
        (
            "report --sort name",
            "'name' for --sort: expected reclaimable, size, count or path",
        ),
        (
            "report --limit 0",
            "'0' for --limit: expected a whole number, 1 or more",
        ),
        (
            "report --min-count 1",
            "'1' for --min-count: expected a whole number, 2 or more",
        ),
        ("report --min-size x", "'x' for --min-size: expected a size"),
        ("report --max-size x", "'x' for --max-size: expected a size"),
        (
            "report --min-size 2 --max-size 1",
            "'1 B' for --max-size: expected at least",
        ),
        ("report --exclude a[", "'a[' for --exclude: expected a glob"),
        ("report --ext a/b", "'a/b' for --ext: expected an extension"),
        ("errors --limit 0", "'0' for --limit: expected"),
        (
            "errors --format csv",
            "'csv' for --format: expected table or json",
        ),
        (
            "status --format csv",
            "'csv' for --format: expected table or json",
        ),
        ("purge --before soon", "'soon' for --before: expected a day"),
        ("completions tcsh", "'tcsh' for SHELL: expected bash"),
        (
            "status --log-format xml",
            "'xml' for --log-format: expected text or json",
        ),
        (
            "status --color red",
            "'red' for --color: expected auto, always or never",
        ),
    ];
    for (line, words) in cases {
        let message = env.run(line).refused(2);
        assert!(message.starts_with("invalid value '"), "{line}: {message}");
        assert!(message.contains(words), "{line}: {message}");
    }
    assert!(!env.db().exists(), "refused before anything is done");
}

#[test]
fn bad_values_in_the_environment_and_the_file_name_their_origin() {
    let env = sized();
    let mut command = env.command(["scan", "tree"]);
    command.env("DUPESCAN_THREADS", "none");
    let message = env.finish(command).refused(2);
    let expected = "invalid value 'none' for environment variable DUPESCAN_THREADS: expected a \
                    whole number from 1 to 256";
    assert_eq!(message, expected);
    let mut command = env.command(["scan", "tree"]);
    command.env("DUPESCAN_WORKERS", "2");
    let message = env.finish(command).refused(2);
    assert!(
        message.starts_with("unknown environment variable 'DUPESCAN_WORKERS': expected DUPESCAN_"),
        "{message}"
    );
    let file = "home/config/dupescan/config.toml";
    for (text, words) in [
        ("threads = 0\n", "'0' for key threads in"),
        ("worker = 3\n", "unknown key 'worker' in"),
        ("hash = \n", "not valid TOML: line 1"),
        ("[scan]\n", "unknown key 'scan' in"),
    ] {
        env.file(file, text);
        let message = env.run("scan tree").refused(2);
        assert!(
            message.contains(words) && message.contains(file),
            "{message}"
        );
    }
    env.remove(file);
    let message = env.run("scan tree --config data/missing.toml").refused(2);
    assert!(
        message.contains("data/missing.toml") && message.contains("--config"),
        "{message}"
    );
}

#[test]
fn a_log_file_that_cannot_be_written_is_refused() {
    let env = sized();
    let message = env
        .run("scan tree --log-file nowhere/at/all.log")
        .refused(2);
    assert!(message.contains("nowhere/at/all.log"), "{message}");
}
